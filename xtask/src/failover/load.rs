//! sysbench at every SQL port of a cluster whose nodes are killed.
//!
//! sysbench can't connect again: it ends when its connection is lost. Then it is started again as soon as the port
//! listens, as a user's program would be. Whatever else ends it is a failure.
//!
//! **Invariant.** A load runs, or waits for its port, until [`Loads::stop`].

use crate::processes::{Failure, Server};
use crate::sysbench::{Load, Pressure};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often loads are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The errors that a statement may meet when a node dies: a deadlock or a transaction whose node is lost, a timeout, an
/// outcome that nobody knows.
const IGNORED: &str = "--mysql-ignore-errors=1213,1205,1020,1180";

/// The loss of a connection, or none at all, in all forms.
const LOST: [u32; 7] = [1053, 2002, 2003, 2006, 2011, 2013, 2055];

/// One port's.
struct PortLoad {
    load: Load,
    pressure: Pressure,
    folder: PathBuf,
    /// None while its port does not listen.
    server: Option<Server>,
    starts: u32,
    transactions: f64,
}

/// All of them.
#[derive(Default)]
pub(super) struct Loads(Vec<PortLoad>);

impl Loads {
    /// Adds one that runs from now on.
    pub(super) fn start(&mut self, load: Load, pressure: Pressure, folder: PathBuf) -> Result<(), Failure> {
        let load = Load { extra: vec!["--report-interval=1".to_owned(), IGNORED.to_owned()], ..load };
        let mut load = PortLoad { load, pressure, folder, server: None, starts: 0, transactions: 0.0 };
        load.start()?;
        self.0.push(load);
        Ok(())
    }

    /// Looks after them until told to end.
    pub(super) fn keep_running(&mut self, is_over: &AtomicBool) -> Result<(), Failure> {
        while !is_over.load(Ordering::Relaxed) {
            self.look()?;
            thread::sleep(LOOK_INTERVAL);
        }
        Ok(())
    }

    /// Starts again what has lost its node; an error when one ended of anything else.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        self.0.iter_mut().try_for_each(PortLoad::look)
    }

    /// Ends them; an error if one has not worked since it was started last.
    pub(super) fn stop(self) -> Result<(), Failure> {
        for mut load in self.0 {
            load.look()?;
            let Some(server) = load.server.take() else {
                return Err(Failure::new(format!("nobody listens at port {} in the end", load.load.port)));
            };
            load.transactions += transactions(&server.log());
            println!(
                "sysbench at port {}: {:.0} transactions; started {} times",
                load.load.port, load.transactions, load.starts
            );
        }
        Ok(())
    }
}

impl PortLoad {
    fn start(&mut self) -> Result<(), Failure> {
        self.starts += 1;
        let log = self.folder.join(format!("{}-{}.log", self.load.port, self.starts));
        let mut command = self.load.command("run", &self.pressure)?;
        self.server = Some(Server::start(&mut command, "sysbench", &log)?);
        Ok(())
    }

    fn look(&mut self) -> Result<(), Failure> {
        let Some(server) = &mut self.server else {
            let is_listening = TcpStream::connect((Ipv4Addr::LOCALHOST, self.load.port)).is_ok();
            return if is_listening { self.start() } else { Ok(()) };
        };
        if !server.has_ended() {
            return Ok(());
        }
        let log = server.log();
        if !has_lost_its_node(&log) {
            return Err(server.failure("ended before its time"));
        }
        self.transactions += transactions(&log);
        self.server = None;
        Ok(())
    }
}

/// Whether every error that ended it is the loss of a connection.
fn has_lost_its_node(log: &str) -> bool {
    let fatal = log.lines().filter(|line| line.starts_with("FATAL"));
    let numbers = fatal.filter_map(|line| {
        let behind = line.split_once("error ").or_else(|| line.split_once("errno = "))?.1;
        behind.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<u32>().ok()
    });
    let mut numbers = numbers.peekable();
    numbers.peek().is_some() && numbers.all(|number| LOST.contains(&number))
}

/// By its reports, one for each second.
fn transactions(log: &str) -> f64 {
    let rates =
        log.lines().filter_map(|line| line.split_once("tps: ")?.1.split(' ').next()?.parse::<f64>().ok());
    rates.sum()
}

#[cfg(test)]
mod tests;
