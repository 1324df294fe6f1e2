//! `cargo xtask suites`: the test suites of other projects, against a fresh `latsdb dev`.
//!
//! A [`Suite`] is data: where its package comes from, what it needs around it, how it is started, and how its output is
//! read. The package registries have the tests, in the version that is pinned here or in the files beside the list;
//! this repository has none. Failures are compared with `tests/suites/NAME.txt`: one line a failing test, its name and
//! the reason, one of [`REASONS`]. The list is exact: a failure that it does not name fails the command. So does a
//! named test that does not run, or that passes, unless its reason is chance.
//!
//! Beside them stand checks of our own with what other programs send: [`CHECKS`].
//!
//! **Deliberately not here**: run as a step of `cargo xtask test`. A suite can need a network, and fails when its
//! registry does not answer.

mod outcomes;

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Shape, sql};
use crate::processes::{Failure, Profile, Workspace, capture, output_of};
use crate::suite;
use crate::tools::{self, Missing};
use outcomes::{Outcomes, of_go_test, of_pytest, of_unittest};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A whole suite on a busy machine: Django's takes eight minutes there.
const SUITE_LIMIT: Duration = Duration::from_secs(1_800);

/// Fetching and unpacking a package.
const FETCH_LIMIT: Duration = Duration::from_secs(300);

/// Features that LatsDB does not have, or has otherwise on purpose: the only reasons for a line of a list.
const REASONS: &[&str] = &[
    "procedures",
    "LOAD DATA",
    "isolation levels",
    "spatial types",
    "JSON",
    "foreign keys",
    "named time zones",
    "CHAR USING utf16",
    "storage engines",
    // UPDATE looks at unique keys when all its rows are changed: docs/operating/differences.md.
    "unique keys behind UPDATE",
    // The suite wants it of its own driver, whatever the server.
    "another driver",
    "a language's own order",
    // MySQL ends the transaction that closes the circle.
    outcomes::BY_CHANCE,
];

/// Someone else's tests.
struct Suite {
    name: &'static str,
    what: &'static str,
    source: Source,
    /// The tables that it finds in the cluster.
    setup: &'static str,
    /// Files that it reads, by their path in its folder. `{port}` stands for the MySQL port of the first node, here and
    /// below.
    files: &'static [(&'static str, &'static str)],
    environment: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
    outcomes: fn(&str) -> Outcomes,
}

/// Where a suite comes from, which is also what runs it.
enum Source {
    /// `go test` of a package that the go.mod in this folder of the repository requires.
    Go { folder: &'static str },
    /// Python's interpreter in the unpacked source distribution, with the packages of
    /// `tests/suites/NAME-requirements.txt`.
    Python { distribution: &'static str, folder: &'static str },
}

const SUITES: &[Suite] = &[
    Suite {
        name: "go-sql-driver",
        what: "go-sql-driver/mysql, in the version of tests/clients/go",
        source: Source::Go { folder: "tests/clients/go" },
        // Root needs no password on the node's own socket, and one test wants it to be refused there.
        setup: "CREATE DATABASE gotest; CREATE USER gotest IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO gotest",
        files: &[],
        environment: &[
            ("MYSQL_TEST_USER", "gotest"),
            ("MYSQL_TEST_PASS", "secret"),
            ("MYSQL_TEST_PROT", "tcp"),
            ("MYSQL_TEST_ADDR", "127.0.0.1:{port}"),
            ("MYSQL_TEST_DBNAME", "gotest"),
        ],
        // The omitted test dials an address of the internet.
        arguments: &[
            "-v",
            "-count=1",
            "-timeout=120s",
            "-skip=^TestConnectorReturnsTimeout$",
            "github.com/go-sql-driver/mysql",
        ],
        outcomes: of_go_test,
    },
    Suite {
        name: "pymysql",
        what: "PyMySQL 0.10.1, the last release that packs its tests",
        source: Source::Python { distribution: "PyMySQL==0.10.1", folder: "PyMySQL-0.10.1" },
        setup: "CREATE DATABASE test1; CREATE DATABASE test2",
        files: &[(
            "pymysql/tests/databases.json",
            r#"[{"host": "127.0.0.1", "port": {port}, "user": "root", "passwd": "", "db": "test1",
                 "use_unicode": true, "local_infile": true},
                {"host": "127.0.0.1", "port": {port}, "user": "root", "passwd": "", "db": "test2"}]"#,
        )],
        environment: &[],
        arguments: &["-m", "pytest", "-q", "-rA", "--tb=short", "pymysql/tests"],
        outcomes: of_pytest,
    },
    Suite {
        name: "sqlalchemy",
        what: "the dialect suite of SQLAlchemy 2.0.36, without foreign keys",
        source: Source::Python { distribution: "sqlalchemy==2.0.36", folder: "sqlalchemy-2.0.36" },
        setup: "CREATE DATABASE test; CREATE DATABASE test_schema",
        files: &[("latsdb_plugin.py", include_str!("../../tests/suites/sqlalchemy_plugin.py"))],
        environment: &[],
        arguments: &[
            "-m",
            "pytest",
            "-q",
            "-rA",
            "--tb=line",
            "-p",
            "latsdb_plugin",
            "-p",
            "no:cacheprovider",
            "--maxfail=100000",
            "--dburi=mysql+pymysql://root@127.0.0.1:{port}/test?charset=utf8mb4",
            "test/dialect/test_suite.py",
        ],
        outcomes: of_pytest,
    },
    Suite {
        name: "django",
        what: "Django 5.1's own tests of the admin, models, queries and migrations, with models without foreign keys enforced",
        source: Source::Python { distribution: "Django==5.1", folder: "Django-5.1/tests" },
        setup: "",
        files: &[("latsdb_settings.py", include_str!("../../tests/suites/django_settings.py"))],
        environment: &[("PYTHONPATH", "..:.")],
        arguments: DJANGO,
        outcomes: of_unittest,
    },
];

