//! `cargo xtask test`: everything that is bounded, cheapest first, closed by one line that counts.
//!
//! A step passes, fails, or is skipped with a reason (only for want of a program that could not be installed). Steps go
//! on after a failure, so that one run tells all; only steps that need the binary are not tried when it can't be built.
//! Runners print what they print. Processes are started from the same build that the unit tests use (profile
//! `simulation`: optimised, with assertions), so that dependencies are built once.

mod autobench;
mod bad_directory;
mod disks;
pub(crate) mod dumps;
mod full_stop;
mod namespaces;
mod recovery;
mod rolling;
mod tpc;
mod unit;

use crate::arguments::Arguments;
use crate::cluster::{Cluster, Links, Shape, sql, test_binary};
use crate::counts;
use crate::peers::{self, RedoSync};
use crate::processes::{Failure, Profile, Server, Workspace, between, capture, output_of, run};
use crate::sysbench::{Campaign, create_database};
use crate::tidy;
use crate::tools::{self, Missing, Tool};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A client program on a busy machine.
const CLIENT_LIMIT: Duration = Duration::from_secs(300);

/// From a node's return to clients until everybody says that it is whole.
const IN_SYNC_LIMIT: Duration = Duration::from_secs(30);

/// Building and running all unit tests, from nothing.
const CARGO_LIMIT: Duration = Duration::from_secs(2_400);

/// How a step ended, if it did not fail.
enum Passed {
    Done,
    Skipped(String),
}

type Step = fn(&Workspace) -> Result<Passed, Failure>;

/// In the order of running: name, what it shows, how. Those from `build` on need the binary.
const STEPS: &[(&str, &str, Step)] = &[
    ("format", "cargo fmt --check", format),
    ("clippy", "no warnings in any target", clippy),
    ("tidy", "the rules of the house", tidy_step),
    ("unit", "unit tests, transcripts and simulation seeds", unit::step),
    (
        "counts",
        "no operation costs more instructions, allocations, signals or bytes than was accepted",
        counts_step,
    ),
    ("mutants", "the simulator catches every deliberate protocol bug", mutants),
    ("build", "the binary, as the tests start it", build),
    ("first-session", "the mariadb client writes on one data node and reads on the other", first_session),
    ("dump", "mariadb-dump of a database, restored into another one", dumps::step),
    ("dev", "any free ports, a port in use, and a clean end", dev),
    ("python", "PyMySQL and SQLAlchemy Core", python),
    ("locks", "LOCK TABLES, GET_LOCK, SKIP LOCKED and KILL by two nodes, and clients that leave", locks),
    ("accounts", "passwords of every kind over every transport, and what accounts are held to", accounts),
    ("ndbinfo", "every table of ndbinfo, its numbers, and the words of ndb_mgm", ndbinfo),
    ("go", "go-sql-driver", go),
    ("sysbench", "all workloads, briefly", sysbench_short),
    (
        "differential",
        "generated statements, and statements of six accounts, have the same answers as on MariaDB",
        differential,
    ),
    ("tpch", "queries of TPC-H have MariaDB's rows, on one replica group and on two", tpc::tpch),
    ("tpcc", "the conditions of TPC-C hold after transactions, and a kill -9 of a data node", tpc::tpcc),
    (
        "autobench",
        "latsdb bench run and bench pipeline: results, complaints, and what Ctrl-C leaves",
        autobench::step,
    ),
    ("bad-input", "no input makes a node die or disturbs others", bad_input),
    (
        "kill",
        "kill -9 of a data node: the other goes on, it comes back, and no acknowledged write is missing",
        kill,
    ),
    ("hosts", "pools of SQLAlchemy and go-sql-driver that know two hosts go on when one is killed", hosts),
    ("hosts-java", "the same with the failover of Connector/J", hosts_java),
    ("pause", "SIGSTOP of nodes under checking clients: nothing is lost, stale or doubled", pause),
    ("failover", "every kind of failure once, under sysbench and checking clients", failover),
    (
        "rolling",
        "planned restarts: no statement fails, another version and configuration, what is refused",
        rolling::step,
    ),
    ("recovery", "a majority of the voters is lost with its disks: an operator goes on", recovery::step),
    (
        "full-stop",
        "a cluster with rows on disk stops as a whole, and has all rows afterwards",
        full_stop::step,
    ),
    (
        "bad-directory",
        "data directories of others, newer, read-only, in use, half deleted: one line says so, or rows come back",
        bad_directory::step,
    ),
    ("disks", "a full disk, under load and at the start; files of checkpoints that are gone", disks::step),
    (
        "powerloss",
        "all processes are killed under load, twice: what was promised is there, and no more is lost than was shown",
        powerloss,
    ),
    ("limits", "full memory, too many connections, a transaction of a million rows", limits),
    ("crowd", "a thousand unfinished packets, thousands of strangers, a row of 64 MiB", crowd),
    (
        "namespaces",
        "eight nodes with network namespaces of their own: TLS on all links, impostors, another authority, restarts, a stranger",
        namespaces::step,
    ),
    (
        "full",
        "full memory, kill, rejoin for many shapes of tables; memory that is free goes back to the system",
        full_memory,
    ),
    ("groups", "four data nodes in two replica groups, and a separate SQL node", groups),
    ("layouts", "modules on threads in the Receive and the LDM setup", layouts),
];

