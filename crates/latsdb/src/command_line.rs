//! The options of every subcommand and what `--help` says about them.
//!
//! Names are those of NDB's tools where they have one (`--ndb-nodeid`, `--ndb-connectstring`, `-f`, `-e`).

use crate::connectstring::Connectstring;
use crate::key_files::TlsOptions;
use crate::keys_command::KeyOptions;
use crate::management_client::Access;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// An in-memory, shared-nothing, synchronously replicated key-value store with SQL over the MySQL protocol.
#[derive(Parser, Debug)]
#[command(name = "latsdb", version, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// This process is the child of an angel with this process id.
    #[arg(long, global = true, hide = true, value_name = "PID")]
    pub(crate) angel_pid: Option<u32>,

    /// Where the angel wants to be told whom it shall tell of this process's end.
    #[arg(long, global = true, hide = true, value_name = "DESCRIPTOR", requires = "angel_pid")]
    pub(crate) angel_pipe: Option<i32>,
}

const EXAMPLES: &str = "\
A first session:
  latsdb dev                              a cluster with two replicas on this machine; Ctrl-C stops it
  mariadb -h 127.0.0.1 -P 3306 -u root    in another terminal; the mysql client works as well
  latsdb mgm -e show                      which nodes there are

A cluster on several machines, with a config.ini as NDB Cluster has it:
  latsdb keys -f config.ini --to-dir keys        then keys/node1 to $HOME/ndb-tls/node1 on its machine, and so on
  latsdb mgmd -f config.ini
  latsdb data --ndb-nodeid 2 --ndb-connectstring 10.0.0.9:1186
  latsdb data --ndb-nodeid 3 --ndb-connectstring 10.0.0.9:1186

`latsdb help dev` explains the options of `dev`, and so on.
Rows live in memory, and come back from disk when all nodes were stopped.";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Dev(DevOptions),
    Mgmd(ManagementOptions),
    Data(DataOptions),
    Sql(SqlOptions),
    Mgm(ClientOptions),
    Check(CheckOptions),
    Keys(KeyOptions),
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// Start a whole cluster on this machine: one management node, and data nodes that serve MySQL clients.
///
/// Writes a config.ini into the directory and starts each node as a process of its own, listening on 127.0.0.1 only.
/// Memory and CPUs of the machine are divided among the nodes. The first data node serves MySQL on --mysql-port, the
/// next ones on the ports after it, and each on a Unix socket in the directory. Prints `ready: ...` once clients can
/// connect to all of them. Ctrl-C or SIGTERM stops everything; a second Ctrl-C kills. Logs of the nodes are in
/// DIR/node<N>/.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  latsdb dev
  latsdb dev --dir /tmp/play --mysql-port 0 --management-port 0 --data-port 0
  latsdb dev --data-nodes 4 --replicas 2
  latsdb dev --initial                     an empty cluster in a directory that was used before
  latsdb dev --config my.ini               all nodes of my.ini, which must be on this machine")]
pub(crate) struct DevOptions {
    /// Directory of config.ini, logs and sockets; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "latsdb-data")]
    pub(crate) dir: PathBuf,

    /// MySQL port of the first data node; the others get the next ones. 0: free ports.
    #[arg(long, value_name = "PORT", default_value_t = 3306, conflicts_with = "config")]
    pub(crate) mysql_port: u16,

    /// Port of the management node, for `latsdb mgm`. 0: a free port.
    #[arg(long, value_name = "PORT", default_value_t = 1186, conflicts_with = "config")]
    pub(crate) management_port: u16,

    /// First of the ports on which nodes talk with each other, one per node. 0: free ports.
    #[arg(long, value_name = "PORT", default_value_t = 2202, conflicts_with = "config")]
    pub(crate) data_port: u16,

    /// Port of the HTTP console and metrics [default: 8186]; they come with a later version, so it has no effect yet.
    #[arg(long, value_name = "PORT", conflicts_with = "config")]
    pub(crate) http_port: Option<u16>,