/// The command line of Django's tests: the runner's, then the applications whose tests ask something of a database.
const DJANGO: &[&str] = &[
    "runtests.py",
    "--settings=latsdb_settings",
    "--parallel=1",
    "--noinput",
    "--verbosity=2",
    "admin_changelist",
    "admin_custom_urls",
    "admin_filters",
    "admin_inlines",
    "admin_ordering",
    "admin_utils",
    "admin_views",
    "aggregation",
    "aggregation_regress",
    "annotations",
    "auth_tests",
    "backends",
    "basic",
    "bulk_create",
    "constraints",
    "contenttypes_tests",
    "custom_columns",
    "custom_pk",
    "datetimes",
    "db_functions",
    "defer",
    "delete",
    "delete_regress",
    "distinct_on_fields",
    "expressions",
    "expressions_case",
    "expressions_window",
    "extra_regress",
    "filtered_relation",
    "fixtures",
    "force_insert_update",
    "generic_relations",
    "get_or_create",
    "indexes",
    "introspection",
    "known_related_objects",
    "lookup",
    "m2m_recursive",
    "m2m_through",
    "many_to_many",
    "many_to_one",
    "migrations",
    "model_fields",
    "model_inheritance",
    "null_queries",
    "one_to_one",
    "or_lookups",
    "ordering",
    "prefetch_related",
    "proxy_models",
    "queries",
    "raw_query",
    "reserved_names",
    "schema",
    "select_for_update",
    "select_related",
    "serializers",
    "sessions_tests",
    "timezones",
    "transactions",
    "transaction_hooks",
    "update",
    "validation",
];

type Check = fn(&Workspace, &Cluster) -> Result<(), Failure>;

/// Checks with what other programs send: name, what it is, how.
const CHECKS: &[(&str, &str, Check)] = &[
    (
        "startup",
        "what programs send when they start and make their tables: tests/clients/python/startup.sql",
        startup,
    ),
    ("metadata", "Connector/J's DatabaseMetaData: tests/clients/java/Metadata.java", metadata),
    (
        "dumps",
        "mariadb-dump from MariaDB into LatsDB and back: tests/dumps/schema.sql",
        suite::dumps::there_and_back,
    ),
];

fn startup(workspace: &Workspace, cluster: &Cluster) -> Result<(), Failure> {
    suite::client(cluster, suite::python_program(workspace, "startup.py")?)
}

fn metadata(workspace: &Workspace, cluster: &Cluster) -> Result<(), Failure> {
    let program = workspace.root.join("tests/clients/java/Metadata.java");
    suite::client(cluster, tools::java_program(workspace, &program)?)
}

/// `cargo xtask suites`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let only = arguments.values("--only")?;
    let binary: Option<PathBuf> = arguments.value("--binary")?;
    arguments.finish()?;
    let names: Vec<&str> =
        SUITES.iter().map(|suite| suite.name).chain(CHECKS.iter().map(|check| check.0)).collect();
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(Failure::new(format!("there is no suite {unknown:?}; there are {}", names.join(", "))));
    }
    let binary = match binary {
        Some(binary) => binary,
        None => workspace.build_latsdb(Profile::Simulation)?,
    };
    let mut troubles = String::new();
    // A busy machine must not cost a node: the suites are about statements.
    // Some tests send packets of 64 MiB, more than clients have in a small cluster.
    let settings = &["HeartbeatIntervalDbDb=500", "ClientMemory=256M"];
    let shape = Shape { settings, memory: Some("1G"), ..Shape::default() };
    for suite in SUITES.iter().filter(|suite| is_wanted(suite.name)) {
        println!("\n=== {}: {}", suite.name, suite.what);
        let cluster = Cluster::start(workspace, &binary, &format!("suite-{}", suite.name), &shape)?;
        for trouble in suite.run(workspace, &cluster)? {
            // Writing into a String can't fail.
            let _ = write!(troubles, "\n{}: {trouble}", suite.name);
        }
        cluster.verify()?;
        cluster.stop()?;
    }
    for (name, what, check) in CHECKS.iter().filter(|check| is_wanted(check.0)) {
        println!("\n=== {name}: {what}");
        let cluster = Cluster::start(workspace, &binary, &format!("suite-{name}"), &shape)?;
        if let Err(failure) = check(workspace, &cluster) {
            let _ = write!(troubles, "\n{name}: {failure}");
        }
        cluster.verify()?;
        cluster.stop()?;
    }
    if troubles.is_empty() { Ok(()) } else { Err(Failure::new(format!("not as listed:{troubles}"))) }
}