/// `cargo xtask test`.
pub(crate) fn command(mut workspace: Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    if arguments.flag("--list") {
        arguments.finish()?;
        for (name, what, _) in STEPS {
            println!("{name:<14} {what}");
        }
        return Ok(());
    }
    let only = arguments.values("--only")?;
    workspace.binary = arguments.value("--binary")?;
    arguments.finish()?;
    if let Some(unknown) = only.iter().find(|name| STEPS.iter().all(|(known, _, _)| known != name)) {
        return Err(Failure::new(format!(
            "there is no step {unknown:?}; `cargo xtask test --list` lists them"
        )));
    }
    let begun = Instant::now();
    let mut tally = Tally::default();
    let mut has_binary = true;
    for (name, what, step) in STEPS {
        let is_wanted = only.is_empty() || only.iter().any(|wanted| wanted == name);
        if !is_wanted && !needs_build(name, &only) {
            continue;
        }
        if !has_binary {
            tally.fail(name, "there is no binary");
            continue;
        }
        println!("\n=== {name}: {what}");
        let started = Instant::now();
        let result = step(&workspace);
        let seconds = started.elapsed().as_secs();
        match result {
            Ok(Passed::Done) => tally.pass(name, seconds),
            Ok(Passed::Skipped(reason)) => tally.skip(name, &reason),
            Err(failure) => {
                has_binary = *name != "build";
                tally.fail(name, &failure.to_string());
            }
        }
    }
    tally.close(begun.elapsed().as_secs())
}

/// A step that starts the binary builds it, even when it was asked for alone.
fn needs_build(name: &str, only: &[String]) -> bool {
    let place = |wanted: &str| STEPS.iter().position(|(known, _, _)| *known == wanted);
    name == "build" && only.iter().any(|wanted| place(wanted) > place("build"))
}

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: Vec<String>,
    skipped: u32,
}

impl Tally {
    fn pass(&mut self, name: &str, seconds: u64) {
        println!("--- {name}: passed in {seconds} s");
        self.passed += 1;
    }

    fn skip(&mut self, name: &str, reason: &str) {
        println!("--- {name}: skipped: {reason}");
        self.skipped += 1;
    }

    fn fail(&mut self, name: &str, reason: &str) {
        println!("--- {name}: FAILED: {reason}");
        self.failed.push(name.to_owned());
    }

    fn close(self, seconds: u64) -> Result<(), Failure> {
        println!("\n{} s in all", seconds);
        let skipped = if self.skipped > 0 { format!(", {} skipped", self.skipped) } else { String::new() };
        println!("{} passed, {} failed{skipped}", self.passed, self.failed.len());
        if self.failed.is_empty() {
            Ok(())
        } else {
            Err(Failure::new(format!("failed: {}", self.failed.join(", "))))
        }
    }
}

fn format(workspace: &Workspace) -> Result<Passed, Failure> {
    run(workspace.cargo().args(["fmt", "--all", "--check"]), Duration::from_secs(120))?;
    Ok(Passed::Done)
}

/// In the profile of the tests, so that build scripts and macros are built once.
fn clippy(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut clippy = workspace.cargo();
    clippy.args([
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--profile",
        Profile::Simulation.name(),
    ]);
    run(clippy.args(["--", "-D", "warnings"]), CARGO_LIMIT)?;
    Ok(Passed::Done)
}

