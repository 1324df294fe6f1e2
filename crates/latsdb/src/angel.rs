//! The angel: the parent of a node's process. `latsdb mgmd|data|sql` runs its node in a child process of itself.
//!
//! ```text
//! latsdb data --ndb-nodeid 2                      the angel: forwards SIGTERM and Ctrl-C, reaps, passes the exit code on
//!  └─ latsdb data --ndb-nodeid 2 --angel-pid N    the node
//! ```
//! The angel shares nothing with the node but its standard streams, so whatever kills the node, somebody is left to tell. `latsdb dev` is
//! itself the angel of its nodes.
//!
//! Exit codes: the node's own; 128 and the signal's number if a signal killed it.
//!
//! Invariant: the node does not outlive its angel, even if the angel is killed: the kernel kills the node then.
//!
//! Deliberately not here: starting a node again. `latsdb dev` does it for its nodes, a service manager for others.

use crate::processes::{self, Happening, NodeProcess};
use crate::stop_signal::StopSignal;
use crate::terminal::{self, Failure};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::process::{Command, ExitCode};

/// Runs this very command line again in a child, as a node.
pub(crate) fn run() -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot run the node's process: {error}"));
    let mut stop = StopSignal::listen()?;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(std::env::args_os().skip(1));
    let mut node = NodeProcess::start(command).map_err(failed)?;
    let mut is_stopping = false;
    loop {
        match processes::wait(&mut stop, &mut [&mut node], None).map_err(failed)? {
            Happening::StopRequested => {
                is_stopping = true;
                node.stop();
            }
            Happening::TimedOut => {}
            Happening::Ended(_, status) => {
                node.wait_until_told();
                // A node that was asked to stop before it could listen for signals ends by the signal: that is a clean stop, too.
                if is_stopping
                    && std::os::unix::process::ExitStatusExt::signal(&status) == Some(Signal::TERM.as_raw())
                {
                    return Ok(ExitCode::SUCCESS);
                }
                // With a code of its own the node has said why.
                if status.code().is_none() {
                    terminal::complain(&format!(
                        "the node's process {} {}",
                        node.id(),
                        processes::describe(status)
                    ));
                }
                return Ok(ExitCode::from(processes::exit_code(status)));
            }
        }
    }
}

/// In the child: makes the kernel kill this process when the parent dies. False if it has died already.
pub(crate) fn die_with_parent(parent: u32) -> bool {
    let is_set = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    let is_alive =
        getppid().is_some_and(|current| i64::from(current.as_raw_nonzero().get()) == i64::from(parent));
    is_set && is_alive
}
