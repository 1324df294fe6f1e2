//! MariaDB Galera with three nodes on loopback, the peer that we are compared with: synchronous as we are, every node
//! takes writes.
//!
//! Redo is written at commit and synchronised each second (`innodb_flush_log_at_trx_commit=2`), as Galera's manual
//! advises for nodes that have each other. Everything else is as it is shipped, the detection of silent nodes included.
//! A node that was killed is started again as `mariadbd-safe` would: its last position is recovered from its files, and
//! it fetches what it missed from another one's cache.
//!
//! The nodes begin as copies of one data directory. Started by root, they run as `nobody`: rsync, which Galera's
//! transfers use, gives up root's rights and could not write into directories of root.

use super::dev::make_folder;
use super::target::{Node, NodeRole, Target};
use crate::connection::{Answer, Connection, Patience};
use crate::ports::free_ports;
use crate::processes::Process;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const NODES: u16 = 3;

/// Ports of one node: MySQL, group communication, incremental and full transfers.
const PORTS_PER_NODE: u16 = 4;

const START_LIMIT: Duration = Duration::from_secs(120);

const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Where Debian has the library.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

const USER: &str = "--user=nobody";
const NEW_CLUSTER: &str = "--wsrep-new-cluster";

/// Three `mariadbd`.
pub(super) struct GaleraCluster {
    folder: PathBuf,
    first_port: u16,
    /// Options of the provider, beside addresses: `evs.suspect_timeout=PT1S`, for instance.
    options: String,
    processes: Vec<Option<Process>>,
    nodes: Vec<Node>,
    addresses: Vec<SocketAddr>,
}

impl GaleraCluster {
    /// Starts it in a folder that is made anew, on free ports.
    pub(super) fn start(folder: &Path, options: &str) -> Result<Self, String> {
        make_folder(folder)?;
        let first_port = free_ports(NODES * PORTS_PER_NODE)?;
        let mut cluster = Self {
            folder: folder.to_path_buf(),
            first_port,
            options: options.to_owned(),
            processes: (0..NODES).map(|_| None).collect(),
            nodes: Vec::new(),
            addresses: Vec::new(),
        };
        for node in 0..usize::from(NODES) {
            let address = Some(node);
            cluster.nodes.push(Node {
                name: format!("node {}", node + 1),
                role: NodeRole::Data,
                address,
                group: 0,
            });
            cluster.addresses.push(SocketAddr::from((Ipv4Addr::LOCALHOST, cluster.port(node, 0))));
        }
        cluster.create_data()?;
        for node in 0..usize::from(NODES) {
            cluster.start_node(node, if node == 0 { &[NEW_CLUSTER] } else { &[] })?;
            cluster.wait_until_synced(node)?;
        }
        Ok(cluster)
    }

    fn port(&self, node: usize, which: u16) -> u16 {
        self.first_port + u16::try_from(node).unwrap_or_default() * PORTS_PER_NODE + which
    }

    fn data(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node{}", node + 1))
    }

    /// The data directories: a cluster of one node is made, ended in order, and copied.
    fn create_data(&mut self) -> Result<(), String> {
        let mut command = Command::new("mariadb-install-db");
        command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        command.arg(USER).arg(format!("--datadir={}", self.data(0).display()));
        succeed(&mut command)?;
        self.start_node(0, &[NEW_CLUSTER])?;
        self.wait_until_synced(0)?;
        if let Some(process) = self.processes[0].take()
            && !process.stop(STOP_LIMIT)
        {
            return Err("the first Galera node did not end in order".to_owned());
        }
        // Its own: the last view, and the cache of writes.
        for own in ["gvwstate.dat", "galera.cache"] {
            // Not all of them are there after an orderly end.
            let _ = std::fs::remove_file(self.data(0).join(own));
        }
        (1..usize::from(NODES))
            .try_for_each(|node| succeed(Command::new("cp").arg("-a").arg(self.data(0)).arg(self.data(node))))
    }