fn tidy_step(workspace: &Workspace) -> Result<Passed, Failure> {
    tidy::check(workspace)?;
    Ok(Passed::Done)
}

fn counts_step(workspace: &Workspace) -> Result<Passed, Failure> {
    Ok(counts::step(workspace)?.map_or(Passed::Done, Passed::Skipped))
}

/// The feature changes `transaction`, `membership` and what is above them: that much is built a second time.
fn mutants(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut test = workspace.cargo();
    test.args(["test", "--quiet", "--package", "simulator", "--features", "mutants", "--test", "mutants"]);
    // Its runs panic by design, and only their number counts.
    test.args(["--profile", Profile::Simulation.name()]).env("RUST_BACKTRACE", "0");
    run(&mut test, CARGO_LIMIT)?;
    // Directed schedules for bugs that seeds do not meet soon, in the crates that have the bugs.
    // `transaction` has three such tests: of its protocol, of the order in its log, and of a full log.
    let packages = ["transaction", "membership", "node", "executor", "query", "durability", "runtime"];
    let tests = packages.len() + 2;
    let mut directed = workspace.cargo();
    directed.args(["test", "--quiet"]);
    for package in packages {
        directed.args(["--package", package, "--features", &format!("{package}/mutants")]);
    }
    directed.args(["--profile", Profile::Simulation.name()]).env("RUST_BACKTRACE", "0");
    directed.arg("every_listed_bug_fails_its_test");
    let output = capture(&mut directed, CARGO_LIMIT)?;
    print!("{output}");
    // The test is found by its name: cargo is content with a package that has none.
    match output.matches("ok. 1 passed").count() {
        ran if ran == tests => Ok(Passed::Done),
        ran => {
            Err(Failure::new(format!("bugs with directed schedules: {ran} of {tests} tests of {packages:?}")))
        }
    }
}

fn build(workspace: &Workspace) -> Result<Passed, Failure> {
    if let Some(binary) = &workspace.binary {
        return Ok(Passed::Skipped(format!("{} is tried", binary.display())));
    }
    workspace.build_latsdb(Profile::Simulation)?;
    Ok(Passed::Done)
}

/// For steps that need a program: without it they are skipped.
macro_rules! or_skip {
    ($tool:expr) => {
        match $tool {
            Ok(found) => found,
            Err(Missing(reason)) => return Ok(Passed::Skipped(reason)),
        }
    };
}
use or_skip;

/// Ends a test of a cluster: replicas and indexes agree, and it stops when asked.
fn close(cluster: Cluster) -> Result<Passed, Failure> {
    cluster.verify()?;
    cluster.stop()?;
    Ok(Passed::Done)
}

fn first_session(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::MariadbClient.ensure());
    let cluster = Cluster::for_test(workspace, "first-session")?;
    let (first, second) = (cluster.mysql_ports[0], cluster.mysql_ports[1]);
    sql(
        first,
        "CREATE DATABASE shop; USE shop;
         CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, price DECIMAL(8,2), KEY (name));
         INSERT INTO item VALUES (1, 'lamp', 29.90), (2, 'chair', 120.00), (3, 'käse 🧀', NULL)",
    )?;
    let rows = sql(second, "SELECT id, name, price FROM shop.item ORDER BY id")?;
    let expected = "1\tlamp\t29.90\n2\tchair\t120.00\n3\tkäse 🧀\tNULL\n";
    if rows != expected {
        return Err(Failure::new(format!("expected {expected:?} on the other node, got {rows:?}")));
    }
    let absent = sql(second, "SELECT * FROM shop.nothing");
    match absent {
        Err(failure) if failure.to_string().contains("1146") => {
            println!("write here, read there: as it should be")
        }
        other => return Err(Failure::new(format!("expected error 1146, got {other:?}"))),
    }
    verified_tls(&cluster)?;
    close(cluster)
}

/// A client that trusts the node's certificate only.
fn verified_tls(cluster: &Cluster) -> Result<(), Failure> {
    let mut client = Command::new(Tool::MariadbClient.ensure()?);
    client.args(["--no-defaults", "--host=127.0.0.1", "--user=root", "--ssl-verify-server-cert"]);
    client.arg(format!("--ssl-ca={}", cluster.certificate(2).display()));
    client.arg(format!("--port={}", cluster.mysql_ports[0])).arg("--execute=SELECT 'verified'");
    let answer = capture(&mut client, Duration::from_secs(20))?;
    if answer.contains("verified") { Ok(()) } else { Err(Failure::new(answer)) }
}

