//! The angel: the parent of a node's process. `latsdb mgmd|data|sql` runs its node in a child process of itself.
//!
//! ```text
//! latsdb data --ndb-nodeid 2                      the angel: forwards SIGTERM, SIGHUP and Ctrl-C as SIGTERM,
//!  │                                              reaps, starts it again
//!  └─ latsdb data --ndb-nodeid 2 --angel-pid N    the node
//! ```
//! The angel shares nothing with the node but its standard streams and a pipe, so whatever kills the node, somebody is
//! left to tell. `latsdb dev` is itself the angel of its nodes.
//!
//! A node that wants to be started again (`restart`) is started from the file that lies at the program's path then,
//! which may be another version. It gets whatever config.ini its management node has then. A mistake in that file does
//! not end the angel, which tries until it is mended. After an error the angel ends with its node, unless
//! StopOnError=0: a service manager may prefer to know. The table is in `restart`.
//!
//! Exit codes: 0 if the node was to stop, 1 if it could not start; else the node's own; 128 and the signal's number if
//! a signal killed it.
//!
//! Invariants: the node does not outlive its angel, even if the angel is killed: the kernel kills the node then.
//! `--initial` is for the first start only: a node that is started again must not forget what it has promised as a
//! voter.

use crate::processes::{self, Happening, NodeProcess};
use crate::program;
use crate::restart::{Ending, Lives};
use crate::stop_signal::StopSignal;
use crate::terminal::{self, Failure};
use protocol::module::EXIT_CANNOT_START;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// Pauses that a person would notice are told.
const PAUSE_TOLD: Duration = Duration::from_secs(1);

/// Runs this very command line again in a child, as a node, as often as it takes.
pub(crate) fn run() -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot run the node's process: {error}"));
    let mut stop = StopSignal::listen()?;
    let program = program::path().map_err(failed)?;
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut node = start(&program, &arguments).map_err(failed)?;
    arguments.retain(|word| word != "--initial");
    let mut angel = Angel { program, arguments, lives: Lives::new(false) };
    loop {
        let begun = Instant::now();
        let (is_asked, status) = watch(&mut stop, &mut node).map_err(failed)?;
        let ending = Ending::of(status);
        let code = tell(&node, ending, status);
        let pause = angel.lives.after(ending, begun.elapsed(), node.restarts_after_errors());
        let Some(pause) = pause.filter(|_| !is_asked) else {
            if let Some(why) = ending.why_not_again().filter(|_| !is_asked) {
                terminal::complain(&format!("the node is not started again: {why}"));
            }
            return Ok(code);
        };
        match angel.start_again(&mut stop, pause, ending.why_later()).map_err(failed)? {
            Some(next) => node = next,
            None => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// Waits for the end of the node, and passes on what it is asked meanwhile. True if this process was asked to stop
/// before.
fn watch(stop: &mut StopSignal, node: &mut NodeProcess) -> io::Result<(bool, ExitStatus)> {
    let mut is_stopping = false;
    loop {
        match processes::wait(stop, &mut [&mut *node], None)? {
            Happening::StopRequested => {
                is_stopping = true;
                node.stop();
            }
            Happening::TimedOut => {}
            Happening::Ended(_, status) => {
                node.wait_until_told();
                return Ok((is_stopping, status));
            }
        }
    }
}

/// All that is needed to start the node again.
struct Angel {
    program: PathBuf,
    arguments: Vec<OsString>,
    lives: Lives,
}

impl Angel {
    /// Starts it after a pause, and as often as it takes; `None` if somebody wants this process to stop first.
    fn start_again(
        &mut self,
        stop: &mut StopSignal,
        mut pause: Duration,
        why: &str,
    ) -> io::Result<Option<NodeProcess>> {
        if pause >= PAUSE_TOLD {
            terminal::complain(&format!("the node is started again in {} s: {why}", pause.as_secs()));
        }
        loop {
            let at = Instant::now() + pause;
            while Instant::now() < at {
                let left = at.saturating_duration_since(Instant::now());
                if processes::wait(stop, &mut [], Some(left))? == Happening::StopRequested {
                    return Ok(None);
                }
            }
            match start(&self.program, &self.arguments) {
                Ok(node) => {
                    terminal::complain(&format!(
                        "the node is started again, as process {}, from {}",
                        node.id(),
                        self.program.display()
                    ));
                    return Ok(Some(node));
                }
                // The installation of another version may not be done yet.
                Err(error) => {
                    let path = self.program.display();
                    terminal::complain(&format!("cannot start the node again from {path}: {error}"));
                    pause = self.lives.after_no_life();
                }
            }
        }
    }
}

fn start(program: &PathBuf, arguments: &[OsString]) -> io::Result<NodeProcess> {
    let mut command = Command::new(program);
    command.args(arguments);
    NodeProcess::start(command)
}

/// Says how it ended, if it can't have said so itself; gives what this process ends with if the node is not started
/// again.
fn tell(node: &NodeProcess, ending: Ending, status: ExitStatus) -> ExitCode {
    if status.code().is_none() {
        terminal::complain(&format!("the node's process {} {}", node.id(), processes::describe(status)));
    }
    if ending == Ending::CannotJoin {
        terminal::complain(
            "the node could not join: `cannot join` in its log says what it lacks. Until it is in, its node group has one replica less",
        );
    }
    match ending {
        Ending::Stopped => ExitCode::SUCCESS,
        Ending::CannotStart if status.code() == Some(EXIT_CANNOT_START.into()) => ExitCode::FAILURE,
        Ending::CannotStart | Ending::Refused | Ending::Again | Ending::CannotJoin | Ending::Error => {
            ExitCode::from(processes::exit_code(status))
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
