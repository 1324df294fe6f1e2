//! The step `namespaces`: two management, four data and two SQL nodes, each with a network namespace of its own, TLS on
//! all links, and a stranger.
//!
//! ```text
//! hub        a bridge; each other namespace has an end of a veth pair in it, and the address 10.99.0.<its number>
//! 1 2        management nodes         3 4 5 6    data nodes, two replica groups         7 8    SQL nodes
//! 20         an operator's machine    21         a stranger's
//! ```
//! Before node 8 starts, impostors try to pass for it (`impostors`). Then, under sysbench at an SQL node, the authority
//! is replaced by another one, which renews all keys three times. Each node is restarted, and no statement may fail. At
//! last comes `kill -9` of a data node, after which only retryable errors may be seen. The stranger tries its worst
//! meanwhile.
//!
//! **Invariants.** Nothing is changed outside of namespaces that are made here, and they are deleted whatever happens.
//! Every wait here has a limit.

mod impostors;

use super::{Passed, python_program};
use crate::cluster::test_binary;
use crate::processes::{Failure, Server, Workspace, capture, output_of, run, signal, tree};
use crate::tools::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const MANAGEMENT: [u16; 2] = [1, 2];
const DATA: [u16; 4] = [3, 4, 5, 6];
const SQL: [u16; 2] = [7, 8];
const OPERATOR: u16 = 20;
const STRANGER: u16 = 21;
/// One command of `ip`.
const IP_LIMIT: Duration = Duration::from_secs(20);
/// Until something that was waited for is there.
const PATIENCE: Duration = Duration::from_secs(120);
/// Seconds of load under what is planned; it is ended sooner, by the end of what is planned.
const LOAD_SECONDS: u64 = 300;
/// The errors that clients may see when a node dies, by failures.md.
const RETRYABLE: &str = "--mysql-ignore-errors=1213,1205,1020,1180,1297,2013,2006";

/// The namespaces, deleted at the end.
struct Network {
    ip: PathBuf,
    prefix: String,
    made: Vec<u16>,
}

const HUB: u16 = 0;

impl Network {
    /// `None` if the machine does not permit it: why.
    fn make() -> Result<Result<Self, String>, Failure> {
        let ip = match Tool::Ip.ensure() {
            Ok(ip) => ip,
            Err(missing) => return Ok(Err(missing.0)),
        };
        let mut network = Self { ip, prefix: format!("latsdb-{}", std::process::id()), made: Vec::new() };
        if let Err(failure) = network.add(HUB) {
            return Ok(Err(format!("network namespaces are not permitted: {failure}")));
        }
        network.within(HUB, &["link", "add", "bridge", "type", "bridge"])?;
        network.within(HUB, &["link", "set", "bridge", "up"])?;
        for number in MANAGEMENT.into_iter().chain(DATA).chain(SQL).chain([OPERATOR, STRANGER]) {
            network.add(number)?;
            let (hub, own, end) = (network.name(HUB), network.name(number), format!("port{number}"));
            network.ip(&[
                "link", "add", "eth", "netns", &own, "type", "veth", "peer", "name", &end, "netns", &hub,
            ])?;
            network.within(HUB, &["link", "set", &end, "master", "bridge"])?;
            network.within(HUB, &["link", "set", &end, "up"])?;
            network.within(number, &["addr", "add", &format!("{}/24", address(number)), "dev", "eth"])?;
            network.within(number, &["link", "set", "eth", "up"])?;
            network.within(number, &["link", "set", "lo", "up"])?;
        }
        Ok(Ok(network))
    }

    fn name(&self, number: u16) -> String {
        format!("{}-{number}", self.prefix)
    }

    fn add(&mut self, number: u16) -> Result<(), Failure> {
        self.ip(&["netns", "add", &self.name(number)])?;
        self.made.push(number);
        Ok(())
    }

    fn ip(&self, words: &[&str]) -> Result<(), Failure> {
        capture(Command::new(&self.ip).args(words), IP_LIMIT).map(|_| ())
    }

    fn within(&self, number: u16, words: &[&str]) -> Result<(), Failure> {
        self.ip(&[&["-n", &self.name(number)], words].concat())
    }