/// Ports, errors and the end of `latsdb dev` itself.
fn dev(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::MariadbClient.ensure());
    let binary = test_binary(workspace);
    let directory = workspace.scratch("dev")?;
    let mut command = Command::new(&binary);
    command.arg("dev").arg("--dir").arg(directory.join("free"));
    command.args(["--mysql-port=0", "--management-port=0", "--data-port=0"]);
    let mut free = Server::start(&mut command, "latsdb dev", &directory.join("free.log"))?;
    free.wait_until(Duration::from_secs(60), crate::cluster::is_ready)?;
    let log = free.log();
    let ready = log.lines().find(|line| line.starts_with("ready:")).unwrap_or_default();
    let port = between(ready, "-P ", " ").and_then(|text| text.parse::<u16>().ok());
    let port = port.ok_or_else(|| Failure::new(format!("no `-P PORT` to type in {ready:?}")))?;
    // Ready means that everything in its line can be typed now.
    let management = between(ready, "latsdb mgm -c ", " ").unwrap_or_default();
    for words in [["mgm", "--execute=show"].as_slice(), &["check"]] {
        let mut ask = Command::new(&binary);
        ask.args(words).args(["--ndb-connectstring", management]);
        let answer = capture(&mut ask, Duration::from_secs(20))?;
        if answer.contains("not connected") {
            return Err(Failure::new(format!("the cluster is ready, but not complete:\n{answer}")));
        }
    }
    sql(port, "SELECT 1")?;
    strangers(management)?;
    wrong_port(&binary, port)?;
    port_in_use(&binary, &directory, port)?;
    let status = free.stop()?;
    if !status.success() {
        return Err(free.failure(&format!("SIGTERM should end it with exit code 0, not {status}")));
    }
    println!("{ready}");
    Ok(Passed::Done)
}

/// The management port does not obey a page in a browser, or a stranger.
fn strangers(management: &str) -> Result<(), Failure> {
    let ask = |request: &str| -> std::io::Result<String> {
        let mut stream = TcpStream::connect(management)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        for line in BufReader::new(stream).lines() {
            let line = line?;
            if line == "." {
                break;
            }
            answer.push_str(&line);
        }
        Ok(answer)
    };
    let page = ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\nshutdown dev\n")
        .unwrap_or_default();
    let stranger = ask("shutdown dev\n").map_err(Failure::while_doing("the management port"))?;
    if !page.is_empty() || !stranger.starts_with("ERROR: not authorized") {
        return Err(Failure::new(format!("a page was answered {page:?}, a stranger {stranger:?}")));
    }
    Ok(())
}

/// A tool that asks a MySQL port what management nodes are asked is told so.
fn wrong_port(binary: &Path, port: u16) -> Result<(), Failure> {
    let mut ask = Command::new(binary);
    ask.args(["mgm", "--execute=show", "--ndb-connectstring"]).arg(format!("127.0.0.1:{port}"));
    let (status, text) = output_of(&mut ask, Duration::from_secs(20))?;
    if status.success() || !text.contains("speaks MySQL") {
        return Err(Failure::new(format!("a MySQL port was asked, and it is not said: {text}")));
    }
    Ok(())
}

/// A port in use is one line of error, soon.
fn port_in_use(binary: &Path, directory: &Path, port: u16) -> Result<(), Failure> {
    let mut second = Command::new(binary);
    second.arg("dev").arg("--dir").arg(directory.join("second"));
    second.arg(format!("--mysql-port={port}")).args(["--management-port=0", "--data-port=0"]);
    let (status, text) = output_of(&mut second, Duration::from_secs(30))?;
    let errors = text.lines().filter(|line| line.contains(&port.to_string())).count();
    if status.success() || errors != 1 {
        return Err(Failure::new(format!(
            "port {port} is in use: expected one line of error, got {status}:\n{text}"
        )));
    }
    Ok(())
}

/// Runs a client program of this repository against both SQL ports.
pub(crate) fn client(cluster: &Cluster, mut program: Command) -> Result<(), Failure> {
    program.args(["--write-port", &cluster.mysql_ports[0].to_string()]);
    program.args(["--read-port", &cluster.mysql_ports[1].to_string()]);
    run(&mut program, CLIENT_LIMIT)
}