    /// How many data nodes; a multiple of --replicas.
    #[arg(long, value_name = "COUNT", default_value_t = 2, conflicts_with = "config",
          value_parser = clap::value_parser!(u16).range(1..=48))]
    pub(crate) data_nodes: u16,

    /// Copies of each row (NoOfReplicas).
    #[arg(long, value_name = "COUNT", default_value_t = 2, conflicts_with = "config",
          value_parser = clap::value_parser!(u16).range(1..=4))]
    pub(crate) replicas: u16,

    /// Client connections of each data node [default: 1000].
    #[arg(long, value_name = "COUNT", conflicts_with = "config",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_connections: Option<u32>,

    /// Start the nodes of this config.ini instead of writing one.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Begin with an empty cluster: what the directory holds of an earlier one is lost.
    #[arg(long)]
    pub(crate) initial: bool,
}

/// Run a management node (ndb_mgmd): it hands out the configuration and answers `latsdb mgm`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ManagementOptions {
    /// The cluster's config.ini.
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(crate) config_file: PathBuf,

    /// Accepted for NDB's sake: config.ini is read at each start and no cache of it is kept.
    #[arg(long, value_name = "DIR")]
    pub(crate) configdir: Option<PathBuf>,

    /// Which node of config.ini this is; may be left out if there is one [ndb_mgmd] only.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=255))]
    pub(crate) ndb_nodeid: Option<u16>,

    /// Begin a new, empty cluster: forget what this node's disk knows of an earlier one. Start all management and data
    /// nodes so.
    #[arg(long)]
    pub(crate) initial: bool,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) log: LogOptions,
}

/// Run a data node (ndbmtd): it holds rows, and serves MySQL clients, too.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Example:
  latsdb data --ndb-nodeid 2 --ndb-connectstring 10.0.0.9:1186")]
pub(crate) struct DataOptions {
    #[command(flatten)]
    pub(crate) member: MemberOptions,

    /// Forget what this node's disk knows of an earlier cluster: it begins as an empty one.
    #[arg(long)]
    pub(crate) initial: bool,
}

/// Run an SQL node (mysqld): it serves MySQL clients and holds no rows.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Example:
  latsdb sql --ndb-nodeid 4 --ndb-connectstring 10.0.0.9:1186 --port 3306")]
pub(crate) struct SqlOptions {
    #[command(flatten)]
    pub(crate) member: MemberOptions,

    /// Serve MySQL clients on this port instead of the one in config.ini.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// Serve MySQL clients on this Unix socket instead of the one in config.ini.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

/// Options of nodes that fetch their configuration.
#[derive(Args, Clone, Debug)]
pub(crate) struct MemberOptions {
    /// Which node of config.ini this is; may be left out if only one has this role.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=255))]
    pub(crate) ndb_nodeid: Option<u16>,

    /// Management nodes: [nodeid=ID,]HOST[:PORT][,HOST[:PORT]...].
    #[arg(short = 'c', long, value_name = "CONNECTSTRING", default_value = "localhost:1186")]
    pub(crate) ndb_connectstring: Connectstring,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) log: LogOptions,
}

/// Where log lines go.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogOptions {
    /// How much is logged.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log: LogLevel,

    /// Append the log to this file instead of writing it to standard error.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
}

/// The quietest line that is still logged.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

/// Ask a management node (ndb_mgm): interactively, or one command with -e.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  latsdb mgm -e show
  latsdb mgm -c 10.0.0.9:1186 -e \"all status\"
  latsdb mgm -e \"3 restart\"
  latsdb mgm -e \"rolling restart\"
  latsdb mgm                               interactive; `help` lists the commands, `quit` leaves")]
pub(crate) struct ClientOptions {
    #[command(flatten)]
    pub(crate) access: AccessOptions,

    /// Send this command, print the answer and leave; several are separated by `;`.
    #[arg(short, long, value_name = "COMMAND")]
    pub(crate) execute: Option<String>,
}

/// Compare the replicas of all tables and check index entries against rows, while the cluster works.
///
/// Ends with 0 if everything agrees, with 1 if something differs or the check could not be done.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckOptions {
    #[command(flatten)]
    pub(crate) access: AccessOptions,
}

