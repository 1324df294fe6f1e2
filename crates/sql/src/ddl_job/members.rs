//! The tasks that a DDL job gives to all members: to install a version, or to build the entries of an index.
//!
//! A member that has installed a version names the connections that use older versions of the step's tables. It is
//! asked again until there are none, or until the job does not wait any longer. Users who were there before a moment
//! (`used_since`) are found by how long they have used the table.
//!
//! A connection may break and be there again without anybody having left. Then a member was asked in vain, or its
//! answer did not arrive, and it goes on in the same life with the same rows. So a task is done when every member that
//! counts *in the newest view* has said so in its present life. A member that has not is asked again after some time.
//! Both tasks may be done twice.
//!
//! These count: members of the view, in reach or not, and SQL nodes that are in reach. When no view without a lost
//! member is awaited any more, the task fails. SQL nodes that only data nodes reach are asked by those: a data node
//! says *installed* when the SQL nodes that it reaches have said so. Primaries refuse what an SQL node does with a
//! version that is too old, and it hears of the newest one when it is found again. A data node that holds no rows reads
//! the catalogue when it joins.
//!
//! Invariants: a member has one open request at most; nothing is sent to a member that is out of reach.

use executor::inbox::{Inbox, Reply, RequestKind};
use executor::{Cx, Failure, failure_of};
use protocol::program::{Refusal, TableRef};
use protocol::signal::{RequestId, TableUsers};
use protocol::{Address, NodeRole, Signal};
use query::NodeMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{Incarnation, IndexId, NodeId, SchemaVersion};

/// How soon a member that has not answered is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Connections of a node that a waiting statement's state names.
const USERS_SHOWN: usize = 8;

/// The task. Users count that began before `used_since`; None: all.
#[derive(Clone)]
pub(super) enum MemberTask {
    /// To install a version, and to have no users left of the tables that are named (catalogue's job.rs says which, and
    /// why).
    Install {
        version: SchemaVersion,
        tables: Arc<[TableUsers]>,
        used_since: Option<Instant>,
    },
    Backfill {
        table: TableRef,
        index: IndexId,
    },
}

/// A member's life.
type Member = (NodeId, Incarnation);

struct Asked {
    member: Member,
    /// None: it was lost with the connection.
    request: Option<RequestId>,
    again_at: Instant,
}

/// The members that have done it.
pub(super) struct Members {
    task: MemberTask,
    done: Vec<Member>,
    asked: Vec<Asked>,
    /// Connections that use the tables, at members that have installed the version.
    users: BTreeMap<Member, Vec<u32>>,
    /// Since when nothing but users is waited for.
    users_since: Option<Instant>,
    /// When the session is woken.
    wake_at: Option<Instant>,
}

impl Members {
    pub(super) fn new(task: MemberTask) -> Self {
        Self {
            task,
            done: Vec::new(),
            asked: Vec::new(),
            users: BTreeMap::new(),
            users_since: None,
            wake_at: None,
        }
    }

    /// True if nothing has been waited for but users of the tables, for so long.
    pub(super) fn is_held_up(&self, patience: Duration, now: Instant) -> bool {
        self.users_since.is_some_and(|since| now.since(since) >= patience)
    }

    /// Nobody waits for the answers any more.
    pub(super) fn forget(&mut self, inbox: &mut Inbox) {
        for request in self.asked.drain(..).filter_map(|asked| asked.request) {
            inbox.forget(request);
        }
    }

    /// The members that have not done it yet.
    pub(super) fn waits_for(&self) -> String {
        let users = self.users.iter().filter(|(_, users)| !users.is_empty());
        let of_node = |((node, _), users): (&Member, &Vec<u32>)| {
            let users: Vec<String> = users.iter().take(USERS_SHOWN).map(u32::to_string).collect();
            format!("connections {} of node {node}", users.join(", "))
        };
        let users: Vec<String> = users.map(of_node).collect();
        if !users.is_empty() {
            return format!("Waiting for table metadata lock ({})", users.join("; "));
        }
        let silent: Vec<String> = self.asked.iter().map(|asked| asked.member.0.to_string()).collect();
        match self.task {
            MemberTask::Install { .. } => format!("Waiting for schema version (nodes {})", silent.join(", ")),
            MemberTask::Backfill { .. } => format!("Waiting for index build (nodes {})", silent.join(", ")),
        }
    }

