//! A failover as the nodes' logs tell it: when it was noticed, when the next view was there, when writes were taken
//! again.
//!
//! ```text
//! 2026-11-21T16:05:55.773056Z  INFO node 4: the process of node 3 has ended (incarnation 14)
//! 2026-11-21T16:05:55.781200Z  INFO node 4: view 17, 8144 us after it was wanted; …
//! 2026-11-21T16:05:55.782900Z  INFO node 4: view 17: all slots of 4.ldm0 take writes
//! ```
//! Log lines have the time of the day, clients the machine's monotonic clock; the difference is taken when logs are
//! read.
//!
//! **Invariants.** A moment that a log does not tell is `None`, never a guess. Lines of before the fault are passed
//! over.

use crate::record::now;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::time::Duration;

/// The moments of one failover, on the clock of [`now`], as the nodes that went on have noted them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Story {
    /// The first of them knew that a node is gone.
    pub(super) detected: Option<u64>,
    /// The last data node of them had the view without it.
    pub(super) view: Option<u64>,
    /// The longest write of a control log on the way there.
    pub(super) disk: Option<Duration>,
    /// The last thread of them took writes again.
    pub(super) open: Option<u64>,
}

/// Signs that a node is gone.
const SIGNS: [&str; 3] = [" has ended (incarnation ", " is lost", "asks for a view without node "];

/// Reads it from the logs of the nodes that were not hit; their data nodes are named by what their lines begin with.
pub(super) fn read(logs: &[PathBuf], since: u64) -> Story {
    let offset = wall_clock().saturating_sub(now());
    let text: String = logs.iter().filter_map(|log| std::fs::read_to_string(log).ok()).collect();
    tell(text.lines().filter_map(|line| event(line, offset)).filter(|(at, _)| *at >= since))
}

/// Which of these logs is that of the node that was the last to say that it leads the control plane.
pub(super) fn leader(logs: &[PathBuf]) -> Option<usize> {
    let last = |log: &PathBuf| {
        let text = std::fs::read_to_string(log).ok()?;
        let events = text.lines().filter_map(|line| event(line, 0));
        events.filter(|(_, what)| what.ends_with(" leads the control plane")).map(|(at, _)| at).max()
    };
    let times = logs.iter().enumerate().filter_map(|(index, log)| Some((last(log)?, index)));
    times.max().map(|(_, index)| index)
}

fn tell<'text>(events: impl Iterator<Item = (u64, &'text str)>) -> Story {
    let mut story = Story::default();
    let mut number = None;
    let mut events: Vec<(u64, &str)> = events.collect();
    events.sort_by_key(|(at, _)| *at);
    for (at, what) in events {
        if story.detected.is_none() && SIGNS.iter().any(|sign| what.contains(sign)) {
            story.detected = Some(at);
        }
        let Some((found, rest)) = view(what) else { continue };
        if rest.contains("after it was wanted") && *number.get_or_insert(found) == found {
            story.view = story.view.max(Some(at));
            let disk = rest.rsplit_once(": ").and_then(|(_, tail)| tail.strip_suffix(" us")?.parse().ok());
            story.disk = story.disk.max(disk.map(Duration::from_micros));
        }
        if rest.ends_with(" take writes") && number == Some(found) {
            story.open = story.open.max(Some(at));
        }
    }
    story
}

/// `view 17…`: its number, and what is said of it.
fn view(what: &str) -> Option<(u64, &str)> {
    let rest = what.strip_prefix("view ")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

/// A line's time, and what it says behind the name of its node.
fn event(line: &str, offset: u64) -> Option<(u64, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let (_, what) = rest.split_once(": ")?;
    Some((nanoseconds(time)?.checked_sub(offset)?, what))
}

/// `2026-11-21T16:05:55.773056Z`, since 1970.
fn nanoseconds(time: &str) -> Option<u64> {
    let (date, clock) = time.strip_suffix('Z')?.split_once('T')?;
    let (seconds, fraction) = clock.split_once('.')?;
    let numbers =
        |text: &str, mark| text.split(mark).map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>();
    let (date, clock) = (numbers(date, '-')?, numbers(seconds, ':')?);
    let (&[year, month, day], &[hour, minute, second]) = (date.as_slice(), clock.as_slice()) else {
        return None;
    };
    // Years that begin with March have their leap day last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = (year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day)
        .checked_sub(719_469)?;
    let micros: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000_000 + micros * 1_000)
}

fn wall_clock() -> u64 {
    let time = clock_gettime(ClockId::Realtime);
    u64::try_from(time.tv_sec).unwrap_or_default() * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or_default()
}

#[cfg(test)]
mod tests;
