//! One node that was asked to stop or to start again, followed from look to look: how far it is, and when to give up.
//! Pure.
//!
//! ```text
//! data node    asked → hands over → sessions end → away → waits → is copied to → gets its share → done
//! SQL node     asked → away → done
//! management   asked → away → done                       (seen from its own port: its life is another one)
//! ```
//! A look may miss stages, because they last milliseconds; what was missed is not told.
//!
//! Invariants: a node is done only in another life than the one that was asked, or when it is away, if it was to stop.
//! The command fails if a node makes no progress for longer than its stage may last, or dies again and again while it
//! starts.

use super::status::{NodeStatus, Role, State, Status};
use std::time::Duration;

/// For each step until a node is away. A node itself stops waiting after some seconds.
const LEAVE_LIMIT: Duration = Duration::from_secs(15);
/// Until the view says that a data node is about to stop; else it has found a reason to stay.
const ASKED_LIMIT: Duration = Duration::from_secs(5);
/// Until its angel has started it again; and until it is taken in.
const RETURN_LIMIT: Duration = Duration::from_secs(60);
/// For each partition that is copied to it.
const COPY_LIMIT: Duration = Duration::from_secs(900);
/// Until primaries are spread again.
const SHARE_LIMIT: Duration = Duration::from_secs(30);

/// A node that ends so often while it starts will do so again.
const FALLS_MAX: u32 = 3;

/// The end that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    Stop,
    Restart,
}

/// In the order in which they come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Asked,
    HandingOver,
    Draining,
    Away,
    Waiting,
    Copying(u64),
    Sharing,
    Done,
}

/// A node on its way.
#[derive(Debug)]
pub(super) struct Follow {
    wanted: Wanted,
    /// As it was when it was asked.
    before: NodeStatus,
    /// The life of the management node that was asked.
    manager: u64,
    stage: Stage,
    /// The furthest it was, and since when.
    furthest: (Stage, Duration),
    /// How often it has ended while it started.
    falls: u32,
}

/// The result of a look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Seen {
    /// For a person, if it is news.
    pub(super) news: Option<String>,
    pub(super) is_done: bool,
}

impl Follow {
    /// A node that is asked now; `status` is what its management node (it itself, if it is one) said before.
    pub(super) fn begin(wanted: Wanted, before: NodeStatus, status: &Status) -> Self {
        let furthest = (Stage::Asked, Duration::ZERO);
        Self { wanted, before, manager: status.incarnation, stage: Stage::Asked, furthest, falls: 0 }
    }

    /// Losses are counted by the management node that is asked, in its present life: numbers of another one are no
    /// news.
    fn change_manager(&mut self, status: &Status) {
        if self.before.role == Role::Management || status.incarnation == self.manager {
            return;
        }
        self.manager = status.incarnation;
        if let Some(node) = status.find(self.before.id) {
            self.before.losses = node.losses;
        }
    }

    /// Looks, so long after it was asked; `None`: no management node answers. An error says why the command fails.
    pub(super) fn look(&mut self, at: Duration, status: Option<&Status>) -> Result<Seen, String> {
        if let Some(status) = status {
            self.change_manager(status);
        }
        let stage = match (self.before.role, status) {
            (Role::Management, _) => self.stage_of_manager(status),
            (Role::Data | Role::Sql, None) => self.stage,
            (Role::Data | Role::Sql, Some(status)) => match status.find(self.before.id) {
                None => return Err(format!("{} is not in config.ini any more", self.before.name())),
                Some(node) => self.stage_of(node, status)?,
            },
        };
        let before = std::mem::replace(&mut self.stage, stage);
        if stage > self.furthest.0 {
            self.furthest = (stage, at);
        }
        if is_fall(before, stage) {
            self.falls += 1;
            if self.falls == FALLS_MAX {
                return Err(format!(
                    "{} has ended {FALLS_MAX} times before it was in sync",
                    self.before.name()
                ));
            }
        }
        let is_done = match self.wanted {
            Wanted::Stop => stage >= Stage::Away,
            Wanted::Restart => stage == Stage::Done,
        };
        if !is_done && at.saturating_sub(self.furthest.1) > self.limit() {
            return Err(self.stuck(at));
        }
        Ok(Seen { news: self.news(at, before, status), is_done })
    }

    fn stage_of_manager(&self, status: Option<&Status>) -> Stage {
        match status {
            None => Stage::Away,
            Some(status) if status.incarnation == self.manager || status.incarnation == 0 => self.stage,
            Some(_) => Stage::Done,
        }
    }