/// How management nodes are reached by those who want something of the cluster.
#[derive(Args, Clone, Debug)]
pub(crate) struct AccessOptions {
    /// Management nodes: HOST[:PORT][,HOST[:PORT]...].
    #[arg(short = 'c', long, value_name = "CONNECTSTRING", default_value = "localhost:1186")]
    ndb_connectstring: Connectstring,

    /// A copy of the management nodes' token files (latsdb_N_management.token in their DataDir), one line each: it
    /// gives authority to stop nodes and the like. On the machine of a management node its file is found without this
    /// option, if it may be read.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    #[command(flatten)]
    tls: TlsOptions,
}

impl AccessOptions {
    pub(crate) fn access(&self) -> Access {
        Access {
            connectstring: self.ndb_connectstring.clone(),
            token_file: self.token_file.clone(),
            keys: self.tls.for_tools(),
        }
    }
}

/// Measure what a cluster does.
#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    Costs(CostsOptions),
    Failover(FailoverOptions),
    Figures(FiguresOptions),
    Model(ModelOptions),
    Pipeline(PipelineOptions),
    Run(RunOptions),
    Tpch(TpchOptions),
    Tpcc(TpccOptions),
}

/// Measure what the steps of an operation take on this machine, for `bench model`.
///
/// Measures hops between threads, wakes, packets and rows in this process, then instructions in a cluster that it
/// starts and stops. Writes costs.txt and costs.json into DIR. Nothing else should run on the machine meanwhile.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  latsdb bench costs --out model
  latsdb bench figures --out model
  latsdb bench model --costs model/costs.json --figures model/figures.json --out model")]
pub(crate) struct CostsOptions {
    /// Directory of the results.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time: u64,
}

/// Measure the throughput of two data nodes on one CPU and on two, for `bench model`.
///
/// Clusters are started on the first CPUs of this machine; the clients have the others, if there are any. Writes
/// figures.json into DIR after each measurement. Ctrl-C keeps the figures so far and leaves no process.
#[derive(Args, Clone, Debug)]
pub(crate) struct FiguresOptions {
    /// Directory of the results.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// point, in-100, range, update, scan-beside-points; may be repeated [default: these].
    #[arg(long = "workload", value_name = "WORKLOAD", value_parser = workload)]
    pub(crate) workloads: Vec<bench::workload::Workload>,

    /// Numbers of clients; separated by commas.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "16,48",
          value_parser = clap::value_parser!(u32).range(1..=900))]
    pub(crate) clients: Vec<u32>,

    /// CPUs of the nodes; separated by commas.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,2",
          value_parser = clap::value_parser!(u16).range(1..=240))]
    pub(crate) cpus: Vec<u16>,

    /// How often everything is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time: u64,

    /// Rows of each of the four tables.
    #[arg(long, value_name = "COUNT", default_value_t = 250_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(crate) table_size: u64,
}

/// Say what clusters would do on machines that are not there: throughput by CPUs and nodes.
///
/// A model of threads, rings, links and clients, with the production layout and placement. The steps of operations are
/// counted, and their costs come from `bench costs`. If the model does not meet the figures of `bench figures` for a
/// workload within 15 %, it does not predict that workload. Writes model.txt, model.json and model.svg into DIR.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Each figure of the model has a range: what it gives with hops, wakes and misses at half and double.

Examples:
  latsdb bench model --costs model/costs.json --figures model/figures.json --out model
  latsdb bench model --costs model/costs.json --figures model/figures.json --out model --cpus 4,16 --nodes 2")]
pub(crate) struct ModelOptions {
    /// The file of `bench costs`.
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: PathBuf,

    /// The file of `bench figures`.
    #[arg(long, value_name = "FILE")]
    pub(crate) figures: PathBuf,