    /// A program in a namespace.
    fn command(&self, number: u16, program: &Path) -> Command {
        let mut command = Command::new(&self.ip);
        command.args(["netns", "exec", &self.name(number)]).arg(program);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for number in &self.made {
            // Namespaces that are left are shown by `ip netns list`; nothing else can be done about them.
            let _ = self.ip(&["netns", "delete", &self.name(*number)]);
        }
    }
}

fn address(number: u16) -> String {
    format!("10.99.0.{number}")
}

/// The cluster; its nodes end before their namespaces do.
struct Nodes<'a> {
    network: &'a Network,
    binary: PathBuf,
    folder: PathBuf,
    keys: PathBuf,
    angels: Vec<(u16, Server)>,
}

impl Nodes<'_> {
    fn start(&mut self, node: u16) -> Result<(), Failure> {
        let server = self.start_with(node, &self.keys, &format!("node{node}.log"))?;
        self.angels.push((node, server));
        Ok(())
    }

    fn start_with(&self, node: u16, keys: &Path, log: &str) -> Result<Server, Failure> {
        let mut command = self.network.command(node, &self.binary);
        let id = node.to_string();
        let role = if MANAGEMENT.contains(&node) {
            command.arg("mgmd").arg("-f").arg(self.folder.join("config.ini"));
            "management"
        } else {
            let role = if DATA.contains(&node) { "data" } else { "sql" };
            command.arg(role).args(["--ndb-connectstring", &managers()]);
            role
        };
        command.args(["--ndb-nodeid", &id]).arg("--ndb-tls-search-path").arg(keys);
        Server::start(&mut command, &format!("{role} node {node}"), &self.folder.join(log))
    }

    fn log(&self, node: u16) -> String {
        self.angels.iter().find(|(id, _)| *id == node).map_or_else(String::new, |(_, angel)| angel.log())
    }

    /// The process of a node, below its angel.
    fn process(&self, node: u16) -> Option<u32> {
        let (_, angel) = self.angels.iter().find(|(id, _)| *id == node)?;
        tree(angel.pid()).last().copied()
    }

    fn mgm(&self, words: &str) -> Command {
        self.mgm_at(&managers(), words)
    }

    fn mgm_at(&self, places: &str, words: &str) -> Command {
        let mut command = self.network.command(OPERATOR, &self.binary);
        command.args(["mgm", "-c", places, "-e", words]);
        command.arg("--ndb-tls-search-path").arg(&self.keys);
        command
    }

    /// Waits until a command's answer is as wanted.
    fn until(&self, words: &str, what: &str, is_right: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = capture(&mut self.mgm(words), PATIENCE);
            if answer.as_ref().is_ok_and(|answer| is_right(answer)) {
                return Ok(());
            }
            if Instant::now() > end {
                let logs: Vec<String> =
                    self.angels.iter().map(|(_, angel)| angel.failure("").to_string()).collect();
                return Err(Failure::new(format!("{what}: {answer:?}\n{}", logs.join("\n"))));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn are_whole(&self, what: &str) -> Result<(), Failure> {
        self.until("show", what, |shown| {
            ["WARNING", "not connected", ", starting"].iter().all(|trouble| !shown.contains(trouble))
        })
    }

    fn sql(&self, node: u16, text: &str) -> Result<String, Failure> {
        let mut client = self.network.command(node, &Tool::MariadbClient.ensure()?);
        client.args(["--no-defaults", "--batch", "--skip-column-names", "--host=127.0.0.1", "--user=root"]);
        capture(client.arg(format!("--execute={text}")), PATIENCE)
    }

    fn sysbench(&self, node: u16, command: &str, options: &[&str]) -> Result<Command, Failure> {
        let mut program = self.network.command(node, &Tool::Sysbench.ensure()?);
        program.args(["oltp_read_write", "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-port=3306"]);
        program.args(["--mysql-user=root", "--mysql-db=sbtest", "--tables=2", "--table-size=2000"]);
        program.args(options).arg(command);
        Ok(program)
    }
}

/// The connect string.
fn managers() -> String {
    MANAGEMENT.map(address).join(",")
}

fn everybody() -> impl Iterator<Item = u16> {
    MANAGEMENT.into_iter().chain(DATA).chain(SQL)
}

fn config(folder: &Path) -> String {
    let mut text = "[system]\nName=netns\n".to_owned();
    for section in ["ndb_mgmd", "ndbd", "mysqld"] {
        // Writing into a String can't fail, here and below.
        let _ = write!(text, "\n[{section} default]\nUseShm=0\nStopOnError=0\n");
        if section == "ndbd" {
            text.push_str("NoOfReplicas=2\nTotalMemoryConfig=300M\nNumCPUs=1\nSpinMethod=NoSpinning\n");
            // Eight nodes on a machine with few CPUs are late at times.
            text.push_str("HeartbeatIntervalDbDb=500\n");
        }
    }
    for node in everybody() {
        let section = match node {
            _ if MANAGEMENT.contains(&node) => "ndb_mgmd",
            _ if DATA.contains(&node) => "ndbd",
            _ => "mysqld",
        };
        let _ = write!(text, "\n[{section}]\nNodeId={node}\nHostName={}\n", address(node));
        let _ = writeln!(text, "DataDir={}/node{node}", folder.display());
    }
    text
}

/// Makes keys, or renews them; node ids and the serial numbers of their certificates.
fn make_keys(binary: &Path, config: &Path, to: &Path) -> Result<BTreeMap<u16, String>, Failure> {
    let mut command = Command::new(binary);
    command.arg("keys").arg("-f").arg(config).arg("--to-dir").arg(to);
    let said = capture(&mut command, PATIENCE)?;
    let of_line = |line: &str| {
        let (who, rest) = line.split_once(" node ")?.1.split_once(": ")?;
        Some((who.parse().ok()?, rest.split_once(", serial ")?.1.to_owned()))
    };
    let serials: BTreeMap<u16, String> = said.lines().filter_map(of_line).collect();
    if serials.keys().copied().eq(everybody()) {
        Ok(serials)
    } else {
        Err(Failure::new(format!("not a key for each node:\n{said}")))
    }
}

/// The step.
pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut stranger = match python_program(workspace, "stranger.py") {
        Ok(program) => program,
        Err(missing) => return Ok(Passed::Skipped(missing.0)),
    };
    if let Err(missing) = Tool::Sysbench.ensure() {
        return Ok(Passed::Skipped(missing.0));
    }
    let network = match Network::make()? {
        Ok(network) => network,
        Err(reason) => return Ok(Passed::Skipped(reason)),
    };
    let folder = workspace.scratch("namespaces")?;
    let (ini, keys) = (folder.join("config.ini"), folder.join("keys"));
    fs::write(&ini, config(&folder)).map_err(Failure::while_doing(ini.display()))?;
    let binary = test_binary(workspace);
    let mut nodes =
        Nodes { network: &network, binary: binary.clone(), folder, keys: keys.clone(), angels: Vec::new() };
    without_keys(&nodes)?;
    make_keys(&binary, &ini, &keys)?;
    let late = SQL[1];
    for node in everybody().filter(|node| *node != late) {
        nodes.start(node)?;
    }
    nodes.until("show", "the cluster does not start", |shown| {
        shown.matches("not connected").count() == 1 && !shown.contains(", starting")
    })?;
    impostors::try_to_pass_for(late, &nodes, workspace)?;
    nodes.start(late)?;
    nodes.are_whole("the cluster does not start")?;
    nodes.until("tls info", "links without TLS", |told| {
        told.contains("This session: TLS") && told.matches("(TLS: ").count() == 7 && !told.contains("no TLS")
    })?;
    nodes.sql(SQL[0], "CREATE DATABASE sbtest")?;
    run(&mut nodes.sysbench(SQL[0], "prepare", &[])?, PATIENCE)?;
    under_load(&nodes, &ini, &mut stranger)?;
    a_node_dies(&nodes)?;
    let answer = capture(&mut nodes.mgm("check"), PATIENCE)?;
    println!("{}", answer.trim_end());
    // Data and SQL nodes before those that they ask.
    for (_, angel) in nodes.angels.iter_mut().rev() {
        angel.stop()?;
    }
    Ok(Passed::Done)
}

