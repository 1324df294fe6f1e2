//! Transcripts of the commit protocol: commands in, one line per signal out.
//!
//! The folder `testscripts` is the list of cases. A script is blocks of commands, each followed by `---` and by what
//! came of them; `UPDATE_GOLDEN=1` writes what came instead of comparing it (read the difference before you commit it).
//!
//! **Names.** `nodes 3` starts data nodes 1 to 3, each with a replica of everything; node 4 has the sessions. `1a`,
//! `1b` are rows of the slot that node 1 leads in the first view, `2a` is one of node 2's. A number behind a command is
//! a transaction; `t1` is transaction 1.
//!
//! **Commands of a session** go to the primary that the newest view names: `write 1 1a 1b`, `delete 1 1a`, `lock 1 1a`,
//! `share 1 1a`, `commit 1`, `abort 1`, `ask 1`, `confirm 1`. The first four may end with `wait`. A write may have
//! `large` rows and may end with `commit`. With `commit 1 via 3` node 3 coordinates.
//!
//! **Commands about the cluster**: `hold Applied from 2` keeps such signals back (`to 2`, or neither); `release` lets
//! them go, `lose` drops them. `crash 2` ends a node. `without 2 heir 1`, `lead 2`, `join 3` and `synced 3` make the
//! next view, which all live nodes use; with `at 1 3` only these do, and `install 2` brings another one up. `settle`:
//! every node uses the view. `keep 2` says that the disk of a node has the rows that the node has: its next life begins
//! with them. `full 2` leaves a node's memory no room for what is replicated. `expired 1` and
//! `granted 1` take and give a primary's lease. `pass 1000` lets milliseconds pass.
//!
//! **Questions**: `rows` prints what is committed where; `idle` says whether anything is left.
//!
//! **Lines.** `1.ldm0 -> 2.ldm0 Replicate t1 #1 1a`: sender, receiver, signal, and what is essential of it. `(void)`
//! was dropped because it is of an older view; `(early)` waits for a newer one; `(lost)` is for a node that is dead. A
//! module's signals to itself, probes of transactions that wait for nobody, and signals about slots that the script
//! does not name are left out: they say how, not what.

use super::essence::{self, Names, essence};
use super::nodes::{Delivered, Nodes, SESSION, WAIT, tc};
use memory::Urgency;
use protocol::program::{Access, LockMode, LockWait, WriteOperation};
use protocol::signal::{CoordinateRequest, Participant, ReadRequest, RequestId, WriteRequest};
use protocol::{Address, Envelope, ModuleKind, Signal};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use stdx::{Duration, Instant};
use types::{Epoch, NodeId, SlotId, TransactionId, ViewNumber};

/// Bytes of a large row: a full node has no room for it.
const LARGE_ROW: usize = 900 << 10;

/// A line of a script that is kept back: signals of this name, between these nodes.
#[derive(Clone, Debug)]
struct Held {
    signal: String,
    from: Option<NodeId>,
    to: Option<NodeId>,
}

impl Held {
    fn has(&self, envelope: &Envelope) -> bool {
        essence::name(&envelope.signal) == self.signal
            && self.from.is_none_or(|from| from == envelope.from.node)
            && self.to.is_none_or(|to| to == envelope.to.node)
    }
}

/// A running script.
struct Script {
    all: Nodes,
    names: Names,
    /// The sessions' knowledge of their transactions.
    transactions: BTreeMap<u64, Vec<Participant>>,
    /// Slots where a transaction waits.
    waits: BTreeMap<u64, SlotId>,
    held: Vec<Held>,
    count: u16,
    output: String,
}

impl Script {
    fn new(count: u16) -> Self {
        Self {
            all: Nodes::new(count),
            names: Names::default(),
            transactions: BTreeMap::new(),
            waits: BTreeMap::new(),
            held: Vec::new(),
            count,
            output: String::new(),
        }
    }

    /// The row of a name: the leader of its slot in the first view, and a letter.
    fn row(&mut self, name: &str) -> (i64, SlotId) {
        let (leader, letter) = name.split_at(1);
        let slot = match leader {
            "1" => self.all.slot,
            "2" => self.all.slot_of_second(),
            _ => panic!("no row {name}: rows are of node 1 or 2"),
        };
        let index = usize::from(letter.as_bytes()[0] - b'a');
        let id = self.all.ids_in(slot, index + 1)[index];
        self.names.add(name, (id, slot), self.all.key(id));
        (id, slot)
    }

    fn primary(&self, slot: SlotId) -> Address {
        self.all.view.primary(slot).expect("a primary")
    }