/// A program of `tests/clients/python` with the interpreter that has its packages.
pub(crate) fn python_program(workspace: &Workspace, name: &str) -> Result<Command, Missing> {
    let folder = workspace.root.join("tests/clients/python");
    let mut program =
        Command::new(tools::python(workspace, "xtask-python", &folder.join("requirements.txt"))?);
    program.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1").arg(folder.join(name));
    Ok(program)
}

fn python(workspace: &Workspace) -> Result<Passed, Failure> {
    let program = or_skip!(python_program(workspace, "client.py"));
    let cluster = Cluster::for_test(workspace, "python")?;
    client(&cluster, program)?;
    close(cluster)
}

fn locks(workspace: &Workspace) -> Result<Passed, Failure> {
    let program = or_skip!(python_program(workspace, "locks.py"));
    let cluster = Cluster::for_test(workspace, "locks")?;
    client(&cluster, program)?;
    close(cluster)
}

fn powerloss(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::MariadbClient.ensure());
    or_skip!(Tool::Sysbench.ensure());
    or_skip!(python_program(workspace, "powerloss.py"));
    let campaign = crate::powerloss::Campaign { rounds: 2, groups: 1, threads: 4, is_damaging: false };
    campaign.run(workspace, &test_binary(workspace))?;
    Ok(Passed::Done)
}

fn accounts(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut program = or_skip!(python_program(workspace, "accounts.py"));
    let cluster = Cluster::for_test(workspace, "accounts")?;
    program.arg("--directory").arg(&cluster.directory);
    client(&cluster, program)?;
    close(cluster)
}

fn ndbinfo(workspace: &Workspace) -> Result<Passed, Failure> {
    let program = or_skip!(python_program(workspace, "ndbinfo.py"));
    let cluster = Cluster::for_test(workspace, "ndbinfo")?;
    client(&cluster, program)?;
    close(cluster)
}

fn go(workspace: &Workspace) -> Result<Passed, Failure> {
    let binary = or_skip!(tools::go_program(workspace, &workspace.root.join("tests/clients/go")));
    let cluster = Cluster::for_test(workspace, "go")?;
    client(&cluster, Command::new(binary))?;
    close(cluster)
}

/// Seeds of all four collations that both servers have, each twice.
fn differential(workspace: &Workspace) -> Result<Passed, Failure> {
    const STATEMENTS: u32 = 1_500;
    or_skip!(Tool::MariadbServer.ensure());
    or_skip!(Tool::MariadbInstall.ensure());
    let python = or_skip!(Tool::Python.ensure());
    let mut program = Command::new(&python);
    let peer = peers::mariadb(workspace, "differential", "128M", RedoSync::Second)?;
    let cluster = Cluster::for_test(workspace, "differential")?;
    program.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1");
    program.arg(workspace.root.join("tests/differential/differential.py"));
    program.args(["--latsdb", &format!("127.0.0.1:{}", cluster.mysql_ports[0])]);
    program.args(["--oracle", &format!("127.0.0.1:{}", peer.port)]);
    for seed in 3_000..3_008 {
        program.arg(format!("--seed={seed}"));
    }
    program.arg(format!("--count={STATEMENTS}"));
    run(&mut program, CLIENT_LIMIT)?;
    // The rights of accounts.
    let mut program = Command::new(python);
    program.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1");
    program.arg(workspace.root.join("tests/differential/privileges.py"));
    program.args(["--latsdb", &format!("127.0.0.1:{}", cluster.mysql_ports[0])]);
    program.args(["--oracle", &format!("127.0.0.1:{}", peer.port)]);
    run(&mut program, CLIENT_LIMIT)?;
    close(cluster)
}

fn sysbench_short(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::Sysbench.ensure());
    or_skip!(Tool::MariadbClient.ensure());
    let cluster = Cluster::for_test(workspace, "sysbench-short")?;
    create_database(cluster.mysql_ports[0])?;
    Campaign::short().run("127.0.0.1", cluster.mysql_ports[0], &|| cluster.verify())?;
    close(cluster)
}