    fn command(&self, node: usize) -> Command {
        let members: Vec<String> =
            (0..usize::from(NODES)).map(|node| format!("127.0.0.1:{}", self.port(node, 1))).collect();
        let mut command = Command::new("mariadbd");
        command.args(["--no-defaults", USER, "--bind-address=127.0.0.1"]);
        command.args(["--character-set-server=utf8mb4", "--max-connections=1200", "--skip-name-resolve"]);
        command.args(["--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=2"]);
        command.args(["--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON"]);
        command.args(["--wsrep-cluster-name=failover", "--wsrep-sst-method=rsync", "--socket=mariadb.sock"]);
        command.args(["--pid-file=mariadb.pid", "--wsrep-node-address=127.0.0.1"]);
        command.arg(format!("--datadir={}", self.data(node).display()));
        command.arg(format!("--port={}", self.port(node, 0)));
        command.arg(format!("--wsrep-provider={PROVIDER}"));
        command.arg(format!("--wsrep-node-name={}", self.nodes[node].name.replace(' ', "")));
        command.arg(format!("--wsrep-cluster-address=gcomm://{}", members.join(",")));
        command.arg(format!("--wsrep-sst-receive-address=127.0.0.1:{}", self.port(node, 3)));
        let (group, transfer) = (self.port(node, 1), self.port(node, 2));
        command.arg(format!(
            "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group};ist.recv_addr=127.0.0.1:{transfer};{}",
            self.options
        ));
        command
    }

    fn start_node(&mut self, node: usize, more: &[&str]) -> Result<(), String> {
        let log = self.folder.join(format!("node{}.log", node + 1));
        self.processes[node] = Some(Process::start(self.command(node).args(more), &log)?);
        Ok(())
    }

    /// A node's own state: `Synced` and the size of its cluster.
    fn state(&self, node: usize) -> Result<(String, String), String> {
        let second = Duration::from_secs(1);
        let patience = Patience { connect: second, statement: second };
        let mut connection =
            Connection::open(self.addresses[node], patience).map_err(|trouble| trouble.to_string())?;
        let mut status = |name: &str| match connection.run(&format!("SHOW STATUS LIKE '{name}'")) {
            Ok(Answer::Rows(rows)) => {
                Ok(rows.first().and_then(|row| row.get(1).cloned().flatten()).unwrap_or_default())
            }
            Ok(Answer::Done(_)) => Err("no rows".to_owned()),
            Err(trouble) => Err(trouble.to_string()),
        };
        Ok((status("wsrep_local_state_comment")?, status("wsrep_cluster_size")?))
    }

    fn wait_until_synced(&mut self, node: usize) -> Result<(), String> {
        let end = Instant::now() + START_LIMIT;
        loop {
            if matches!(self.state(node), Ok((state, _)) if state == "Synced") {
                return Ok(());
            }
            let Some(process) = &mut self.processes[node] else { return Err("not started".to_owned()) };
            if process.status().is_some() || Instant::now() >= end {
                return Err(process.failure(&format!("Galera node {} does not join", node + 1)));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The last position in a node's files, as `mariadbd-safe` finds it.
    fn recovered_position(&self, node: usize) -> Result<String, String> {
        const MARK: &str = "WSREP: Recovered position:";
        let mut command = self.command(node);
        let output = command.arg("--wsrep-recover").output().map_err(|error| format!("mariadbd: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let position = text.lines().find_map(|line| line.split_once(MARK)).map(|(_, rest)| rest.trim());
        position.map(str::to_owned).ok_or_else(|| format!("no position can be recovered:\n{text}"))
    }
}

/// Runs a program to its end.
fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Target for GaleraCluster {
    fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn pid(&mut self, node: usize) -> Option<u32> {
        let process = self.processes[node].as_mut()?;
        process.status().is_none().then(|| process.id())
    }

    fn log(&self, _node: usize) -> Option<PathBuf> {
        None
    }

    fn is_by_hand(&self) -> bool {
        true
    }

    fn restart(&mut self, _node: Option<usize>) -> Result<String, String> {
        Err("planned restarts of Galera are not tried here".to_owned())
    }

    fn revive(&mut self, node: usize) -> Result<(), String> {
        if self.pid(node).is_some() {
            return Ok(());
        }
        self.processes[node] = None;
        let position = self.recovered_position(node)?;
        self.start_node(node, &[&format!("--wsrep-start-position={position}")])
    }

    fn in_sync(&mut self) -> Result<(), String> {
        for node in 0..usize::from(NODES) {
            let (state, size) = self.state(node)?;
            if state != "Synced" || size != NODES.to_string() {
                return Err(format!("node {} is {state} in a cluster of {size}", node + 1));
            }
        }
        Ok(())
    }

    /// There is no such thing; the loads compare what they read at each node with their logs.
    fn check(&mut self) -> Result<String, String> {
        Ok("replicas were compared through the logs of the clients only".to_owned())
    }

    fn set_cut(&mut self, _one: usize, _other: usize, _is_cut: bool) -> Result<(), String> {
        Err("nodes of Galera can't be cut from each other here".to_owned())
    }

    fn stop(mut self: Box<Self>) -> Result<(), String> {
        for process in self.processes.iter_mut().filter_map(Option::take) {
            process.stop(STOP_LIMIT);
        }
        Ok(())
    }
}
