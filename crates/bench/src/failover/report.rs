//! The effects of injections on clients, as figures.

use super::story::Story;
use crate::timeline::percentile;
use serde_json::json;
use std::fmt::Write as _;
use std::time::Duration;

/// One injection.
#[derive(Clone, Debug, Default)]
pub struct Injection {
    pub fault: String,
    pub victim: String,
    /// The longest gap of any client that writes, and of any that reads, whose home is another node than the victim.
    pub survivor_write: Duration,
    pub survivor_read: Duration,
    /// The same of clients whose home is the victim: they have to connect to another node first.
    pub victim_write: Duration,
    pub victim_read: Duration,
    /// When the longest gap of a writer began, from the fault on.
    pub gap_after: Duration,
    /// Transactions per second of the survivors' loads in the second before the fault, and in the one behind the gap.
    pub pace_before: usize,
    pub pace_after: usize,
    /// 99th percentile of their latency in the same seconds.
    pub latency_before: Duration,
    pub latency_after: Duration,
    /// The same while the node comes back.
    pub latency_rejoin: Duration,
    /// When the fault was injected, and when the last of the survivors' writers went on behind the next view.
    pub at: u64,
    pub first_write: Option<u64>,
    /// The story that the nodes' logs tell.
    pub(super) story: Story,
    /// From the fault until every node had all rows again.
    pub rejoin: Option<Duration>,
    /// The longest gap of a survivor's write from the end of the first gap until then.
    pub rejoin_gap: Duration,
    /// When it began, from the fault on.
    pub rejoin_gap_after: Duration,
    /// Clients that had no success until the end of the time that was given.
    pub starved: usize,
    /// Statements and transactions that failed meanwhile; and how often a client was sent to another node between two
    /// of them.
    pub failed: u64,
    pub moved: u64,
}

impl Injection {
    /// From the fault until a node noticed it.
    fn detection(&self) -> Option<Duration> {
        since(self.at, self.story.detected)
    }

    /// From then until the next view was there; until all threads took writes; until a client had written.
    fn until_view(&self) -> Option<Duration> {
        since(self.story.detected?, self.story.view)
    }

    fn until_open(&self) -> Option<Duration> {
        since(self.story.detected?, self.story.open)
    }

    fn until_write(&self) -> Option<Duration> {
        self.story.view?;
        since(self.story.detected?, self.first_write)
    }

    /// A line of JSON.
    #[must_use]
    pub fn json(&self, cluster: &str) -> String {
        // In microseconds, and not in a dozen digits of what no clock tells.
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        json!({
            "cluster": cluster,
            "fault": self.fault,
            "victim": self.victim,
            "survivor_write_ms": ms(self.survivor_write),
            "survivor_read_ms": ms(self.survivor_read),
            "victim_write_ms": ms(self.victim_write),
            "victim_read_ms": ms(self.victim_read),
            "gap_after_ms": ms(self.gap_after),
            "pace_before": self.pace_before,
            "pace_after": self.pace_after,
            "latency_before_ms": ms(self.latency_before),
            "latency_after_ms": ms(self.latency_after),
            "rejoin_ms": self.rejoin.map(ms),
            "rejoin_gap_ms": ms(self.rejoin_gap),
            "latency_rejoin_ms": ms(self.latency_rejoin),
            "detection_ms": self.detection().map(ms),
            "view_ms": self.until_view().map(ms),
            "disk_ms": self.story.disk.map(ms),
            "open_ms": self.until_open().map(ms),
            "first_write_ms": self.until_write().map(ms),
            "failed": self.failed,
            "moved": self.moved,
            "starved": self.starved,
        })
        .to_string()
    }

