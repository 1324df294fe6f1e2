//! `autobench.conf`: lines of `NAME=value`, as the shell of the original would read them.
//!
//! A value may stand in quotes, `#` begins a comment, lists are separated by semicolons, a later line of the same name
//! wins. Every mistake is one line that begins with the file and the line's number.
//!
//! **Invariants.** An option is used, or told to have no effect, or refused: nothing is passed over in silence.

use crate::cluster::ClusterOptions;
use crate::oltp::Mix;
use crate::processes::cpu_list;
use std::fmt::Display;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Clients of one thread count: as many as the largest server would take.
const CLIENTS_MAX: u32 = 100_000;

/// sysbench's test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Test {
    ReadWrite,
    ReadOnly,
}

impl Test {
    #[must_use]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "oltp_rw",
            Self::ReadOnly => "oltp_ro",
        }
    }
}

/// All options, with their defaults filled in.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub(super) test: Test,
    /// How many loads run at once, each with its own tables.
    pub(super) instances: usize,
    /// Clients of each instance, one run after the other.
    pub(super) thread_counts: Vec<u32>,
    pub(super) time: Duration,
    /// How often the thread counts are gone through.
    pub(super) runs: u32,
    pub(super) rows: u64,
    /// Tables of an instance.
    pub(super) tables: u32,
    pub(super) mix: Mix,
    /// Instances take turns at them; empty: a cluster is started.
    pub(super) servers: Vec<SocketAddr>,
    /// Where the servers were named, for complaints about them.
    pub(super) servers_at: String,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) engine: String,
    pub(super) cluster: ClusterOptions,
    /// CPUs of the load; empty: all.
    pub(super) benchmark_cpus: Vec<usize>,
    /// Options that were given and change nothing here.
    pub(super) without_effect: Vec<String>,
}

/// A value and where it stands.
struct Value<'text> {
    path: &'text Path,
    line: usize,
    name: &'text str,
    text: &'text str,
}

impl Value<'_> {
    fn fault(&self, what: impl Display) -> String {
        format!("{}: {}: {what}", self.at(), self.name)
    }

    fn at(&self) -> String {
        format!("{}:{}", self.path.display(), self.line)
    }

    /// A number of at least 1.
    fn count<T: FromStr + PartialOrd + From<u8>>(&self) -> Result<T, String> {
        let count: T = self.number()?;
        if count < T::from(1) { Err(self.fault("must be at least 1")) } else { Ok(count) }
    }

    fn number<T: FromStr>(&self) -> Result<T, String> {
        self.text.parse().map_err(|_| self.fault(format_args!("'{}' is not a number that fits", self.text)))
    }

    fn switch(&self) -> Result<bool, String> {
        match self.text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "1" => Ok(true),
            "no" | "off" | "0" | "" => Ok(false),
            _ => Err(self.fault(format_args!("'{}' is neither yes nor no", self.text))),
        }
    }

    fn items(&self) -> impl Iterator<Item = &str> {
        self.text.split(';').map(str::trim).filter(|item| !item.is_empty())
    }

    /// Items that are numbers of at least 1.
    fn counts(&self, most: u32) -> Result<Vec<u32>, String> {
        let counts: Vec<u32> =
            self.items().map(|item| Value { text: item, ..*self }.count()).collect::<Result<_, _>>()?;
        match counts.iter().find(|count| **count > most) {
            Some(count) => Err(self.fault(format_args!("{count} is more than {most}"))),
            None if counts.is_empty() => Err(self.fault("no number")),
            None => Ok(counts),
        }
    }

    fn cpus(&self) -> Result<Vec<usize>, String> {
        cpu_list(self.text).map_err(|fault| self.fault(fault))
    }
}

/// The options of the file, before they are put together.
#[derive(Default)]
struct Draft<'text> {
    test: Option<Test>,
    instances: Option<usize>,
    thread_counts: Option<Vec<u32>>,
    seconds: Option<u64>,
    runs: Option<u32>,
    rows: Option<u64>,
    tables: Option<u32>,
    mix: MixDraft,
    hosts: Option<Value<'text>>,
    ports: Option<Value<'text>>,
    user: Option<&'text str>,
    password: Option<&'text str>,
    engine: Option<&'text str>,
    cluster: ClusterOptions,
    benchmark_cpus: Vec<usize>,
    without_effect: Vec<String>,
}

/// Statements of a transaction, as far as the file names them.
#[derive(Default)]
struct MixDraft {
    point_selects: Option<u32>,
    keys_per_select: Option<u32>,
    simple_ranges: Option<u32>,
    order_ranges: Option<u32>,
    distinct_ranges: Option<u32>,
    sum_ranges: Option<u32>,
    range_size: Option<u32>,
    has_filter: bool,
}

