//! The one behind a number: what the module tells a session and the finisher of DDL jobs alike.
//!
//! Each has asked other modules for something, and waits for answers, for its turn, for a time, or for a view.

use crate::environment::Environment;
use crate::session_core::SessionCore;
use executor::inbox::Reply;
use protocol::signal::RequestId;
use protocol::{Address, View};
use types::{NodeId, ViewNumber};

pub(crate) trait Requester {
    fn core(&self) -> &SessionCore;
    fn core_mut(&mut self) -> &mut SessionCore;

    /// It may go on: an answer or a time that it waited for may have come.
    fn go_on(&mut self, env: &mut Environment<'_>);

    /// The turn came that it asked for.
    fn on_continue(&mut self, env: &mut Environment<'_>);

    /// The time came at which it wanted to be woken.
    fn on_wake(&mut self, env: &mut Environment<'_>);

    /// A node is lost.
    fn on_node_lost(&mut self, env: &mut Environment<'_>, node: NodeId);

    /// Another view is installed.
    fn on_view_changed(&mut self, env: &mut Environment<'_>, before: &View);

    /// An answer.
    #[inline]
    fn on_reply(&mut self, env: &mut Environment<'_>, request: RequestId, reply: Reply) {
        if self.core_mut().client.inbox.deliver(request, reply) {
            self.go_on(env);
        }
    }

    /// A request waits at another primary now, or nowhere.
    fn on_wait_moved(
        &mut self,
        env: &mut Environment<'_>,
        request: RequestId,
        moved_in: ViewNumber,
        to: Option<Address>,
    ) {
        if self.core_mut().follow_wait(&env.module.site.map, request, moved_in, to) {
            self.go_on(env);
        }
    }
}