    /// A line for a person who waits.
    #[must_use]
    pub fn line(&self) -> String {
        let ms = milliseconds;
        let rejoin =
            self.rejoin.map_or_else(|| "not back".to_owned(), |time| format!("in sync after {}", ms(time)));
        let starved =
            if self.starved > 0 { format!(", {} clients starved", self.starved) } else { String::new() };
        let story = match (self.detection(), self.until_view(), self.until_open(), self.until_write()) {
            (Some(detected), Some(view), Some(open), Some(write)) => format!(
                "; noticed after {}, view {} later (disk {}), open {}, first write {}",
                ms(detected),
                ms(view),
                ms(self.story.disk.unwrap_or_default()),
                ms(open),
                ms(write)
            ),
            _ => String::new(),
        };
        format!(
            "{} of {}: survivors' writes {}, reads {}; the victim's {}, {}; the longest began after {}; pace {} → {}/s, p99 {} → {}; {rejoin}, gap {} after {}, p99 {}; {} failed, {} moved{story}{starved}",
            self.fault,
            self.victim,
            ms(self.survivor_write),
            ms(self.survivor_read),
            ms(self.victim_write),
            ms(self.victim_read),
            ms(self.gap_after),
            self.pace_before,
            self.pace_after,
            ms(self.latency_before),
            ms(self.latency_after),
            ms(self.rejoin_gap),
            ms(self.rejoin_gap_after),
            ms(self.latency_rejoin),
            self.failed,
            self.moved,
        )
    }
}

/// From one moment to another that has come.
fn since(from: u64, until: Option<u64>) -> Option<Duration> {
    until.map(|until| Duration::from_nanos(until.saturating_sub(from)))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Figures of one kind of fault: a heading, and the value of an injection.
type Column = (&'static str, fn(&Injection) -> Duration);

const COLUMNS: &[Column] = &[
    ("write, other node", |injection| injection.survivor_write),
    ("read, other node", |injection| injection.survivor_read),
    ("write, victim's client", |injection| injection.victim_write),
    ("read, victim's client", |injection| injection.victim_read),
    ("write during rejoin", |injection| injection.rejoin_gap),
    ("in sync again", |injection| injection.rejoin.unwrap_or_default()),
];

/// A table in Markdown: a line for each kind of fault, p50 / p99 / max of each gap.
#[must_use]
pub(super) fn table(injections: &[Injection]) -> String {
    let mut text = String::from("| fault | injections |");
    for (heading, _) in COLUMNS {
        let _ = write!(text, " {heading} |");
    }
    text.push_str(" pace in the next second | its p99 | failed |\n|---|---:|");
    text.push_str(&"---:|".repeat(COLUMNS.len() + 3));
    let mut names: Vec<&str> = Vec::new();
    for injection in injections {
        if !names.contains(&injection.fault.as_str()) {
            names.push(&injection.fault);
        }
    }
    for name in names {
        let of_name: Vec<&Injection> =
            injections.iter().filter(|injection| injection.fault == name).collect();
        let _ = write!(text, "\n| {name} | {} |", of_name.len());
        for (_, value) in COLUMNS {
            let mut values: Vec<Duration> = of_name.iter().map(|injection| value(injection)).collect();
            values.sort_unstable();
            let ms = |percent| percentile(&values, percent).as_secs_f64() * 1e3;
            let _ = match values.iter().all(Duration::is_zero) {
                // Nobody's: the management node has no clients, for instance.
                true => write!(text, " – |"),
                false => write!(text, " {:.1} / {:.1} / {:.1} ms |", ms(50), ms(99), ms(100)),
            };
        }
        let pace =
            median(&of_name, |injection| ratio(injection.pace_after as u64, injection.pace_before as u64));
        let latency = median(&of_name, |injection| {
            let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            ratio(micros(injection.latency_after), micros(injection.latency_before))
        });
        let failed: u64 = of_name.iter().map(|injection| injection.failed).sum();
        let _ = write!(text, " {pace} % | {:.1} × | {failed} |", f64::from(latency) / 100.0);
    }
    text.push('\n');
    text
}

/// In percent; 0 of nothing.
fn ratio(after: u64, before: u64) -> u32 {
    let percent = (after * 100).checked_div(before).unwrap_or_default();
    u32::try_from(percent).unwrap_or(u32::MAX)
}

fn median(injections: &[&Injection], value: impl Fn(&Injection) -> u32) -> u32 {
    let mut values: Vec<u32> = injections.iter().map(|injection| value(injection)).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