    /// True when all have done it; asks whoever has not.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        let progress = self.poll_members(cx);
        if progress.is_err() {
            self.forget(&mut cx.client.inbox);
        }
        progress
    }

    fn poll_members(&mut self, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        self.take_answers(cx)?;
        let map = Arc::clone(&cx.env.site.map);
        let missing: Vec<Member> =
            self.members(&map).into_iter().filter(|member| !self.done.contains(member)).collect();
        self.asked.retain(|asked| {
            let is_awaited = missing.contains(&asked.member);
            if !is_awaited && let Some(request) = asked.request {
                cx.client.inbox.forget(request);
            }
            is_awaited
        });
        if missing.is_empty() {
            return Ok(true);
        }
        if missing.iter().any(|(node, _)| map.given_up.contains(node)) {
            return Err(failure_of(Refusal::ReplicaLost, ""));
        }
        self.users.retain(|member, _| missing.contains(member));
        if !missing.iter().all(|member| self.users.contains_key(member)) {
            self.users_since = None;
        } else if self.users_since.is_none() {
            self.users_since = Some(cx.env.now.monotonic);
        }
        for member in missing.into_iter().filter(|(node, _)| !map.lost.contains(node)) {
            self.ask(member, cx);
        }
        self.wake_later(cx);
        Ok(false)
    }

    fn take_answers(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        for asked in &mut self.asked {
            let Some(reply) = asked.request.and_then(|request| cx.client.inbox.take(request)) else {
                continue;
            };
            asked.request = None;
            #[expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is none")]
            match reply {
                Reply::SchemaInstalled { users } if !users.is_empty() => {
                    self.users.insert(asked.member, users);
                }
                Reply::SchemaInstalled { .. } | Reply::Backfilled(None) => self.done.push(asked.member),
                Reply::Backfilled(Some(refusal)) => return Err(failure_of(refusal, "the index")),
                Reply::Failed(error) => return Err(Failure::Error(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The nodes that the newest view counts.
    fn members(&self, map: &NodeMap) -> Vec<Member> {
        let counts = |node: NodeId, role: NodeRole| match role {
            NodeRole::Data => map.view.is_member(node),
            NodeRole::Sql => matches!(self.task, MemberTask::Install { .. }) && !map.lost.contains(&node),
            NodeRole::Management => false,
        };
        let members = map.view.nodes.iter().filter(|info| counts(info.node, info.role));
        members.map(|info| (info.node, info.incarnation)).collect()
    }

    /// Asks a member, unless it was asked a moment ago.
    fn ask(&mut self, member: Member, cx: &mut Cx<'_>) {
        let now = cx.env.now.monotonic;
        let main = Address::main(member.0);
        let position = self.asked.iter().position(|asked| asked.member == member).unwrap_or_else(|| {
            self.asked.push(Asked { member, request: None, again_at: now });
            self.asked.len() - 1
        });
        let asked = &mut self.asked[position];
        if asked.again_at > now {
            return;
        }
        // The same request as before, if that was not lost: its receiver knows it.
        let request = asked.request.unwrap_or_else(|| cx.client.inbox.register(main, RequestKind::Other));
        asked.request = Some(request);
        asked.again_at = now + ASK_AGAIN;
        let signal = match &self.task {
            MemberTask::Install { version, tables, used_since } => {
                let used_for = used_since.map_or(Duration::ZERO, |since| now.since(since));
                let used_for_ms = u32::try_from(used_for.as_millis()).unwrap_or(u32::MAX);
                Signal::SchemaInstall { request, version: *version, tables: tables.to_vec(), used_for_ms }
            }
            MemberTask::Backfill { table, index } => {
                Signal::BackfillRequest { request, table: *table, index: *index }
            }
        };
        cx.env.send(main, signal);
    }

    fn wake_later(&mut self, cx: &mut Cx<'_>) {
        let now = cx.env.now.monotonic;
        if self.wake_at.is_none_or(|at| at <= now) {
            self.wake_at = Some(now + ASK_AGAIN);
            cx.env.site.wakes.register(now + ASK_AGAIN, cx.client.id);
        }
    }
}