/// On several machines no node starts without keys.
fn without_keys(nodes: &Nodes<'_>) -> Result<(), Failure> {
    let mut command = nodes.network.command(MANAGEMENT[0], &nodes.binary);
    command.args(["mgmd", "--ndb-nodeid", "1", "-f"]).arg(nodes.folder.join("config.ini"));
    command.env("HOME", &nodes.folder);
    let (status, said) = output_of(&mut command, PATIENCE)?;
    if status.success() || !said.contains("more than one machine") {
        return Err(Failure::new(format!("a node starts without keys: {status}\n{said}")));
    }
    Ok(())
}

/// sysbench at an SQL node: it ends at the first statement that fails.
struct Pressure {
    load: Server,
}

impl Pressure {
    fn start(nodes: &Nodes<'_>, node: u16) -> Result<Self, Failure> {
        let log = nodes.folder.join(format!("sysbench{node}.log"));
        let time = format!("--time={LOAD_SECONDS}");
        let options = ["--threads=2", "--report-interval=1", &time];
        let load = Server::start(&mut nodes.sysbench(node, "run", &options)?, "sysbench", &log)?;
        let mut pressure = Self { load };
        pressure.load.wait_until(PATIENCE, |log| log.contains("tps:"))?;
        Ok(pressure)
    }