/// Reads the file.
pub(super) fn read(path: &Path) -> Result<Configuration, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Configuration, String> {
    let mut draft = Draft::default();
    for (line, content) in (1..).zip(text.lines()) {
        let fault = |what: &str| format!("{}:{line}: {what}", path.display());
        let content = content.trim();
        let content = content.strip_prefix("export ").unwrap_or(content);
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let (name, rest) = content.split_once('=').ok_or_else(|| fault("not NAME=value"))?;
        let text =
            unquoted(rest).ok_or_else(|| fault("a quote without its end, or words behind the value"))?;
        draft.take(Value { path, line, name: name.trim(), text })?;
    }
    draft.complete()
}

/// The value without quotes and without a comment behind it.
fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let (value, rest) = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split_once(quote)?,
        _ => text.split_at(text.find([' ', '\t', '#']).unwrap_or(text.len())),
    };
    let rest = rest.trim_start();
    (rest.is_empty() || rest.starts_with('#')).then_some(value.trim())
}

impl<'text> Draft<'text> {
    fn take(&mut self, value: Value<'text>) -> Result<(), String> {
        match value.name {
            "BENCHMARK_TO_RUN" if value.text == "sysbench" => {}
            "BENCHMARK_TO_RUN" => {
                return Err(value.fault("only sysbench; for DBT2 there is `latsdb bench tpcc`"));
            }
            "SYSBENCH_TEST" => {
                self.test = Some(match value.text {
                    "oltp_rw" => Test::ReadWrite,
                    "oltp_ro" => Test::ReadOnly,
                    other => {
                        return Err(value.fault(format_args!("'{other}' is neither oltp_rw nor oltp_ro")));
                    }
                });
            }
            "SYSBENCH_INSTANCES" => self.instances = Some(usize::from(value.count::<u16>()?)),
            "THREAD_COUNTS_TO_RUN" => self.thread_counts = Some(value.counts(CLIENTS_MAX)?),
            "MAX_TIME" => self.seconds = Some(value.count()?),
            "NUM_TEST_RUNS" => self.runs = Some(value.count()?),
            "SYSBENCH_ROWS" => self.rows = Some(value.count()?),
            "SB_NUM_TABLES" => self.tables = Some(value.count()?),
            "SERVER_HOST" => self.hosts = Some(value),
            "SERVER_PORT" => self.ports = Some(value),
            "MYSQL_USER" => self.user = Some(value.text),
            "MYSQL_PASSWORD" => self.password = Some(value.text),
            "ENGINE" if value.text.chars().all(|letter| letter.is_ascii_alphanumeric()) => {
                self.engine = Some(value.text);
            }
            "ENGINE" => return Err(value.fault("not the name of an engine")),
            "BENCHMARK_CPUS" => self.benchmark_cpus = value.cpus()?,
            "SERVER_CPUS" => self.cluster.cpus = value.cpus()?,
            "DATA_DIR_BASE" => self.cluster.folder = Some(PathBuf::from(value.text)),
            // The load binds its threads itself, and memory lies where its threads run.
            "TASKSET" | "SERVER_BIND" | "BENCHMARK_BIND" => self.has_no_effect(&value),
            // The program that runs the benchmark is the server too, and its links grow with its workers.
            "MYSQL_BIN_INSTALL_DIR" | "NDB_EXTRA_CONNECTIONS" | "NDB_MULTI_CONNECTION" => {
                self.has_no_effect(&value)
            }
            name if name.starts_with("SB_") => self.mix.take(&value)?,
            name if name.starts_with("NDB") => self.take_cluster(&value)?,
            _ => return Err(value.fault("unknown option")),
        }
        Ok(())
    }

    fn has_no_effect(&mut self, value: &Value<'_>) {
        if !value.text.is_empty() {
            self.without_effect.push(value.name.to_owned());
        }
    }

    /// Options of the cluster that is started where no server is named.
    fn take_cluster(&mut self, value: &Value<'_>) -> Result<(), String> {
        let parameter = match value.name {
            "NDB_MGMD_NODES" if value.items().count() <= 1 => return Ok(()),
            "NDB_MGMD_NODES" => {
                return Err(value.fault("the cluster that is started here has one management node"));
            }
            "NDBD_NODES" => {
                self.cluster.data_nodes = u16::try_from(value.items().count()).unwrap_or(u16::MAX).max(1);
                return Ok(());
            }
            "NDB_REPLICAS" => {
                self.cluster.replicas = value.count()?;
                return Ok(());
            }
            "NDB_TOTAL_MEMORY" => "TotalMemoryConfig",
            "NDB_FRAGMENT_LOG_FILE_SIZE" => "FragmentLogFileSize",
            "NDB_NO_OF_FRAGMENT_LOG_FILES" => "NoOfFragmentLogFiles",
            "NDB_SPIN_METHOD" => "SpinMethod",
            "NDB_MAX_NO_OF_CONCURRENT_OPERATIONS" => "MaxNoOfConcurrentOperations",
            "NDB_AUTOMATIC_THREAD_CONFIG" => "AutomaticThreadConfig",
            "NDB_THREAD_CONFIG" => "ThreadConfig",
            _ => return Err(value.fault("unknown option")),
        };
        let text = match (parameter, value.switch()) {
            ("AutomaticThreadConfig", is_on) => u8::from(is_on?).to_string(),
            _ => value.text.to_owned(),
        };
        self.cluster.parameters.push((parameter, text));
        Ok(())
    }