    /// Directory of the results.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// CPUs of a node; separated by commas.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "16,64,192",
          value_parser = clap::value_parser!(u16).range(1..=240))]
    pub(crate) cpus: Vec<u16>,

    /// Data nodes, an even number; separated by commas.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "2,16,48",
          value_parser = clap::value_parser!(u16).range(2..=254))]
    pub(crate) nodes: Vec<u16>,

    /// point, in-100, range, update, scan-beside-points and the others of `bench pipeline`; may be repeated
    /// [default: all].
    #[arg(long = "workload", value_name = "WORKLOAD", value_parser = workload)]
    pub(crate) workloads: Vec<bench::workload::Workload>,

    /// Clients for each worker of a node.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) clients_per_worker: u32,

    /// Clients draw their rows from it.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Compare setups of threads with each other, on each workload: where should a read run?
///
/// A cluster of each setup runs on this machine; they take turns. Writes pipeline.txt, pipeline.json and pipeline.svg
/// into DIR after each round, with a verdict for each workload: whether the adaptive setup has 97 % of the better fixed
/// one. Ctrl-C keeps the results so far and leaves no process.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Setups:
  receive    a worker per CPU does all that its clients ask (ReadPlacement=local)
  split      threads of their own for slots, coordinators and clients (ThreadConfig)
  pipeline   as split, and each read goes to the `query` of its slot (ReadPlacement=owner)
  adaptive   as receive, but threads with less to do read parts of long scans: the default of a node

Examples:
  latsdb bench pipeline --out pipeline
  latsdb bench pipeline --out pipeline --workload point --workload range --clients 1,8 --rounds 5")]
pub(crate) struct PipelineOptions {
    /// Directory of the results.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// The setups; separated by commas.
    #[arg(long, value_name = "SETUP", value_delimiter = ',', value_parser = setup,
          default_value = "receive,split,pipeline,adaptive")]
    pub(crate) setups: Vec<bench::pipeline::Setup>,

    /// point, in-100, range, four-ranges, filter, read-only, read-write, update, scan-beside-points, tpcc; may be
    /// repeated [default: all].
    #[arg(long = "workload", value_name = "WORKLOAD", value_parser = workload)]
    pub(crate) workloads: Vec<bench::workload::Workload>,

    /// Numbers of clients; separated by commas.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1,8,48,128",
          value_parser = clap::value_parser!(u32).range(1..=900))]
    pub(crate) clients: Vec<u32>,

    /// How often everything is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,

    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) time: u64,

    /// Rows of each of the four tables.
    #[arg(long, value_name = "COUNT", default_value_t = 250_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(crate) table_size: u64,
}

fn setup(text: &str) -> Result<bench::pipeline::Setup, String> {
    let found = bench::pipeline::Setup::ALL.into_iter().find(|setup| setup.name() == text);
    found.ok_or_else(|| "there are receive, split, pipeline and adaptive".to_owned())
}

fn workload(text: &str) -> Result<bench::workload::Workload, String> {
    let found = bench::workload::Workload::ALL.into_iter().find(|workload| workload.name() == text);
    found.ok_or_else(|| "no such workload; --help lists them".to_owned())
}

/// Run sysbench's OLTP tests as an autobench.conf describes them.
///
/// DIR has an autobench.conf as RonDB's bench_run.sh reads it. If it names no SERVER_HOST, a cluster of `latsdb dev`
/// is started in DIR and stopped in the end. Each instance has its own tables. Writes sysbench_results/TEST_I_N.res (a
/// line a second), final_results.txt, final_results.json and final_results.svg into DIR after each thread count.
/// Ctrl-C keeps the results so far and leaves no process.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Options in autobench.conf:
  SYSBENCH_TEST oltp_rw|oltp_ro, SYSBENCH_INSTANCES, THREAD_COUNTS_TO_RUN \"1;2;4\", MAX_TIME (seconds), NUM_TEST_RUNS
  SYSBENCH_ROWS, SB_NUM_TABLES, SB_POINT_SELECTS, SB_USE_IN_STATEMENT (keys of an IN list), SB_SIMPLE_RANGES,
  SB_SUM_RANGES, SB_ORDER_RANGES, SB_DISTINCT_RANGES, SB_RANGE_SIZE, SB_USE_FILTER
  SERVER_HOST \"a;b\", SERVER_PORT, MYSQL_USER, MYSQL_PASSWORD, ENGINE, SERVER_CPUS, BENCHMARK_CPUS
  NDBD_NODES, NDB_REPLICAS, NDB_TOTAL_MEMORY, NDB_THREAD_CONFIG and others, for the cluster that is started