    /// Restarts a node.
    fn over_restart(&mut self, nodes: &Nodes<'_>, node: u16) -> Result<(), Failure> {
        capture(&mut nodes.mgm(&format!("{node} restart")), PATIENCE)?;
        nodes.are_whole(&format!("node {node} does not come back"))?;
        self.goes_on(&format!("node {node} was restarted"))
    }

    fn goes_on(&mut self, what: &str) -> Result<(), Failure> {
        if self.load.has_ended() {
            return Err(self.load.failure(&format!("a statement failed while {what}")));
        }
        Ok(())
    }

    fn stop(mut self) -> Result<(), Failure> {
        self.load.stop()?;
        if self.load.log().contains("FATAL") {
            return Err(self.load.failure("a statement failed"));
        }
        Ok(())
    }
}

/// Restarts of all nodes, another authority, and a stranger.
fn under_load(nodes: &Nodes<'_>, ini: &Path, stranger: &mut Command) -> Result<(), Failure> {
    let mut pressure = Pressure::start(nodes, SQL[0])?;
    let serials = replace_authority(nodes, ini)?;
    pressure.goes_on("the authority was replaced")?;
    as_a_stranger(nodes, ini, stranger)?;
    for node in MANAGEMENT.into_iter().chain(DATA).chain([SQL[1]]) {
        pressure.over_restart(nodes, node)?;
    }
    pressure.stop()?;
    // The clients of the node that is left are sent elsewhere.
    let mut pressure = Pressure::start(nodes, SQL[1])?;
    pressure.over_restart(nodes, SQL[0])?;
    pressure.stop()?;
    new_certificates_are_used(nodes, &serials)
}

/// As security.md says it: believe both authorities, be signed by the new one, believe only that. Each step renews all
/// keys; no link is lost, none is made.
fn replace_authority(nodes: &Nodes<'_>, ini: &Path) -> Result<BTreeMap<u16, String>, Failure> {
    let (old, new) = (&nodes.keys, nodes.folder.join("new-keys"));
    make_keys(&nodes.binary, ini, &new)?;
    let file = |folder: &Path, name: &str| folder.join(format!("NDB-Cluster-{name}"));
    let read = |folder: &Path| {
        let path = file(folder, "cert");
        fs::read_to_string(&path).map_err(Failure::while_doing(path.display()))
    };
    let write = |text: &str| {
        let path = file(old, "cert");
        fs::write(&path, text).map_err(Failure::while_doing(path.display()))
    };
    let believed = read(&new)?;
    write(&(read(old)? + &believed))?;
    renew(nodes, ini, 1)?;
    let key = file(old, "private-key");
    fs::copy(file(&new, "private-key"), &key).map_err(Failure::while_doing(key.display()))?;
    renew(nodes, ini, 2)?;
    write(&believed)?;
    renew(nodes, ini, 3)
}