    fn complete(self) -> Result<Configuration, String> {
        let test = self.test.unwrap_or(Test::ReadWrite);
        let (rows, mix) = (self.rows.unwrap_or(1_000_000), self.mix.complete(test));
        let (servers, servers_at) = match (&self.hosts, &self.ports) {
            (Some(hosts), ports) => (addresses(hosts, ports.as_ref())?, hosts.at()),
            (None, Some(ports)) => return Err(ports.fault("a port without SERVER_HOST")),
            (None, None) => (Vec::new(), String::new()),
        };
        Ok(Configuration {
            test,
            instances: self.instances.unwrap_or(1),
            thread_counts: self
                .thread_counts
                .unwrap_or_else(|| vec![1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 112, 128]),
            time: Duration::from_secs(self.seconds.unwrap_or(60)),
            runs: self.runs.unwrap_or(1),
            rows,
            tables: self.tables.unwrap_or(1),
            mix,
            servers,
            servers_at,
            user: self.user.unwrap_or("root").to_owned(),
            password: self.password.unwrap_or("").to_owned(),
            engine: self.engine.unwrap_or("").to_owned(),
            cluster: self.cluster,
            benchmark_cpus: self.benchmark_cpus,
            without_effect: self.without_effect,
        })
    }
}

impl MixDraft {
    fn take(&mut self, value: &Value<'_>) -> Result<(), String> {
        let field = match value.name {
            "SB_POINT_SELECTS" => &mut self.point_selects,
            "SB_USE_IN_STATEMENT" => &mut self.keys_per_select,
            "SB_SIMPLE_RANGES" => &mut self.simple_ranges,
            "SB_ORDER_RANGES" => &mut self.order_ranges,
            "SB_DISTINCT_RANGES" => &mut self.distinct_ranges,
            "SB_SUM_RANGES" => &mut self.sum_ranges,
            "SB_RANGE_SIZE" => {
                self.range_size = Some(value.count()?);
                return Ok(());
            }
            "SB_USE_FILTER" => {
                self.has_filter = value.switch()?;
                return Ok(());
            }
            _ => return Err(value.fault("unknown option")),
        };
        *field = Some(value.number()?);
        Ok(())
    }

    fn complete(self, test: Test) -> Mix {
        let usual = match test {
            Test::ReadWrite => Mix::read_write(),
            Test::ReadOnly => Mix::read_only(),
        };
        Mix {
            point_selects: self.point_selects.unwrap_or(usual.point_selects),
            keys_per_select: self.keys_per_select.unwrap_or(1).max(1),
            simple_ranges: self.simple_ranges.unwrap_or(usual.simple_ranges),
            order_ranges: self.order_ranges.unwrap_or(usual.order_ranges),
            distinct_ranges: self.distinct_ranges.unwrap_or(usual.distinct_ranges),
            sum_ranges: self.sum_ranges.unwrap_or(usual.sum_ranges),
            range_size: self.range_size.unwrap_or(usual.range_size),
            has_filter: self.has_filter,
            ..usual
        }
    }
}

/// Every host with its port: one port for all of them, or one for each.
fn addresses(hosts: &Value<'_>, ports: Option<&Value<'_>>) -> Result<Vec<SocketAddr>, String> {
    let names: Vec<&str> = hosts.items().collect();
    let numbers = match ports {
        None => vec![3306],
        Some(ports) => ports.counts(u32::from(u16::MAX))?,
    };
    if names.is_empty() {
        return Err(hosts.fault("no host"));
    }
    if numbers.len() > 1 && numbers.len() != names.len() {
        let what = format!("{} ports for {} hosts", numbers.len(), names.len());
        return Err(ports.unwrap_or(hosts).fault(what));
    }
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let port = numbers[index % numbers.len()];
        let mut resolved = (*name, u16::try_from(port).unwrap_or(0))
            .to_socket_addrs()
            .map_err(|error| hosts.fault(format_args!("{name}: {error}")))?;
        found.push(resolved.next().ok_or_else(|| hosts.fault(format_args!("{name} has no address")))?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
