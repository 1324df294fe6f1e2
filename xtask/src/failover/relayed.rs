//! Cuts: `latsdb bench failover` has a cluster of its own whose links it can cut, and sysbench works beside.
//!
//! ```text
//! bench   starts the cluster, prints its SQL ports, waits for a line
//! here    makes tables, starts sysbench, writes the line
//! bench   cuts, heals, checks; prints what it did, waits for a line
//! here    stops sysbench, writes the line
//! ```
//!
//! **Invariants.** When one of them ends, the other one ends with it: `bench` takes the end of its input for a line,
//! and is killed when this is dropped.

use super::load::Loads;
use crate::processes::{Failure, describe, tree};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How often loads are looked at while nothing is printed.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// From the last line until the program has ended.
const END_LIMIT: Duration = Duration::from_secs(60);

/// The words that are printed when the cluster runs, before its ports, and when all is done.
const RUNS: &str = " runs; SQL ports: ";
const CHECKED: &str = "all is checked";

/// The program, and what it prints.
pub(super) struct Bench {
    child: Child,
    lines: Receiver<String>,
    end: Instant,
    name: String,
}

impl Bench {
    /// Starts it; returns the SQL ports when its cluster runs.
    pub(super) fn start(command: &mut Command, limit: Duration) -> Result<(Self, Vec<u16>), Failure> {
        command.arg("--await-line").stdin(Stdio::piped()).stdout(Stdio::piped());
        let name = describe(command);
        let mut child = command.spawn().map_err(Failure::while_doing(&name))?;
        let output = child.stdout.take().ok_or_else(|| Failure::new("no pipe"))?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                println!("{line}");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut bench = Self { child, lines, end: Instant::now() + limit, name };
        let line = bench.wait_for(RUNS, &mut Loads::default())?;
        let ports = line.rsplit_once(RUNS).map(|(_, ports)| ports.split(',').map(str::parse).collect());
        match ports {
            Some(Ok(ports)) => Ok((bench, ports)),
            _ => Err(Failure::new(format!("no ports in {line:?}"))),
        }
    }

    /// Lets it begin; returns when it has checked everything.
    pub(super) fn strike(&mut self, loads: &mut Loads) -> Result<(), Failure> {
        self.say_line()?;
        self.wait_for(CHECKED, loads).map(|_| ())
    }

    /// Lets it stop its cluster.
    pub(super) fn stop(mut self) -> Result<(), Failure> {
        self.say_line()?;
        self.end = self.end.min(Instant::now() + END_LIMIT);
        loop {
            match self.child.try_wait().map_err(Failure::while_doing(&self.name))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(Failure::new(format!("{}: {status}", self.name))),
                None if Instant::now() >= self.end => return Err(self.late()),
                None => thread::sleep(LOOK_INTERVAL),
            }
        }
    }

    fn say_line(&mut self) -> Result<(), Failure> {
        let input = self.child.stdin.as_mut().ok_or_else(|| Failure::new("no pipe"))?;
        input.write_all(b"\n").map_err(Failure::while_doing(&self.name))
    }

    fn late(&self) -> Failure {
        Failure::new(format!("{}: not done in time", self.name))
    }

    fn wait_for(&mut self, mark: &str, loads: &mut Loads) -> Result<String, Failure> {
        while Instant::now() < self.end {
            match self.lines.recv_timeout(LOOK_INTERVAL) {
                Ok(line) if line.contains(mark) => return Ok(line),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => loads.look()?,
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().map_err(Failure::while_doing(&self.name))?;
                    return Err(Failure::new(format!("{}: {status}", self.name)));
                }
            }
        }
        Err(self.late())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for pid in tree(self.child.id()) {
            crate::processes::signal(pid, "KILL");
        }
        // It may have ended by itself.
        let _ = self.child.wait();
    }
}