fn bad_input(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut program = or_skip!(python_program(workspace, "bad_input.py"));
    let cluster = Cluster::for_test(workspace, "bad-input")?;
    program.args(["--pid", &cluster.server.pid().to_string()]);
    program.args(["--management-port", &cluster.management_port.to_string()]);
    for port in &cluster.server_ports {
        program.args(["--cluster-port", &port.to_string()]);
    }
    client(&cluster, program)?;
    close(cluster)
}

fn kill(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut program = or_skip!(python_program(workspace, "kill.py"));
    let cluster = Cluster::for_test(workspace, "kill")?;
    let [_, victim] = data_nodes(&cluster)?;
    program.args(["--victim", &victim.to_string()]);
    program.args(["--survivor-port", &cluster.mysql_ports[0].to_string()]);
    program.args(["--victim-port", &cluster.mysql_ports[1].to_string()]);
    run(&mut program, CLIENT_LIMIT)?;
    cluster.in_sync(IN_SYNC_LIMIT)?;
    close(cluster)
}

/// The processes of both data nodes.
fn data_nodes(cluster: &Cluster) -> Result<[u32; 2], Failure> {
    let pids = cluster.data_node_pids();
    pids.try_into().map_err(|pids| {
        Failure::new(format!("expected two data nodes below `dev`, found processes {pids:?}"))
    })
}

fn hosts(workspace: &Workspace) -> Result<Passed, Failure> {
    let python = or_skip!(python_program(workspace, "several_hosts.py"));
    let go = Command::new(or_skip!(tools::go_program(workspace, &workspace.root.join("tests/clients/go"))));
    on_several_hosts(workspace, "hosts", vec![python, go])
}

fn hosts_java(workspace: &Workspace) -> Result<Passed, Failure> {
    let program = or_skip!(tools::java_program(
        workspace,
        &workspace.root.join("tests/clients/java/SeveralHosts.java")
    ));
    on_several_hosts(workspace, "hosts-java", vec![program])
}

/// Programs that kill the process behind their first port, one after the other, each at another node.
fn on_several_hosts(workspace: &Workspace, name: &str, programs: Vec<Command>) -> Result<Passed, Failure> {
    let cluster = Cluster::for_test(workspace, name)?;
    for (round, mut program) in programs.into_iter().enumerate() {
        let victim = round % 2;
        program.args(["--victim", &data_nodes(&cluster)?[victim].to_string()]);
        program.args(["--first-port", &cluster.mysql_ports[victim].to_string()]);
        program.args(["--second-port", &cluster.mysql_ports[1 - victim].to_string()]);
        run(&mut program, CLIENT_LIMIT)?;
        cluster.in_sync(IN_SYNC_LIMIT)?;
    }
    close(cluster)
}

/// Short enough that nobody takes a node for dead.
fn pause(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut program = Command::new(test_binary(workspace));
    program.args([
        "bench",
        "failover",
        "--rounds=2",
        "--fault=pause-data-100ms",
        "--fault=pause-management-1s",
    ]);
    program.arg("--calm=500").arg("--dir").arg(workspace.scratch("pause")?);
    run(&mut program, CLIENT_LIMIT)?;
    Ok(Passed::Done)
}

/// All that `cargo xtask failover` can do, once or twice each; there it is done for longer.
fn failover(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::Sysbench.ensure());
    or_skip!(Tool::MariadbClient.ensure());
    let faults = ["kill-data", "kill-management", "kill-both", "pause-data-1s", "pause-both-1s", "cut-1s"];
    let campaign = crate::failover::Campaign {
        rounds: 1,
        groups: 1,
        faults: faults.map(ToOwned::to_owned).to_vec(),
        threads: 2,
        words: Vec::new(),
        figures: None,
        links: Links::Near,
    };
    campaign.run(workspace, &test_binary(workspace), "failover-short")?;
    Ok(Passed::Done)
}

/// A cluster of its own for each limit.
fn limits(workspace: &Workspace) -> Result<Passed, Failure> {
    const CONNECTIONS: u32 = 8;
    let shapes = [
        ("memory", Shape { memory: Some("256M"), ..Shape::default() }),
        ("transaction", Shape { memory: Some("256M"), ..Shape::default() }),
        ("connections", Shape { max_connections: Some(CONNECTIONS), ..Shape::default() }),
        ("million", Shape::default()),
    ];
    for (what, shape) in shapes {
        let mut program = or_skip!(python_program(workspace, "limits.py"));
        program.args([what, "--max-connections", &CONNECTIONS.to_string()]);
        let cluster = Cluster::start(workspace, &test_binary(workspace), &format!("limits-{what}"), &shape)?;
        client(&cluster, program)?;
        close(cluster)?;
    }
    Ok(Passed::Done)
}