    /// The number of operations in a slot that the session of a transaction knows of.
    fn known(&self, transaction: u64, slot: SlotId) -> u32 {
        let participants = self.transactions.get(&transaction).into_iter().flatten();
        participants
            .filter(|participant| participant.slot == slot)
            .map(|participant| participant.operations)
            .sum()
    }

    /// A session has used a slot.
    fn use_slot(&mut self, transaction: u64, slot: SlotId, writes: bool) {
        let view = self.all.view.number;
        let participants = self.transactions.entry(transaction).or_default();
        match participants.iter_mut().find(|participant| participant.slot == slot) {
            Some(participant) => participant.has_writes |= writes,
            None => participants.push(Participant { slot, operations: 0, view, has_writes: writes }),
        }
    }

    fn set_operations(&mut self, request: RequestId, operations: u32, slots: &[SlotId]) {
        for participant in self.transactions.get_mut(&request.0).into_iter().flatten() {
            if slots.contains(&participant.slot) {
                participant.operations = operations;
            }
        }
    }

    fn send(&mut self, to: Address, signal: Signal) {
        self.all.send(SESSION, to, signal);
    }

    // ---- delivery ---------------------------------------------------------------------------------------------------

    /// Delivers everything that is not held back, a line each.
    fn run(&mut self) {
        let mut kept = Vec::new();
        while let Some(envelope) = self.all.take_next() {
            if self.held.iter().any(|held| held.has(&envelope)) {
                kept.push(envelope);
            } else {
                self.deliver(envelope);
            }
        }
        self.all.queue.extend(kept);
    }

    fn deliver(&mut self, envelope: Envelope) {
        let (line, node) = (self.line(&envelope), envelope.to.node);
        if envelope.to.kind == ModuleKind::Sql {
            self.hear(&envelope);
        }
        let ended = self.all.ended.len();
        let remark = match self.all.deliver(envelope) {
            Delivered::Handled => "",
            Delivered::Void => " (void)",
            Delivered::Early => " (early)",
            Delivered::ToNobody => " (lost)",
        };
        if let Some(line) = line {
            writeln!(self.output, "{line}{remark}").expect("a string");
        }
        if self.all.ended.len() > ended {
            writeln!(self.output, "{node} ends").expect("a string");
        }
    }

    /// A session learns how many operations a participant holds. It passes a probe on to where the transaction waits.
    fn hear(&mut self, envelope: &Envelope) {
        let slots: Vec<SlotId> = self
            .names
            .slots()
            .into_iter()
            .filter(|slot| self.all.view.primary(*slot) == Some(envelope.from))
            .collect();
        match &envelope.signal {
            Signal::ProbeSession(probe) => {
                if let Some(slot) = self.waits.get(&probe.transaction.0) {
                    self.send(self.primary(*slot), Signal::ProbeWait(*probe));
                }
            }
            Signal::WriteDone(done) => {
                self.waits.remove(&done.request.0);
                if let Ok(summary) = &done.result {
                    self.set_operations(done.request, summary.operations, &slots);
                }
            }
            Signal::ReadDone(done) => {
                self.waits.remove(&done.request.0);
                if let Ok(batch) = &done.result {
                    self.set_operations(done.request, batch.operations, &slots);
                }
            }
            _ => {}
        }
    }

    fn line(&self, envelope: &Envelope) -> Option<String> {
        if envelope.from == envelope.to {
            return None;
        }
        if let Signal::ProbeSession(probe) = &envelope.signal
            && !self.waits.contains_key(&probe.transaction.0)
        {
            return None;
        }
        let essence = essence(&envelope.signal, &self.names)?;
        let name = essence::name(&envelope.signal);
        Some(format!("{} -> {} {name} {essence}", envelope.from, envelope.to).trim_end().to_owned())
    }

    // ---- commands ---------------------------------------------------------------------------------------------------

    fn command(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (command, rest) = words.split_first().expect("a command");
        if !self.session_command(command, rest) && !self.cluster_command(command, rest) {
            panic!("no such command: {line}");
        }
        self.run();
    }

    fn session_command(&mut self, command: &str, words: &[&str]) -> bool {
        let transaction = words.first().and_then(|word| word.parse().ok()).unwrap_or(0);
        let words = words.get(1..).unwrap_or_default();
        match command {
            "write" | "delete" => self.write(transaction, command == "delete", words),
            "lock" => self.lock(transaction, LockMode::Exclusive, words),
            "share" => self.lock(transaction, LockMode::Shared, words),
            "commit" => self.commit(transaction, words),
            "abort" | "ask" => {
                let participants = self.transactions.get(&transaction).cloned().unwrap_or_default();
                for Participant { slot, .. } in participants {
                    let (request, transaction) = (RequestId(transaction), TransactionId(transaction));
                    let ask = Signal::OutcomeAsk { request, transaction, slot, is_write: false };
                    let abort = Signal::Abort { transaction, slot };
                    self.send(self.primary(slot), if command == "ask" { ask } else { abort });
                }
            }
            "confirm" => {
                let transaction = TransactionId(transaction);
                self.send(tc(1), Signal::Confirm { transaction });
            }
            _ => return false,
        }
        true
    }