    fn stage_of(&self, node: &NodeStatus, status: &Status) -> Result<Stage, String> {
        let has_gone = node.losses != self.before.losses || self.furthest.0 >= Stage::Away;
        if node.role != Role::Data {
            return Ok(match node.state {
                State::Away => Stage::Away,
                State::Opening if has_gone => Stage::Waiting,
                State::Waiting | State::Copying | State::Started if has_gone => Stage::Done,
                State::Waiting | State::Copying | State::Opening | State::Started => self.stage,
            });
        }
        let is_new = node.incarnation > self.before.incarnation;
        Ok(match node.state {
            State::Away => Stage::Away,
            // The view has left it out, and it is about to end.
            State::Waiting if has_gone => Stage::Waiting,
            State::Waiting => self.stage.max(Stage::Draining),
            State::Copying if is_new => Stage::Copying(node.copied),
            State::Opening if is_new => Stage::Sharing,
            State::Started if is_new && (status.is_even || self.stage == Stage::Done) => Stage::Done,
            State::Started if is_new => Stage::Sharing,
            State::Started if node.is_leaving && node.leads > 0 => Stage::HandingOver,
            State::Started if node.is_leaving => Stage::Draining,
            State::Started if matches!(self.stage, Stage::HandingOver | Stage::Draining) => {
                return Err(format!(
                    "{} stays: it could not hand over what it leads; its log says why",
                    node.name()
                ));
            }
            // It may have gone without anybody looking.
            State::Copying | State::Opening | State::Started => self.stage,
        })
    }

    /// The news that is worth telling.
    fn news(&self, at: Duration, before: Stage, status: Option<&Status>) -> Option<String> {
        let node = status.and_then(|status| status.find(self.before.id));
        let what = match (before, self.stage) {
            (before, now) if before == now => return None,
            (before, now) if is_fall(before, now) => {
                "has ended again before it was in sync; it is started again".to_owned()
            }
            (_, Stage::Asked) => return None,
            (_, Stage::HandingOver) => "hands its primaries over".to_owned(),
            (_, Stage::Draining) => "leads nothing any more; its sessions end".to_owned(),
            (_, Stage::Away) if self.wanted == Wanted::Stop => "has stopped".to_owned(),
            (_, Stage::Away) => "has stopped; its angel starts it again".to_owned(),
            (_, Stage::Waiting) => "is started again".to_owned(),
            (_, Stage::Copying(copied)) => {
                let all = node.map_or(0, |node| node.partitions);
                format!("gets its rows: {copied} of {all} slots")
            }
            (_, Stage::Sharing) => "is in sync".to_owned(),
            (_, Stage::Done) if self.before.role == Role::Data => {
                let leads = node.map_or(0, |node| node.leads);
                format!("is in sync and leads {leads} slots")
            }
            (_, Stage::Done) => "is back".to_owned(),
        };
        Some(format!("{}, {:.1} s: {what}", self.before.name(), at.as_secs_f64()))
    }

    /// How long it may be as far as it is.
    fn limit(&self) -> Duration {
        match self.furthest.0 {
            Stage::Asked if self.before.role == Role::Data => ASKED_LIMIT,
            Stage::Asked | Stage::HandingOver | Stage::Draining => LEAVE_LIMIT,
            Stage::Away | Stage::Waiting => RETURN_LIMIT,
            Stage::Copying(_) => COPY_LIMIT,
            Stage::Sharing | Stage::Done => SHARE_LIMIT,
        }
    }

    /// Why the command fails.
    fn stuck(&self, at: Duration) -> String {
        let (furthest, since) = self.furthest;
        let seconds = at.saturating_sub(since).as_secs();
        let what = match furthest {
            Stage::Asked => "has not begun to stop, its log says why",
            Stage::HandingOver => "has not handed its primaries over",
            Stage::Draining => "has not stopped",
            Stage::Away => {
                "has not come back. Its angel starts it again if it runs (`latsdb data`, `latsdb dev`); else start it"
            }
            Stage::Waiting => "has started, and was not taken in: does it reach all other nodes?",
            Stage::Copying(_) => "gets no rows any more",
            Stage::Sharing => "is in sync, but did not get its share of primaries",
            Stage::Done => "is done",
        };
        format!("{} for {seconds} s: it {what}", self.before.name())
    }
}

/// Whether it was further before: its process has ended since.
fn is_fall(before: Stage, now: Stage) -> bool {
    before > now && before >= Stage::Waiting && now >= Stage::Away
}

#[cfg(test)]
mod tests;
