//! The answer to `get status`, read: what a client that follows a restart must know. The words are explained in `node`,
//! management/status.rs.
//!
//! Invariant: a word that is not known is passed over, one that is missing is zero; so management nodes of another
//! version can be asked, too.

use std::collections::BTreeMap;

/// The role of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Management,
    Data,
    Sql,
}

impl Role {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Management => "management",
            Self::Data => "data",
            Self::Sql => "sql",
        }
    }
}

/// How far a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Not connected.
    Away,
    /// A data node that no view has.
    Waiting,
    /// A data node that gets its rows.
    Copying,
    /// In sync, or connected, and not serving yet.
    Opening,
    /// Rows can be read through it; of management nodes: connected.
    Started,
}

/// One configured node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NodeStatus {
    pub(super) id: u16,
    pub(super) role: Role,
    pub(super) state: State,
    /// Its life in the view.
    pub(super) incarnation: u64,
    /// How often its link to the management node was lost.
    pub(super) losses: u64,
    /// Partitions of which it is the primary.
    pub(super) leads: u64,
    pub(super) is_leaving: bool,
    pub(super) copied: u64,
    pub(super) partitions: u64,
    /// Why it may not stop just now.
    pub(super) refusal: Option<String>,
}

impl NodeStatus {
    /// As people call it.
    pub(super) fn name(&self) -> String {
        format!("node {} ({})", self.id, self.role.name())
    }
}

/// A cluster, as one management node sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Status {
    pub(super) name: String,
    /// The management node that answered, and its life.
    pub(super) node: u16,
    pub(super) incarnation: u64,
    /// Primaries are spread evenly over all members in sync.
    pub(super) is_even: bool,
    /// Voters, and whether each is connected.
    pub(super) voters: Vec<(u16, bool)>,
    pub(super) nodes: Vec<NodeStatus>,
}

impl Status {
    /// Reads an answer; `None` if it is none.
    pub(super) fn parse(lines: &[String]) -> Option<Self> {
        let words = words(lines.first()?.strip_prefix("cluster ")?);
        let mut status = Self {
            name: text(&words, "name"),
            node: u16::try_from(number(&words, "node")).ok()?,
            incarnation: number(&words, "incarnation"),
            is_even: number(&words, "even") == 1,
            voters: Vec::new(),
            nodes: Vec::new(),
        };
        for line in &lines[1..] {
            if let Some(rest) = line.strip_prefix("voter ") {
                let words = self::words(rest);
                if number(&words, "votes") == 1 {
                    let node = u16::try_from(number(&words, "node")).ok()?;
                    status.voters.push((node, number(&words, "up") == 1));
                }
            } else if let Some(rest) = line.strip_prefix("node ") {
                status.nodes.push(parse_node(&self::words(rest))?);
            }
        }
        Some(status)
    }

    pub(super) fn find(&self, id: u16) -> Option<&NodeStatus> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// All nodes serve.
    pub(super) fn has_started(&self) -> bool {
        self.nodes.iter().all(|node| node.state == State::Started)
    }

    /// The conditions that are missing until all is as it should be; `voter_count` voters are wanted. SQL nodes may be
    /// away: nobody needs them.
    pub(super) fn missing(&self, voter_count: usize) -> Vec<String> {
        let mut missing = Vec::new();
        for node in self.nodes.iter().filter(|node| node.role != Role::Sql) {
            match node.state {
                State::Away => missing.push(format!("{} is not connected", node.name())),
                State::Waiting => missing.push(format!("{} waits to be taken in", node.name())),
                State::Copying => missing.push(format!("{} is being copied to", node.name())),
                State::Opening => missing.push(format!("{} does not serve yet", node.name())),
                State::Started if node.is_leaving => {
                    missing.push(format!("{} is about to stop", node.name()));
                }
                State::Started => {}
            }
        }
        let there = self.voters.iter().filter(|(_, is_up)| *is_up).count();
        if there < voter_count.max(self.voters.len()) && missing.is_empty() {
            missing.push(format!("{there} of {} voters are connected", voter_count.max(self.voters.len())));
        }
        missing
    }
}

type Words<'line> = BTreeMap<&'line str, &'line str>;

/// `key=value` words; the value of `name` and `refusal` goes to the end.
fn words(line: &str) -> Words<'_> {
    let mut words = BTreeMap::new();
    let mut rest = line;
    while let Some((key, behind)) = rest.split_once('=') {
        let key = key.trim();
        let (value, next) = match key {
            "name" | "refusal" => (behind, ""),
            _ => behind.split_once(' ').unwrap_or((behind, "")),
        };
        words.insert(key, value);
        rest = next;
    }
    words
}

fn number(words: &Words<'_>, key: &str) -> u64 {
    words.get(key).and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn text(words: &Words<'_>, key: &str) -> String {
    words.get(key).map_or_else(String::new, |value| (*value).to_owned())
}

fn parse_node(words: &Words<'_>) -> Option<NodeStatus> {
    Some(NodeStatus {
        id: u16::try_from(number(words, "id")).ok()?,
        role: match words.get("role").copied()? {
            "management" => Role::Management,
            "data" => Role::Data,
            "sql" => Role::Sql,
            _ => return None,
        },
        state: match words.get("state").copied()? {
            "away" => State::Away,
            "waiting" => State::Waiting,
            "copying" => State::Copying,
            "opening" => State::Opening,
            "started" => State::Started,
            _ => return None,
        },
        incarnation: number(words, "incarnation"),
        losses: number(words, "losses"),
        leads: number(words, "leads"),
        is_leaving: number(words, "leaving") == 1,
        copied: number(words, "copied"),
        partitions: number(words, "partitions"),
        refusal: words.get("refusal").map(|why| (*why).to_owned()),
    })
}

#[cfg(test)]
pub(super) mod tests;