Examples:
  latsdb bench run sysbench_single
  latsdb bench run sysbench_multi --load sysbench")]
pub(crate) struct RunOptions {
    /// Directory of autobench.conf and of the results.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// The program that makes the load.
    #[arg(long, value_enum, default_value_t = LoadProgram::Own)]
    pub(crate) load: LoadProgram,

    /// Use the tables of an earlier run.
    #[arg(long)]
    pub(crate) keep_tables: bool,
}

/// The program that makes the load of `latsdb bench run`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoadProgram {
    /// This program: many connections on few threads.
    Own,
    /// sysbench 1.0, which must be installed.
    Sysbench,
}

/// Run the 22 queries of TPC-H on a server, and compare their rows with those of another one.
///
/// Both servers speak MySQL and let root in without a password. With --load the database tpch is made anew on both,
/// with the same rows. A line for each query says its median time on both servers and the ratio. Ends with 1 if a
/// query is refused, or has other rows than on the reference; times are told, not judged.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  latsdb bench tpch --server 127.0.0.1:3306 --reference 127.0.0.1:3307 --scale 0.1 --load
  latsdb bench tpch --server 127.0.0.1:3306 --scale 0.1 --query 9 --query 21")]
pub(crate) struct TpchOptions {
    /// The server that is measured.
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    pub(crate) server: SocketAddr,

    /// A server with the same rows, whose answers are the right ones.
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    pub(crate) reference: Option<SocketAddr>,

    /// Size of the tables: 1 is six million rows of lineitem.
    #[arg(long, value_name = "FACTOR", default_value_t = 0.01)]
    pub(crate) scale: f64,

    /// Make the tables first.
    #[arg(long)]
    pub(crate) load: bool,

    /// How often each query runs on each server.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) rounds: usize,

    /// Run this query only; may be repeated.
    #[arg(long = "query", value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=22))]
    pub(crate) queries: Vec<u16>,

    /// Seconds for which a query may run.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) patience: u64,

    /// Append a line of JSON for each query to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) figures: Option<PathBuf>,
}

/// Run the transactions of TPC-C on a server, and test its conditions.
///
/// Any server that speaks MySQL and lets root in without a password. The standard mix, without foreign keys, think
/// times and keying times. Tells new orders per minute, latencies by kind of transaction, and retries. Ends with 1 if a
/// condition of --check is broken, or a client met an error that it should not meet.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  latsdb bench tpcc --server '127.0.0.1:3306;127.0.0.1:3307' --warehouses 4 --clients 8 --time 60 --load --check
  latsdb bench tpcc --server 127.0.0.1:3306 --warehouses 4 --time 0 --check")]
pub(crate) struct TpccOptions {
    /// Servers of one database; clients take turns at them. Several are separated by ';'.
    #[arg(long = "server", value_name = "HOST:PORT", value_parser = address, value_delimiter = ';', required = true)]
    pub(crate) servers: Vec<SocketAddr>,

    /// Warehouses that there are, or that are made.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) warehouses: u64,

    /// Clients, each at a warehouse of its own as far as there are as many.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) clients: u64,

    /// Seconds of transactions; 0: none.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) time: u64,

    /// Make the database tpcc anew first.
    #[arg(long)]
    pub(crate) load: bool,

    /// Test the twelve conditions of clause 3.3.2 in the end.
    #[arg(long)]
    pub(crate) check: bool,

    /// Milliseconds for which a client waits for an answer before it takes its server for lost.
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub(crate) patience: u64,

    /// Append a line of JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) figures: Option<PathBuf>,
}

/// The first address of a name.
fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    found.next().ok_or_else(|| "a name without an address".to_owned())
}