impl Suite {
    /// Runs all of it; gives what is not as listed.
    fn run(&self, workspace: &Workspace, cluster: &Cluster) -> Result<Vec<String>, Failure> {
        let list = workspace.root.join(format!("tests/suites/{}.txt", self.name));
        let text = fs::read_to_string(&list).map_err(Failure::while_doing(list.display()))?;
        let listed = listed(&text).map_err(|error| Failure::new(format!("{}: {error}", list.display())))?;
        let mut program = self.prepare(workspace, cluster)?;
        sql(cluster.mysql_ports[0], self.setup)?;
        // How it ended says no more than what it printed: some test fails.
        let (status, output) = output_of(&mut program, SUITE_LIMIT)?;
        let log = workspace.target.join("xtask").join(format!("suite-{}.log", self.name));
        fs::write(&log, &output).map_err(Failure::while_doing(log.display()))?;
        let outcomes = (self.outcomes)(&output);
        println!(
            "{} passed, {} failed, {} skipped; its output: {}",
            outcomes.passed.len(),
            outcomes.failed.len(),
            outcomes.skipped.len(),
            log.display()
        );
        if outcomes.passed.is_empty() {
            return Err(Failure::new(format!("{}: no test passed, it ended with {status}", self.name)));
        }
        Ok(outcomes.unlike(&listed))
    }

    /// Fetches what is not there; gives the command that runs the suite.
    fn prepare(&self, workspace: &Workspace, cluster: &Cluster) -> Result<Command, Failure> {
        let filled = |text: &str| text.replace("{port}", &cluster.mysql_ports[0].to_string());
        let (mut command, folder) = match self.source {
            Source::Go { folder } => {
                let folder = workspace.root.join(folder);
                let mut download = tools::go()?;
                download.current_dir(&folder).args(["mod", "download"]);
                capture(&mut download, FETCH_LIMIT).map_err(|failure| not_fetched(self.what, &failure))?;
                let mut command = tools::go()?;
                command.arg("test");
                (command, folder)
            }
            Source::Python { distribution, folder } => {
                let requirements =
                    workspace.root.join(format!("tests/suites/{}-requirements.txt", self.name));
                let python = tools::python(workspace, &format!("xtask-{}", self.name), &requirements)?;
                let scratch = workspace.scratch(&format!("suite-{}", self.name))?;
                fetch(&python, distribution, &scratch)?;
                (Command::new(python), scratch.join(folder))
            }
        };
        for (path, text) in self.files {
            let path = folder.join(path);
            fs::write(&path, filled(text)).map_err(Failure::while_doing(path.display()))?;
        }
        command.current_dir(folder).args(self.arguments.iter().map(|word| filled(word)));
        command.envs(self.environment.iter().map(|(name, value)| (name, filled(value))));
        Ok(command)
    }
}

/// Downloads a Python source distribution and unpacks it.
fn fetch(python: &PathBuf, distribution: &str, folder: &PathBuf) -> Result<(), Missing> {
    let missing =
        |failure: Failure| Missing(one_line(&format!("{distribution} can't be fetched: {failure}")));
    let mut download = Command::new(python);
    download.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    // pip asks a source distribution for its name; the requirements have what that takes.
    download.args(["--no-build-isolation", "--no-binary=:all:", "--dest"]).arg(folder).arg(distribution);
    capture(&mut download, FETCH_LIMIT).map_err(missing)?;
    let entries = fs::read_dir(folder).map_err(Failure::while_doing(folder.display())).map_err(missing)?;
    for archive in entries.flatten() {
        let mut unpack = Command::new(python);
        unpack.args(["-m", "tarfile", "--extract"]).arg(archive.path()).arg(folder);
        capture(&mut unpack, FETCH_LIMIT).map_err(missing)?;
    }
    Ok(())
}

fn not_fetched(what: &str, failure: &Failure) -> Missing {
    Missing(one_line(&format!("{what} can't be fetched: {failure}")))
}

/// The first line of a text, and the last, which tells why.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().to_owned();
    match lines.next_back() {
        Some(last) => format!("{first}: {}", last.trim()),
        None => first,
    }
}

/// The tests that are known to fail: name and reason. Lines that begin with `# ` are comments.
fn listed(text: &str) -> Result<BTreeMap<String, &str>, String> {
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let (name, reason) = line.split_once(' ').ok_or_else(|| format!("{line:?} gives no reason"))?;
        if !REASONS.contains(&reason.trim()) {
            return Err(format!("{line:?}: the reasons are {}", REASONS.join(", ")));
        }
        if listed.insert(name.to_owned(), reason.trim()).is_some() {
            return Err(format!("{name} stands there twice"));
        }
    }
    Ok(listed)
}

#[cfg(test)]
mod tests;
