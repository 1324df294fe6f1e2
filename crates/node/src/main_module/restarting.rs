//! `N stop` and `N restart` at a management node: a node that is to start again is asked first whether it could.
//!
//! ```text
//! management node                          node
//! RestartCheck(text of config.ini)  ->     looks at what its next life will read: configuration, program, ports, DataDir, memory
//!                                   <-     RestartChecked(why not)
//! StopNode                          ->     if it could
//! ```
//! **Invariants.** A node that cannot say within [`ANSWER_PATIENCE`] that it could start again is not stopped, nor is
//! one whose operator has gone meanwhile. The check is done at once, in the node's `main`: it reads files and tries
//! ports, and calls no other machine.

use super::MainModule;
use protocol::module::EXIT_LEFT_OUT;
use protocol::signal::RequestId;
use protocol::{Address, ConnectionId, Outputs, RequestToRuntime, Severity, Signal};
use query::Shared;
use stdx::{Duration, Instant};
use types::NodeId;

/// How long a node may take to say whether it could start again.
const ANSWER_PATIENCE: Duration = Duration::from_secs(4);

/// A node that was asked.
#[derive(Debug)]
pub(super) struct Asked {
    request: RequestId,
    connection: ConnectionId,
    node: NodeId,
    until: Instant,
}

impl MainModule {
    /// When a node that was asked has taken too long.
    pub(super) fn asked_deadline(&self) -> Option<Instant> {
        self.operators.restarts.iter().map(|asked| asked.until).min()
    }

    /// A node is to stop, or to start again, while the others go on.
    pub(super) fn request_stop(
        &mut self,
        connection: ConnectionId,
        node: NodeId,
        exit_code: u8,
        outputs: &mut Outputs<Shared>,
    ) {
        let config = self
            .config
            .management
            .as_ref()
            .map_or_else(String::new, |management| management.config_text().to_owned());
        if exit_code != EXIT_LEFT_OUT || node == self.config.node {
            // A management node has looked at its own file already.
            return self.stop_node(connection, node, exit_code, outputs);
        }
        let request = self.new_request();
        let until = self.now.monotonic + ANSWER_PATIENCE;
        self.operators.restarts.push(Asked { request, connection, node, until });
        outputs.send(self.me(), Address::main(node), Signal::RestartCheck { request, config });
    }

    fn stop_node(
        &mut self,
        connection: ConnectionId,
        node: NodeId,
        exit_code: u8,
        outputs: &mut Outputs<Shared>,
    ) {
        let me = self.config.node;
        let what = if exit_code == 0 { "stop" } else { "restart" };
        let reason = format!("{what} requested at management node {me}");
        let text = format!("Node {node}: {what} requested\n");
        if node == me {
            outputs.event(Severity::Info, reason);
            outputs.request(RequestToRuntime::Exit(exit_code));
        } else {
            let stop = Signal::StopNode { reason, exit_code, is_alone: true };
            outputs.send(self.me(), Address::main(node), stop);
        }
        self.answer_management(connection, &text, outputs);
    }

    /// A management node asks whether this node could start again, with this config.ini.
    pub(super) fn on_restart_check(
        &mut self,
        from: Address,
        request: RequestId,
        config: &str,
        outputs: &mut Outputs<Shared>,
    ) {
        let check = self.config.start_check.as_ref();
        let refusal = check.and_then(|check| (check.0)(config).err());
        if let Some(why) = &refusal {
            let line = format!("this node could not start again, so it does not stop for a restart: {why}");
            outputs.event(Severity::Warning, line);
        }
        outputs.send(self.me(), from, Signal::RestartChecked { request, refusal });
    }

    pub(super) fn on_restart_checked(
        &mut self,
        from: NodeId,
        request: RequestId,
        refusal: Option<String>,
        outputs: &mut Outputs<Shared>,
    ) {
        let place =
            self.operators.restarts.iter().position(|asked| asked.request == request && asked.node == from);
        let Some(asked) = place.map(|place| self.operators.restarts.remove(place)) else { return };
        match refusal {
            None => self.stop_node(asked.connection, from, EXIT_LEFT_OUT, outputs),
            Some(why) => {
                let why = crate::management::told(&why);
                let text = format!("ERROR: node {from} may not restart, it could not start again: {why}\n");
                self.answer_management(asked.connection, &text, outputs);
            }
        }
    }

    /// Refuses to restart nodes that do not answer.
    pub(super) fn end_asked(&mut self, outputs: &mut Outputs<Shared>) {
        let now = self.now.monotonic;
        let (late, asked) =
            std::mem::take(&mut self.operators.restarts).into_iter().partition(|asked| asked.until <= now);
        self.operators.restarts = asked;
        let late: Vec<Asked> = late;
        for Asked { connection, node, .. } in late {
            let text =
                format!("ERROR: node {node} may not restart: it does not say whether it could start again\n");
            self.answer_management(connection, &text, outputs);
        }
    }

    /// The client that asked has gone: nothing is done for it.
    pub(super) fn forget_asked(&mut self, connection: ConnectionId) {
        self.operators.restarts.retain(|asked| asked.connection != connection);
    }
}

#[cfg(test)]
mod tests;