/// Clients that want too much; then a row of 64 MiB, which is also copied to a node that comes back.
fn crowd(workspace: &Workspace) -> Result<Passed, Failure> {
    let shape = Shape { memory: Some("512M"), ..Shape::default() };
    let mut program = or_skip!(python_program(workspace, "crowd.py"));
    let cluster = Cluster::start(workspace, &test_binary(workspace), "crowd", &shape)?;
    program.arg("crowd");
    for pid in cluster.data_node_pids() {
        program.args(["--pid", &pid.to_string()]);
    }
    client(&cluster, program)?;
    close(cluster)?;
    let shape = Shape { memory: Some("4G"), ..Shape::default() };
    let mut program = or_skip!(python_program(workspace, "crowd.py"));
    let cluster = Cluster::start(workspace, &test_binary(workspace), "crowd-large", &shape)?;
    program.arg("large");
    client(&cluster, program)?;
    let [_, victim] = data_nodes(&cluster)?;
    run(Command::new("kill").args(["-9", &victim.to_string()]), CLIENT_LIMIT)?;
    let end = Instant::now() + IN_SYNC_LIMIT;
    while !data_nodes(&cluster).is_ok_and(|pids| !pids.contains(&victim)) {
        if Instant::now() >= end {
            return Err(Failure::new("the data node that was killed is not started again"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    cluster.in_sync(IN_SYNC_LIMIT)?;
    cluster.verify()?;
    close(cluster)
}

fn full_memory(workspace: &Workspace) -> Result<Passed, Failure> {
    let shape = Shape { memory: Some("256M"), ..Shape::default() };
    let program = |words: &[String]| -> Result<Command, Missing> {
        let mut program = python_program(workspace, "full_memory.py")?;
        program.args(words);
        Ok(program)
    };
    let cluster = {
        or_skip!(program(&[]));
        Cluster::start(workspace, &test_binary(workspace), "full", &shape)?
    };
    let [_, victim] = data_nodes(&cluster)?;
    let words = ["fill".to_owned(), format!("--victim={victim}")];
    client(&cluster, or_skip!(program(&words)))?;
    cluster.in_sync(IN_SYNC_LIMIT)?;
    close(cluster)?;
    let cluster = Cluster::start(workspace, &test_binary(workspace), "full-free", &shape)?;
    let nodes = data_nodes(&cluster)?.into_iter().zip(2..).map(|(pid, node)| format!("--node={node}={pid}"));
    let words: Vec<String> = std::iter::once("free".to_owned()).chain(nodes).collect();
    client(&cluster, or_skip!(program(&words)))?;
    close(cluster)
}

fn groups(workspace: &Workspace) -> Result<Passed, Failure> {
    let shape = Shape { data_nodes: 4, sql_nodes: 1, ..Shape::default() };
    on_shape(workspace, "groups", &shape)
}

/// The two set-ups of the thread pipeline study, scaled to two threads.
fn layouts(workspace: &Workspace) -> Result<Passed, Failure> {
    for (name, threads) in [("receive", "recv={count=2}"), ("ldm", "ldm={count=1},recv={count=1}")] {
        let shape = Shape { thread_config: Some(threads), ..Shape::default() };
        if let Passed::Skipped(reason) = on_shape(workspace, &format!("layout-{name}"), &shape)? {
            return Ok(Passed::Skipped(reason));
        }
    }
    Ok(Passed::Done)
}

/// All of sysbench, briefly, through the last SQL port of a cluster: if it has SQL nodes, through one of these.
fn on_shape(workspace: &Workspace, name: &str, shape: &Shape) -> Result<Passed, Failure> {
    or_skip!(Tool::Sysbench.ensure());
    or_skip!(Tool::MariadbClient.ensure());
    let cluster = Cluster::start(workspace, &test_binary(workspace), name, shape)?;
    create_database(cluster.mysql_ports[0])?;
    let campaign = Campaign { threads: vec![8], ..Campaign::short() };
    let last = cluster.mysql_ports.last().copied().unwrap_or_default();
    campaign.run("127.0.0.1", last, &|| cluster.verify())?;
    close(cluster)
}