/// Inject faults into a cluster of its own under load: what clients notice is measured, what they were told is checked.
///
/// Starts `latsdb dev` (or Galera) on free ports and clients of its own. Probes make a write and a read each
/// millisecond, and loads keep a synchronised log of every acknowledged commit. After each fault the longest time
/// between two successes of each client is told; in the end the logs are compared with the tables at every node. Ends
/// with 1 if anything acknowledged is missing or anything else is wrong; times are told, not judged.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  latsdb bench failover                                       kill -9 of either data node, ten times
  latsdb bench failover --fault pause-data-1s --rounds 30
  latsdb bench failover --cluster galera --rounds 30          MariaDB Galera, which must be installed")]
pub(crate) struct FailoverOptions {
    /// The kind of cluster.
    #[arg(long, value_enum, default_value_t = ClusterKind::Dev)]
    pub(crate) cluster: ClusterKind,

    /// Data nodes of the cluster.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=48))]
    pub(crate) data_nodes: u16,

    /// Copies of each row.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(2..=4))]
    pub(crate) replicas: u16,

    /// kill-data, kill-management, kill-both, pause-data-200ms, pause-management-1s, pause-both-10s, cut-3s (of a
    /// relayed cluster), kill-leader and pause-leader-1s (of four data nodes, relayed or by hand), switchover
    /// (`N restart`), rolling (`rolling restart`), nothing; may be repeated.
    #[arg(long = "fault", value_name = "FAULT", default_value = "kill-data")]
    pub(crate) faults: Vec<bench::failover::Fault>,

    /// How often each fault is injected; data nodes take turns.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) rounds: u32,

    /// The behaviour that is expected of a cluster after a fault.
    #[arg(long, value_enum, default_value_t = Expectation::Rejoin)]
    pub(crate) expect: Expectation,

    /// Clients of each load (counters, bank, lists) at each SQL port.
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    pub(crate) clients: usize,

    /// Transactions per second that a client of a load begins; 0: as many as it can.
    #[arg(long, value_name = "RATE", default_value_t = 50)]
    pub(crate) rate: u32,

    /// MiB of rows that are written before the first fault, and copied to each node that comes back.
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    pub(crate) ballast: u32,

    /// HeartbeatIntervalDbDb in milliseconds, of a relayed cluster or one by hand.
    #[arg(long, value_name = "MS")]
    pub(crate) heartbeat: Option<u16>,

    /// TotalMemoryConfig of each data node in MiB, of a relayed cluster or one by hand.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(256..))]
    pub(crate) memory: u32,

    /// Wait for a line on standard input before the first fault, and for another one before the cluster is stopped: for
    /// whoever has other clients at work.
    #[arg(long)]
    pub(crate) await_line: bool,

    /// Milliseconds for which a client waits for an answer before it takes its server for lost.
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    pub(crate) patience: u64,

    /// Milliseconds of load before each fault.
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    pub(crate) calm: u64,

    /// Seconds for a node to be in sync again.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) rejoin_limit: u64,

    /// Directory of the cluster and of the clients' logs; what a former campaign left there is removed.
    #[arg(long, value_name = "DIR", default_value = "latsdb-failover")]
    pub(crate) dir: PathBuf,

    /// Append a line of JSON for each injection to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) figures: Option<PathBuf>,

    /// Try this program instead of this one.
    #[arg(long, value_name = "LATSDB")]
    pub(crate) binary: Option<PathBuf>,

    /// Do it to the `latsdb dev` with this process id, which is left running; --config says what it runs with.
    #[arg(long, value_name = "PID", requires = "config")]
    pub(crate) attach: Option<u32>,

    /// The config.ini of that cluster.
    #[arg(long, value_name = "FILE", requires = "attach")]
    pub(crate) config: Option<PathBuf>,

    /// Options of Galera's provider, e.g. evs.suspect_timeout=PT1S.
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    pub(crate) provider_options: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum ClusterKind {
    /// `latsdb dev`.
    Dev,
    /// Nodes that are started by hand.
    ByHand,
    /// The same, and they reach each other through relays, for cuts.
    Relayed,
    /// Three nodes of MariaDB Galera.
    Galera,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Expectation {
    /// Survivors go on; the cluster is started anew for each fault.
    Takeover,
    /// The node comes back by itself, with all rows.
    Rejoin,
}

#[cfg(test)]
mod tests;