/// Renews all keys, for the `count`th time; each node notices.
fn renew(nodes: &Nodes<'_>, ini: &Path, count: usize) -> Result<BTreeMap<u16, String>, Failure> {
    let serials = make_keys(&nodes.binary, ini, &nodes.keys)?;
    let end = Instant::now() + PATIENCE;
    let noticed = |node: &u16| nodes.log(*node).matches("keys are renewed").count();
    while let Some(late) = everybody().find(|node| noticed(node) < count) {
        if Instant::now() > end {
            return Err(Failure::new(format!("node {late} does not notice that its keys are renewed")));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(serials)
}

/// Each node has the certificate that was made for it last, and shows it to its peers.
fn new_certificates_are_used(nodes: &Nodes<'_>, serials: &BTreeMap<u16, String>) -> Result<(), Failure> {
    for manager in MANAGEMENT {
        let told = capture(&mut nodes.mgm_at(&address(manager), "tls info"), PATIENCE)?;
        for (node, serial) in serials {
            let is_shown = |line: &&str| line.ends_with(&format!("serial {serial})"));
            let of_link = told.lines().filter(|line| line.starts_with(&format!("id={node}\t")));
            if *node != manager && of_link.filter(is_shown).count() != 1 {
                let what = format!("node {manager} does not see the certificate {serial} of node {node}");
                return Err(Failure::new(format!("{what}:\n{told}")));
            }
        }
    }
    for asked in SQL {
        let own = "SELECT Node_id, Serial FROM ndbinfo.certificates WHERE Name LIKE 'LatsDB % node %'";
        let found = nodes.sql(asked, own)?;
        // SQL nodes do not ask each other.
        let others = serials.iter().filter(|(node, _)| !SQL.contains(node) || **node == asked);
        let wanted: BTreeSet<String> = others.map(|(node, serial)| format!("{node}\t{serial}")).collect();
        if found.lines().map(ToOwned::to_owned).collect::<BTreeSet<String>>() != wanted {
            return Err(Failure::new(format!("certificates at node {asked}: {found}\nwanted: {wanted:?}")));
        }
    }
    let authorities = "SELECT COUNT(DISTINCT Serial) FROM ndbinfo.certificates WHERE Name LIKE '%authority%'";
    let count = nodes.sql(SQL[0], authorities)?;
    if count.trim() == "1" { Ok(()) } else { Err(Failure::new(format!("{count} authorities are believed"))) }
}

/// It has keys of a cluster of the same name, made elsewhere.
fn as_a_stranger(nodes: &Nodes<'_>, ini: &Path, program: &mut Command) -> Result<(), Failure> {
    let keys = nodes.folder.join("other-keys");
    make_keys(&nodes.binary, ini, &keys)?;
    let mut command = nodes.network.command(STRANGER, Path::new(program.get_program()));
    command.args(program.get_args()).arg("--keys").arg(&keys);
    for node in everybody() {
        command.arg(format!("--cluster-port={}:2202", address(node)));
    }
    for node in MANAGEMENT {
        command.arg(format!("--management-port={}:1186", address(node)));
    }
    for node in DATA.into_iter().chain(SQL) {
        command.arg(format!("--sql-port={}:3306", address(node)));
    }
    run(&mut command, PATIENCE)?;
    let mut show = nodes.network.command(STRANGER, &nodes.binary);
    show.env("HOME", &nodes.folder).args(["mgm", "-e", "show", "-c", &address(MANAGEMENT[0])]);
    let (status, said) = output_of(&mut show, PATIENCE)?;
    if status.success() || said.contains("node(s)") {
        return Err(Failure::new(format!("a stranger is told: {said}")));
    }
    let refused = "SELECT SUM(val) FROM ndbinfo.counters WHERE counter_name = 'STRANGERS_REFUSED'";
    let count = nodes.sql(SQL[0], refused)?;
    println!("connections of strangers that were refused: {}", count.trim());
    if count.trim().parse::<u64>().map_or(true, |count| count < 9_000) {
        return Err(Failure::new(format!("strangers are not counted: {count}")));
    }
    let lines = nodes.log(MANAGEMENT[0]).matches("cluster port: connection from").count();
    if lines > 3 {
        return Err(Failure::new(format!("{lines} lines of the log about strangers")));
    }
    nodes.are_whole("a stranger has disturbed the cluster")
}

/// `kill -9` of a data node: clients may have to try again.
fn a_node_dies(nodes: &Nodes<'_>) -> Result<(), Failure> {
    let log = nodes.folder.join("sysbench-kill.log");
    let mut command =
        nodes.sysbench(SQL[0], "run", &["--threads=2", "--report-interval=2", "--time=20", RETRYABLE])?;
    let mut load = Server::start(&mut command, "sysbench", &log)?;
    load.wait_until(PATIENCE, |log| log.contains("tps:"))?;
    let victim = nodes.process(DATA[1]).ok_or_else(|| Failure::new("a data node has no process"))?;
    signal(victim, "KILL");
    let status = load.wait(PATIENCE)?;
    if !status.success() {
        return Err(load.failure(&format!("ended with {status} when a node was killed")));
    }
    nodes.are_whole("a node that was killed does not come back")
}