    /// One request for each slot of the rows.
    fn write(&mut self, transaction: u64, deletes: bool, words: &[&str]) {
        let mut by_slot: BTreeMap<SlotId, Vec<WriteOperation>> = BTreeMap::new();
        for name in words.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            let (id, slot) = self.row(name);
            let delete = WriteOperation::Delete { key: self.all.key(id), filter: None };
            let blob = if words.contains(&"large") { LARGE_ROW } else { 10 };
            let operation = if deletes { delete } else { self.all.put(id, blob) };
            by_slot.entry(slot).or_default().push(operation);
        }
        for (slot, operations) in by_slot {
            let request = WriteRequest {
                slot,
                operations: operations.into(),
                wait: if words.contains(&"wait") { WAIT } else { LockWait::NoWait },
                commit: words.contains(&"commit").then_some(Epoch(0)),
                known: self.known(transaction, slot),
                ..self.all.write(transaction, &[])
            };
            self.use_slot(transaction, slot, true);
            self.waits.insert(transaction, slot);
            self.send(self.primary(slot), Signal::Write(Box::new(request)));
        }
    }

    fn lock(&mut self, transaction: u64, mode: LockMode, words: &[&str]) {
        let (id, slot) = self.row(words[0]);
        let wait = if words.contains(&"wait") { WAIT } else { LockWait::NoWait };
        let access = Access::Keys(vec![self.all.key(id)]);
        let known = self.known(transaction, slot);
        let request = ReadRequest { slot, access, known, ..self.all.lock(transaction, id, (mode, wait)) };
        self.use_slot(transaction, slot, false);
        self.waits.insert(transaction, slot);
        self.send(self.primary(slot), Signal::Read(Box::new(request)));
    }

    /// At the only participant, or over a coordinator.
    fn commit(&mut self, transaction: u64, words: &[&str]) {
        let participants = self.transactions.get(&transaction).cloned().expect("it has done something");
        let coordinator = words.get(1).map_or(1, |node| node.parse().expect("a node"));
        if let ([participant], []) = (participants.as_slice(), words) {
            let Signal::CommitOne(mut request) = self.all.commit(transaction, 0) else { return };
            request.participant = *participant;
            self.send(self.primary(participant.slot), Signal::CommitOne(request));
            return;
        }
        let request = CoordinateRequest {
            request: RequestId(transaction),
            transaction: TransactionId(transaction),
            participants,
            epoch_seen: Epoch(0),
        };
        self.send(tc(coordinator), Signal::Coordinate(Box::new(request)));
    }

    fn cluster_command(&mut self, command: &str, words: &[&str]) -> bool {
        let node = || words.first().and_then(|word| word.parse().ok()).expect("a node");
        match command {
            "hold" => {
                let after = |what: &str| {
                    let at = words.iter().position(|word| *word == what)?;
                    words.get(at + 1)?.parse().ok().map(NodeId)
                };
                self.held.push(Held { signal: words[0].to_owned(), from: after("from"), to: after("to") });
            }
            "release" => self.held.clear(),
            "lose" => {
                let held = std::mem::take(&mut self.held);
                self.all.lose(|envelope| held.iter().any(|held| held.has(envelope)));
            }
            "crash" => {
                self.all.ended.insert(node(), 0);
            }
            "keep" => self.all.keep(node()),
            "without" | "lead" | "join" | "synced" => self.next_view(command, node(), words),
            "install" => self.install(words),
            "settle" => {
                self.all.settle();
            }
            "full" => self.all.fill_memory(node(), Urgency::Replica),
            "expired" => self.all.lease_until(node(), Instant(0)),
            "granted" => self.all.lease_until(node(), Instant::FAR_FUTURE),
            "pass" => self.pass(Duration::from_millis(u64::from(node()))),
            "rows" => self.print_rows(),
            "idle" => {
                let left: Vec<String> = self.all.busy().iter().map(u16::to_string).collect();
                let text = if left.is_empty() {
                    "nothing is left".to_owned()
                } else {
                    format!("busy: {}", left.join(", "))
                };
                writeln!(self.output, "{text}").expect("a string");
            }
            _ => return false,
        }
        true
    }

    fn next_view(&mut self, command: &str, node: u16, words: &[&str]) {
        match command {
            "without" => {
                self.all.leave_out(node, words[2].parse().expect("an heir"));
                let groups = &mut self.all.view.groups;
                groups.iter_mut().for_each(|group| group.joining.retain(|member| *member != NodeId(node)));
            }
            "lead" => self.all.hand_over_to(node),
            "join" => {
                self.all.ended.remove(&node);
                self.all.let_join(node);
                self.all.begin_again(node);
            }
            _ => {
                self.all.view.number = ViewNumber(self.all.view.number.0 + 1);
                for group in &mut self.all.view.groups {
                    group.joining.retain(|member| *member != NodeId(node));
                    group.in_sync.push(NodeId(node));
                }
            }
        }
        match words.iter().position(|word| *word == "at") {
            Some(at) => self.install(&words[at + 1..]),
            None => {
                let members = (1..=self.count).filter(|id| self.all.view.is_member(NodeId(*id)));
                let members: Vec<String> = members.map(|id| id.to_string()).collect();
                self.install(&members.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }

    /// Members that live use the newest view.
    fn install(&mut self, words: &[&str]) {
        for node in words {
            let node = node.parse().expect("a node");
            if !self.all.ended.contains_key(&node) {
                self.all.install(node);
            }
        }
    }

    /// Time passes in steps, and all live members look at their deadlines.
    fn pass(&mut self, time: Duration) {
        let end = self.all.later(time);
        while self.all.pass_to_deadline(end) {
            self.run();
        }
    }

    fn print_rows(&mut self) {
        let rows: Vec<(String, i64, SlotId)> = self.names.rows();
        for node in (1..=self.count).filter(|node| !self.all.ended.contains_key(node)) {
            let committed = rows.iter().filter(|(_, id, slot)| self.all.has_committed(node, *id, *slot));
            let committed: Vec<&str> = committed.map(|(name, ..)| name.as_str()).collect();
            let text = if committed.is_empty() { "-".to_owned() } else { committed.join(" ") };
            writeln!(self.output, "{node}: {text}").expect("a string");
        }
    }
}

// ---- files ----------------------------------------------------------------------------------------------------------

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testscripts")
}

/// All cases, by the name of their file in the folder.
fn cases() -> Vec<String> {
    let mut cases = Vec::new();
    for topic in std::fs::read_dir(folder()).expect("the folder of cases") {
        let topic = topic.expect("a folder").path();
        for case in std::fs::read_dir(&topic).expect("a folder") {
            let case = case.expect("a file").path();
            let case = case.strip_prefix(folder()).expect("inside").to_str().expect("a name").to_owned();
            cases.push(case);
        }
    }
    cases.sort();
    cases
}

/// The script with what comes of it now: its comments and commands as they are.
fn played(text: &str) -> String {
    let mut script: Option<Script> = None;
    let mut written = String::new();
    let mut is_output = false;
    for line in text.lines() {
        if is_output {
            is_output = !line.is_empty();
        } else if line == "---" {
            let output = script.as_mut().map(|script| std::mem::take(&mut script.output)).unwrap_or_default();
            writeln!(written, "---\n{output}").expect("a string");
            is_output = true;
        } else {
            writeln!(written, "{line}").expect("a string");
            let command = line.split('#').next().unwrap_or_default().trim();
            match (command.strip_prefix("nodes "), &mut script) {
                _ if command.is_empty() => {}
                (Some(count), _) => script = Some(Script::new(count.trim().parse().expect("a number"))),
                (None, Some(script)) => script.command(command),
                (None, None) => panic!("the first command is not `nodes`: {command}"),
            }
        }
    }
    format!("{}\n", written.trim_end())
}

/// Plays a case and compares it with what is written; or writes it, if that is wanted.
#[expect(clippy::disallowed_methods, reason = "a wanted transcript is written into the sources")]
pub(crate) fn play(case: &str) {
    let path = folder().join(case);
    let text = std::fs::read_to_string(&path).expect("a case");
    let played = played(&text);
    if std::env::var_os("UPDATE_GOLDEN").is_some() && !cfg!(feature = "mutants") {
        std::fs::write(&path, &played).expect("a file that can be written");
        return;
    }
    assert_eq!(played, text, "{case}: UPDATE_GOLDEN=1 writes what comes now");
}

#[test]
fn transcripts_are_as_written() {
    let cases = cases();
    assert!(cases.len() > 20, "{cases:?}");
    for case in &cases {
        play(case);
    }
}
