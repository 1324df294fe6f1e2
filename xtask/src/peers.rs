//! The servers that LatsDB is compared with: MariaDB as a private process, and the floor.

use crate::processes::{Failure, Server, Workspace, capture, free_ports, run};
use crate::tools::Tool;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

/// A cold start of MariaDB makes its log files.
const START_LIMIT: Duration = Duration::from_secs(120);

/// A server on loopback that speaks MySQL.
pub(crate) struct Peer {
    pub(crate) server: Server,
    pub(crate) port: u16,
}

/// When MariaDB syncs its redo log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedoSync {
    /// At each commit.
    Commit,
    /// Each second, as a replicated in-memory database would be fairly compared with.
    Second,
}

/// MariaDB without a replica. Its data directory is below the target directory and is made anew.
pub(crate) fn mariadb(
    workspace: &Workspace,
    name: &str,
    buffer_pool: &str,
    sync: RedoSync,
) -> Result<Peer, Failure> {
    let install = Tool::MariadbInstall.ensure()?;
    let directory = workspace.scratch(&format!("{name}-mariadb"))?;
    let data = format!("--datadir={}", directory.join("data").display());
    let mut create = Command::new(install);
    create.args([
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--user=root",
    ]);
    create.arg(&data);
    capture(&mut create, Duration::from_secs(300))?;
    mariadb_again(workspace, name, buffer_pool, sync)
}

/// MariaDB on the data directory of an earlier one of this name.
pub(crate) fn mariadb_again(
    workspace: &Workspace,
    name: &str,
    buffer_pool: &str,
    sync: RedoSync,
) -> Result<Peer, Failure> {
    let directory = workspace.target.join("xtask").join(format!("{name}-mariadb"));
    let data = format!("--datadir={}", directory.join("data").display());
    let port = free_ports(1)?;
    let mut start = Command::new(Tool::MariadbServer.ensure()?);
    start.args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1"]);
    start.arg(match sync {
        RedoSync::Commit => "--innodb-flush-log-at-trx-commit=1",
        RedoSync::Second => "--innodb-flush-log-at-trx-commit=2",
    });
    start.args(["--character-set-server=utf8mb4", "--max-connections=1200", "--max-allowed-packet=64M"]);
    start.arg(format!("--innodb-buffer-pool-size={buffer_pool}")).arg(format!("--port={port}"));
    // Relative to the data directory: the path of a Unix socket may only be about 100 bytes long.
    start.arg("--socket=mariadb.sock").arg("--pid-file=mariadb.pid").arg(&data);
    let mut server = Server::start(&mut start, "mariadbd", &directory.join("mariadbd.log"))?;
    server.wait_until(START_LIMIT, |log| log.contains("ready for connections"))?;
    Ok(Peer { server, port })
}

/// The floor of crate `bench`, with two threads: what the kernel, the protocol and sysbench leave over on two cores.
pub(crate) fn floor(workspace: &Workspace) -> Result<Peer, Failure> {
    let mut build = workspace.cargo();
    build.args(["build", "--quiet", "--release", "--package", "bench", "--example", "floor"]);
    run(&mut build, Duration::from_secs(900))?;
    let port = free_ports(1)?;
    let mut start = Command::new(workspace.target.join("release/examples/floor"));
    start.arg(format!("127.0.0.1:{port}")).arg("2");
    let log = workspace.target.join("xtask").join("floor.log");
    let mut server = Server::start(&mut start, "floor", &log)?;
    // It prints nothing: it is ready when it accepts.
    let end = Instant::now() + START_LIMIT;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if server.has_ended() || Instant::now() > end {
            return Err(server.failure("does not listen"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(Peer { server, port })
}
