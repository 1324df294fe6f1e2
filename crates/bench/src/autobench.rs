//! `latsdb bench run DIR`: the sysbench runs that RonDB's `bench_run.sh` describes by an `autobench.conf`.
//!
//! ```text
//! read DIR/autobench.conf  ──►  start a cluster, or take the servers that it names
//!                          ──►  fill the tables of each instance
//!                          ──►  for each run, for each thread count: all instances at once, for MAX_TIME
//!                          ──►  results after each thread count (results)
//! ```
//! The load is the own generator, or sysbench on the same tables. Instance *i* has the database `sbtest_i`, and asks
//! the server whose turn it is.
//!
//! | file | what |
//! | --- | --- |
//! | `configuration` | the options, with line numbers for complaints |
//! | `sysbench` | sysbench as the load |
//! | `results` | files that are written |
//!
//! **Invariants.** Nothing is started or written before the whole configuration is understood. A benchmark that is
//! stopped keeps its results so far, and leaves no process.

use crate::cluster::Cluster;
use crate::connection::{Connection, Patience};
use crate::generator::{self, Load, Run};
use crate::oltp::{self, Tables};
use mysql_protocol::client::ClientOptions;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

mod configuration;
mod results;
mod sysbench;

use configuration::{Configuration, Test};
use results::{Figures, Live, Results};

/// How long a server may take to answer before anything begins.
const ANSWER_LIMIT: Patience =
    Patience { connect: Duration::from_secs(3), statement: Duration::from_secs(10) };

/// The program that makes the load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    Own,
    Sysbench,
}

/// The options of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// Has `autobench.conf`, and gets the results.
    pub folder: PathBuf,
    pub program: Program,
    /// The program whose `dev` is started where no server is named.
    pub binary: PathBuf,
    /// Whether tables are made and filled first.
    pub loads: bool,
}

/// Runs the benchmark until it is done or `stop` is set. Lines for a person go to `say`.
pub fn run(options: &Options, stop: &AtomicBool, say: &(dyn Fn(&str) + Sync)) -> Result<(), String> {
    let configuration = configuration::read(&options.folder.join("autobench.conf"))?;
    if options.program == Program::Sysbench {
        sysbench::check(&configuration)?;
    }
    if configuration.servers.is_empty() && !options.loads {
        return Err("--keep-tables needs SERVER_HOST: a cluster that is started here is empty".to_owned());
    }
    for name in &configuration.without_effect {
        say(&format!("{name} has no effect"));
    }
    let own = match configuration.servers.is_empty() {
        true => Some(Cluster::start(&options.binary, &options.folder, &configuration.cluster)?),
        false => None,
    };
    let servers = own.as_ref().map_or(&configuration.servers, |cluster| &cluster.servers);
    let benchmark = Benchmark { options, configuration: &configuration, servers, stop, say };
    let done = benchmark.run();
    let stopped = own.map_or(Ok(()), Cluster::stop);
    done.and(stopped)
}

/// A benchmark whose servers are there.
struct Benchmark<'run> {
    options: &'run Options,
    configuration: &'run Configuration,
    servers: &'run [SocketAddr],
    stop: &'run AtomicBool,
    say: &'run (dyn Fn(&str) + Sync),
}

impl Benchmark<'_> {
    fn run(&self) -> Result<(), String> {
        self.ask_servers()?;
        if self.options.loads {
            self.load()?;
        }
        let mut results = Results::new(&self.options.folder, &self.title());
        for run in 0..self.configuration.runs {
            let mut lives = (0..self.configuration.instances)
                .map(|instance| {
                    Live::create(&self.options.folder, self.configuration.test.name(), instance, run)
                })
                .collect::<Result<Vec<_>, _>>()?;
            for &clients in &self.configuration.thread_counts {
                if self.is_stopped() {
                    return self.finish(&results, "stopped; the results so far:");
                }
                let runs = self.measure(clients, run, &mut lives)?;
                let figures = Figures::of(&runs);
                let time = runs.iter().map(|run| run.time).max().unwrap_or_default();
                (self.say)(&results::summary(clients, &figures, time));
                // A part of the time is no figure for the table.
                if !self.is_stopped() {
                    results.add(clients, figures)?;
                }
            }
        }
        self.finish(&results, "done; the results:")
    }

    fn finish(&self, results: &Results, how: &str) -> Result<(), String> {
        (self.say)(&format!("{how}\n\n{}", results.table()));
        (self.say)(&format!("results are in {}", self.options.folder.join("final_results.txt").display()));
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn title(&self) -> String {
        let Configuration { test, instances, tables, rows, .. } = self.configuration;
        let program = match self.options.program {
            Program::Own => "own load generator",
            Program::Sysbench => "sysbench",
        };
        format!("{} with {instances} instances, {tables} tables of {rows} rows each, {program}", test.name())
    }

    fn login(&self) -> ClientOptions {
        ClientOptions::new(&self.configuration.user, &self.configuration.password)
    }

    /// A server that does not answer is told before anything is made.
    fn ask_servers(&self) -> Result<(), String> {
        for server in self.servers {
            let asked = Connection::open_as(*server, self.login(), ANSWER_LIMIT);
            asked.map_err(|trouble| {
                format!("{}: {server} does not answer: {trouble}", self.configuration.servers_at)
            })?;
        }
        Ok(())
    }

    fn tables(&self, instance: usize) -> Tables {
        Tables {
            database: format!("sbtest_{instance}"),
            count: self.configuration.tables,
            rows: self.configuration.rows,
        }
    }

    fn server(&self, instance: usize) -> SocketAddr {
        self.servers[instance % self.servers.len()]
    }

    fn load(&self) -> Result<(), String> {
        let begun = Instant::now();
        for instance in 0..self.configuration.instances {
            if self.is_stopped() {
                return Ok(());
            }
            let (server, tables) = (self.server(instance), self.tables(instance));
            oltp::load(server, &self.login(), &tables, &self.configuration.engine)?;
        }
        (self.say)(&format!("tables filled in {:.1} s", begun.elapsed().as_secs_f64()));
        Ok(())
    }

    /// All instances at once.
    fn measure(&self, clients: u32, run: u32, lives: &mut [Live]) -> Result<Vec<Run>, String> {
        thread::scope(|scope| {
            let running: Vec<_> = lives
                .iter_mut()
                .enumerate()
                .map(|(instance, live)| scope.spawn(move || self.measure_one(instance, clients, run, live)))
                .collect();
            running.into_iter().map(|one| one.join().map_err(|_| "a thread panicked".to_owned())?).collect()
        })
    }

    fn measure_one(&self, instance: usize, clients: u32, run: u32, live: &mut Live) -> Result<Run, String> {
        let load = Load {
            server: self.server(instance),
            login: self.login(),
            tables: self.tables(instance),
            mix: self.configuration.mix.clone(),
            clients: usize::try_from(clients).unwrap_or(usize::MAX),
            time: self.configuration.time,
            cpus: self.configuration.benchmark_cpus.clone(),
            seed: u64::from(run) << 32 | instance as u64,
        };
        if self.options.program == Program::Sysbench {
            return sysbench::run(&load, self.configuration, self.stop, live);
        }
        let mut written = Ok(());
        let done = generator::run(&load, self.stop, &mut |second, counted| {
            let line = live.line(&results::second_line(second, clients, counted));
            written = written.clone().and(line);
        })?;
        written?;
        live.line(&results::summary(clients, &Figures::of(std::slice::from_ref(&done)), done.time))?;
        Ok(done)
    }
}
