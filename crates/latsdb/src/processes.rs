//! Child processes that run nodes, and waiting for whatever happens to them.
//!
//! Each child has a descriptor that becomes readable when it ends, so one thread waits for all of them and for the stop
//! signal together.
//!
//! Invariants: a signal is only ever sent to a child that has not been reaped, so it cannot hit a stranger; dropping a
//! [`NodeProcess`] that still runs kills it.

use crate::exit_notice::{self, ExitNotice, Telling};
use crate::stop_signal::StopSignal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// A node's process.
#[derive(Debug)]
pub(crate) struct NodeProcess {
    child: Child,
    /// Readable once the process has ended.
    end: OwnedFd,
    /// The notice to send when it has ended.
    exit_notice: Option<ExitNotice>,
    telling: Option<Telling>,
    restarts_after_errors: Option<bool>,
    status: Option<ExitStatus>,
}

impl NodeProcess {
    /// Starts `program` as this process's child that lives no longer than it (the hidden option makes the child see to
    /// that). It gets a process group of its own: Ctrl-C goes to the parent, who decides.
    pub(crate) fn start(mut program: Command) -> io::Result<Self> {
        program.arg("--angel-pid").arg(std::process::id().to_string()).process_group(0);
        let (exit_notice, node_end) = exit_notice::pipe()?;
        program.arg("--angel-pipe").arg(node_end.number().to_string());
        let mut child = program.spawn()?;
        drop(node_end);
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(end) => {
                let (exit_notice, restarts_after_errors) = (Some(exit_notice), None);
                Ok(Self { child, end, exit_notice, telling: None, restarts_after_errors, status: None })
            }
            Err(error) => {
                let _ = child.kill().and_then(|()| child.wait());
                Err(error.into())
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end and tells those who are concerned.
    fn reap(&mut self) {
        self.status = self.child.wait().ok();
        if self.status.is_some()
            && let Some(exit_notice) = self.exit_notice.take()
        {
            let telling = exit_notice.publish();
            self.restarts_after_errors = telling.stops_on_error().map(|stops| !stops);
            self.telling = Some(telling);
        }
    }

    /// Returns when those who are concerned know of its end: for a parent that is about to end, too.
    pub(crate) fn wait_until_told(&mut self) {
        if let Some(telling) = self.telling.take() {
            telling.wait();
        }
    }

    /// How it ended, if it has.
    pub(crate) fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Whether its configuration wants it to be started again after an error (StopOnError=0), if it had read that
    /// before it ended.
    pub(crate) fn restarts_after_errors(&self) -> Option<bool> {
        self.restarts_after_errors
    }

    /// Asks it to stop.
    pub(crate) fn stop(&self) {
        if self.status.is_none() {
            // It may have ended already, which is what was wanted.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    /// Kills it and waits for its end.
    pub(crate) fn kill(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            self.reap();
        }
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The event that was waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Happening {
    /// Somebody wants this process to stop.
    StopRequested,
    /// The child with this index has ended like this.
    Ended(usize, ExitStatus),
    /// Nothing happened.
    TimedOut,
}

/// Waits for the next thing that happens; `None`: for ever.
pub(crate) fn wait(
    stop: &mut StopSignal,
    children: &mut [&mut NodeProcess],
    timeout: Option<Duration>,
) -> io::Result<Happening> {
    let running: Vec<usize> = (0..children.len()).filter(|index| children[*index].status.is_none()).collect();
    let mut watched = vec![PollFd::from_borrowed_fd(stop.descriptor(), PollFlags::IN)];
    watched.extend(
        running.iter().map(|index| PollFd::from_borrowed_fd(children[*index].end.as_fd(), PollFlags::IN)),
    );
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    match poll(&mut watched, timeout.as_ref()) {
        Ok(0) | Err(Errno::INTR) => return Ok(Happening::TimedOut),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let is_ready: Vec<bool> = watched.iter().map(|descriptor| !descriptor.revents().is_empty()).collect();
    drop(watched);
    if is_ready[0] {
        stop.take();
        return Ok(Happening::StopRequested);
    }
    // The first of those that have ended; the others are found by the next call.
    let ended = running.into_iter().zip(&is_ready[1..]).find(|(_, is_ready)| **is_ready);
    let Some((index, _)) = ended else { return Ok(Happening::TimedOut) };
    let child = &mut *children[index];
    child.reap();
    let status = child.status.ok_or_else(|| io::Error::other("a child has no status"))?;
    Ok(Happening::Ended(index, status))
}

/// "has stopped", "was killed by signal 9 (SIGKILL)" …
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "has stopped (exit code 0)".to_owned(),
        (Some(3), _) => "has ended to be started again (exit code 3)".to_owned(),
        (Some(5), _) => "has too little memory to join (exit code 5)".to_owned(),
        (Some(6), _) => "could not start (exit code 6)".to_owned(),
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal} ({})", signal_name(signal)),
        (None, None) => "has ended".to_owned(),
    }
}

/// The exit code that tells how a process ended: its own, or 128 and the signal that killed it, as shells do.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT: it found a bug or ran out of memory, see its error log",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL: by hand, or by the system for lack of memory",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => "see `kill -l`",
    }
}

#[cfg(test)]
mod tests;
