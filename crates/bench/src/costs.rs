//! `latsdb bench costs`: what the steps of an operation take on this machine, in nanoseconds.
//!
//! | file | costs | production code that runs |
//! | --- | --- | --- |
//! | `costs/echo` | hop, wake, delay, receive, send, kilobyte | rings; the runtime with wakers and sockets; framing |
//! | `costs/rows` | read, keys, scan, stage, apply | storage |
//! | `costs/instructions` | a thousand counted instructions of an operation | a cluster with its clients |
//!
//! How many steps an operation has is counted, not timed (`counts`). The model multiplies both.
//!
//! **Invariants.** All costs are written, or none. Each is measured for itself, and none is adapted to what the model
//! should give. Costs that are differences of two measurements are never negative.
//!
//! **Deliberately not here**: what follows from costs (`model`).

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod echo;
mod instructions;
mod rows;

/// The options of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program whose `dev` is started.
    pub binary: PathBuf,
    /// Gets costs.txt, costs.json and the directory of the cluster.
    pub folder: PathBuf,
    /// How long each measurement lasts.
    pub time: Duration,
}

/// The cost of a row for its reader or writer, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RowCost {
    /// In a table that the CPU's caches hold.
    pub cached: f64,
    /// In a table that they do not hold, at any place of it.
    pub memory: f64,
}

impl RowCost {
    /// The time that waiting for memory adds.
    #[must_use]
    pub fn miss(&self) -> f64 {
        (self.memory - self.cached).max(0.0)
    }
}

/// All costs, in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Costs {
    /// Where they were measured.
    pub machine: String,
    /// A parcel goes through a ring to another thread, both ends together.
    pub hop: f64,
    /// A thread that sleeps is woken: CPU time of both threads.
    pub wake: f64,
    /// How much later it runs, if a CPU is free.
    pub delay: f64,
    /// The kernel gives a client's packet to the thread that has waited for it.
    pub receive: f64,
    /// The kernel takes an answer of a small row.
    pub send: f64,
    /// The same for each KiB more.
    pub kilobyte: f64,
    /// A lookup of one key.
    pub read: RowCost,
    /// A lookup of a key among others at once.
    pub keys: RowCost,
    /// A row of a short range.
    pub scan: RowCost,
    /// A version is staged and committed by the primary.
    pub stage: RowCost,
    /// A version is applied and committed by a backup.
    pub apply: RowCost,
    /// Time for a thousand counted instructions of an operation, by its name.
    pub instructions: BTreeMap<String, f64>,
}

/// Measures all costs; writes them as text and as JSON, and gives them.
pub fn run(options: &Options, stop: &AtomicBool, say: &(dyn Fn(&str) + Sync)) -> Result<Costs, String> {
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let mut costs = Costs { machine: machine(), ..Costs::default() };
    rows::measure(options.time, &mut costs)?;
    say("rows: measured");
    echo::measure(options.time, &mut costs)?;
    say("threads and packets: measured");
    costs.instructions = instructions::measure(options, &costs, stop)?;
    say("instructions: measured");
    costs.write(&options.folder)?;
    say(&costs.text());
    Ok(costs)
}

impl Costs {
    fn single(&self) -> [(&'static str, f64, &'static str); 6] {
        [
            ("hop", self.hop, "a parcel to another thread, both ends"),
            ("wake", self.wake, "a sleeping thread is woken: CPU time of both threads"),
            ("delay", self.delay, "until it runs on a CPU that is free"),
            ("receive", self.receive, "a client's packet, by the kernel"),
            ("send", self.send, "an answer of one row, by the kernel"),
            ("kilobyte", self.kilobyte, "each KiB more of an answer"),
        ]
    }

    fn rows(&self) -> [(&'static str, RowCost, &'static str); 5] {
        [
            ("read", self.read, "a lookup of one key"),
            ("keys", self.keys, "a lookup of a key among 16"),
            ("scan", self.scan, "a row of a range of 100"),
            ("stage", self.stage, "a version staged and committed by the primary"),
            ("apply", self.apply, "a version applied and committed by a backup"),
        ]
    }

    /// For a person.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("measured ({}), in nanoseconds\n\n", self.machine);
        // Writing into a String can't fail, here and below.
        for (name, value, what) in self.single() {
            let _ = writeln!(text, "{name:<14} {value:>10.0}            {what}");
        }
        let _ = writeln!(text, "\n{:<14} {:>10} {:>10}", "row", "in cache", "in memory");
        for (name, cost, what) in self.rows() {
            let _ = writeln!(text, "{name:<14} {:>10.0} {:>10.0} {what}", cost.cached, cost.memory);
        }
        let _ = writeln!(text, "\na thousand counted instructions");
        for (name, value) in &self.instructions {
            let _ = writeln!(text, "{name:<14} {value:>10.1}");
        }
        text
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let single: BTreeMap<&str, f64> = self.single().map(|(name, value, _)| (name, value)).into();
        let row = |cost: RowCost| json!({ "cached": cost.cached, "memory": cost.memory });
        let rows: BTreeMap<&str, Value> = self.rows().map(|(name, cost, _)| (name, row(cost))).into();
        json!({
            "measured": self.machine,
            "unit": "ns",
            "steps": single,
            "rows": rows,
            "instructions": self.instructions,
        })
    }

    fn write(&self, folder: &Path) -> Result<(), String> {
        crate::put(folder, "costs.txt", &self.text())?;
        crate::put(folder, "costs.json", &format!("{:#}\n", self.json()))
    }

    /// Reads what [`run`] has written.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::of_json(&value).ok_or_else(|| format!("{}: not a file of `bench costs`", path.display()))
    }

    fn of_json(value: &Value) -> Option<Self> {
        let step = |name: &str| value["steps"][name].as_f64();
        let row = |name: &str| {
            let row = &value["rows"][name];
            Some(RowCost { cached: row["cached"].as_f64()?, memory: row["memory"].as_f64()? })
        };
        let instructions = value["instructions"].as_object()?.iter();
        Some(Self {
            machine: value["measured"].as_str()?.to_owned(),
            hop: step("hop")?,
            wake: step("wake")?,
            delay: step("delay")?,
            receive: step("receive")?,
            send: step("send")?,
            kilobyte: step("kilobyte")?,
            read: row("read")?,
            keys: row("keys")?,
            scan: row("scan")?,
            stage: row("stage")?,
            apply: row("apply")?,
            instructions: instructions
                .map(|(name, value)| Some((name.clone(), value.as_f64()?)))
                .collect::<Option<_>>()?,
        })
    }

    /// The same with hop, wake and misses so many times as expensive.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let row = |cost: RowCost| RowCost { cached: cost.cached, memory: cost.cached + cost.miss() * factor };
        Self {
            hop: self.hop * factor,
            wake: self.wake * factor,
            delay: self.delay * factor,
            read: row(self.read),
            keys: row(self.keys),
            scan: row(self.scan),
            stage: row(self.stage),
            apply: row(self.apply),
            ..self.clone()
        }
    }
}

/// The CPU's name, and how many there are.
pub(crate) fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':')).map_or("an unknown CPU", |(_, name)| name.trim());
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {cpus} CPUs")
}

#[cfg(test)]
mod tests;
