//! Tools that tests need, installed when missing and allowed.
//!
//! Programs come from Debian's packages, only as root and only where `apt-get` is. Python packages go into an
//! environment of our own below the target directory. Go modules are the go tool's business. A tool that can't be had
//! is a [`Missing`] that says what to install: the test that needs it is skipped with that text.
//!
//! Only packages without services are installed (`mariadb-server-core`, not `mariadb-server`): nothing starts that was
//! not asked for.

use crate::processes::{Failure, Workspace, capture, output_of, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// An installation may have to fetch a few hundred megabytes.
const INSTALL_LIMIT: Duration = Duration::from_secs(900);

/// A tool that is not there and could not be installed: a report for a person.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) String);

impl From<Missing> for Failure {
    fn from(missing: Missing) -> Self {
        Self::new(missing.0)
    }
}

/// A program of the machine and the Debian package that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tool {
    Sysbench,
    MariadbClient,
    MariadbDump,
    MariadbServer,
    MariadbInstall,
    Python,
    /// A library, not a program.
    Galera,
    Ip,
    Valgrind,
}

impl Tool {
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::MariadbClient => "mariadb",
            Self::MariadbDump => "mariadb-dump",
            Self::MariadbServer => "mariadbd",
            Self::MariadbInstall => "mariadb-install-db",
            Self::Python => "python3",
            Self::Galera => "libgalera_smm.so",
            Self::Ip => "ip",
            Self::Valgrind => "valgrind",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::MariadbClient => "mariadb-client-core",
            Self::MariadbDump => "mariadb-client",
            Self::MariadbServer | Self::MariadbInstall => "mariadb-server-core",
            Self::Python => "python3",
            Self::Galera => "galera-4",
            Self::Ip => "iproute2",
            Self::Valgrind => "valgrind",
        }
    }

    /// Where it is, after it was installed if it had to be.
    pub(crate) fn ensure(self) -> Result<PathBuf, Missing> {
        if let Some(path) = find(self.program()) {
            return Ok(path);
        }
        install_package(self.package())?;
        find(self.program()).ok_or_else(|| {
            Missing(format!("package {} is installed, but there is no {}", self.package(), self.program()))
        })
    }
}

/// A program in PATH, or where Debian keeps servers.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/go/bin", "/usr/lib/galera"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

fn install_package(package: &str) -> Result<(), Missing> {
    let is_root =
        capture(Command::new("id").arg("-u"), Duration::from_secs(10)).is_ok_and(|id| id.trim() == "0");
    let Some(apt) = find("apt-get") else {
        return Err(Missing(format!("install what Debian calls {package}")));
    };
    if !is_root {
        return Err(Missing(format!("install it: sudo apt-get install {package}")));
    }
    println!("installing {package}");
    let command = |words: &[&str]| {
        let mut command = Command::new(&apt);
        command.env("DEBIAN_FRONTEND", "noninteractive").args(words);
        command
    };
    let words = ["install", "--yes", "--no-install-recommends", package];
    if matches!(output_of(&mut command(&words), INSTALL_LIMIT), Ok((status, _)) if status.success()) {
        return Ok(());
    }
    // The lists of a fresh machine may be old or missing.
    let updated = capture(&mut command(&["update"]), INSTALL_LIMIT);
    let installed = updated.and_then(|_| capture(&mut command(&words), INSTALL_LIMIT));
    installed.map(|_| ()).map_err(|failure| Missing(format!("apt-get install {package} failed: {failure}")))
}

/// Python with the packages that `requirements` names, in an environment of this name below the target directory; gives
/// its interpreter.
pub(crate) fn python(workspace: &Workspace, name: &str, requirements: &Path) -> Result<PathBuf, Missing> {
    let missing =
        |failure: Failure| Missing(format!("Python packages of {}: {failure}", requirements.display()));
    let wanted =
        fs::read_to_string(requirements).map_err(|error| missing(Failure::new(error.to_string())))?;
    let environment = workspace.target.join(name);
    let interpreter = environment.join("bin/python3");
    let stamp = environment.join("requirements-installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && interpreter.is_file() {
        return Ok(interpreter);
    }
    let python = Tool::Python.ensure()?;
    let create = || {
        let mut create = Command::new(&python);
        create.args(["-m", "venv", "--clear"]).arg(&environment);
        capture(&mut create, INSTALL_LIMIT)
    };
    if create().is_err() {
        // Debian keeps the module that makes environments in a package of its own.
        install_package("python3-venv")?;
        create().map_err(missing)?;
    }
    println!("installing the Python packages of {}", requirements.display());
    let mut install = Command::new(&interpreter);
    install
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(requirements);
    capture(&mut install, INSTALL_LIMIT).map_err(missing)?;
    fs::write(&stamp, wanted).map_err(|error| missing(Failure::new(error.to_string())))?;
    Ok(interpreter)
}

/// The go tool, held to what go.mod names.
pub(crate) fn go() -> Result<Command, Missing> {
    let Some(go) = find("go") else {
        return Err(Missing("install Go: https://go.dev/dl or `apt-get install golang-go`".to_owned()));
    };
    let mut command = Command::new(go);
    // An older toolchain must not fetch a newer one: it would say so instead.
    command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly");
    Ok(command)
}

/// Builds the Go program in a folder; gives the path of the binary.
pub(crate) fn go_program(workspace: &Workspace, folder: &Path) -> Result<PathBuf, Missing> {
    let binary = workspace.target.join("xtask-go-client");
    let mut build = go()?;
    build.current_dir(folder).arg("build").arg("-o").arg(&binary).arg(".");
    run(&mut build, INSTALL_LIMIT)
        .map_err(|failure| Missing(format!("the Go client can't be built: {failure}")))?;
    Ok(binary)
}

/// A Java program of one file, with the libraries that the pom.xml beside it names.
pub(crate) fn java_program(workspace: &Workspace, file: &Path) -> Result<Command, Missing> {
    let wanted = |program, package| {
        find(program).ok_or_else(|| Missing(format!("install {program}: what Debian calls {package}")))
    };
    let java = wanted("java", "default-jdk-headless")?;
    let maven = wanted("mvn", "maven")?;
    let libraries = workspace.target.join("xtask-java");
    let mut copy = Command::new(maven);
    copy.args(["--quiet", "--batch-mode", "--file"]).arg(file.with_file_name("pom.xml"));
    copy.arg("org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies");
    copy.arg(format!("-DoutputDirectory={}", libraries.display()));
    capture(&mut copy, INSTALL_LIMIT).map_err(|failure| Missing(format!("libraries for Java: {failure}")))?;
    let mut program = Command::new(java);
    program.arg("-cp").arg(libraries.join("*")).arg(file);
    Ok(program)
}
