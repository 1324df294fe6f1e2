//! TPC-H: the 22 queries on one server or on two, timed, and the rows of both compared.
//!
//! Each query runs in turn on all servers, as many rounds as are asked for; its time is the median. Every answer must
//! have the rows that the last server (the reference) gave first, in its order. In the first round the query also runs
//! prepared. All values of these queries are exact: numbers are DECIMAL or whole. So they are compared as texts.
//!
//! **Invariants.** The servers hold the same rows: they come from one generator. No server works for us while another
//! one is timed.
//!
//! **Deliberately not here**: the refresh functions and the power and throughput metrics of the specification.

use crate::connection::{Answer, Connection, Patience, TextRow, Trouble};
use crate::driver::rows;
use serde_json::json;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

mod tables;

const QUERIES: &str = include_str!("tpch/queries.sql");

/// How many there are.
pub const QUERY_COUNT: usize = 22;

/// Connections that load one server.
const LOADERS: i32 = 4;

/// A query may take this many times as long as on the reference, and all together as long as there.
const RATIO_MAX: f64 = 2.0;
const SUM_RATIO_MAX: f64 = 1.0;

/// The work.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server that is judged.
    pub server: SocketAddr,
    /// The server with the right rows, if there is one.
    pub reference: Option<SocketAddr>,
    /// 1 is 6 000 000 rows of `lineitem`.
    pub scale: f64,
    /// Whether the tables are made first.
    pub loads: bool,
    pub rounds: usize,
    /// All of them if empty.
    pub queries: Vec<usize>,
    /// How long a query may take.
    pub patience: Duration,
    /// A line of JSON for each query is appended to this file.
    pub figures: Option<PathBuf>,
}

/// The outcome of a query.
struct Outcome {
    number: usize,
    /// Medians in seconds; one per server, the judged one first.
    seconds: Vec<f64>,
    row_count: usize,
    /// A line for each wrong answer.
    faults: Vec<String>,
}

impl Outcome {
    fn ratio(&self) -> Option<f64> {
        self.seconds.get(1).map(|reference| self.seconds[0] / reference.max(1e-6))
    }
}

/// Loads, runs, compares. Lines for a person go to `say`. Fails if a query is refused or has other rows than it should.
pub fn run(options: &Options, say: &dyn Fn(&str)) -> Result<(), String> {
    let mut servers = vec![options.server];
    servers.extend(options.reference);
    if options.loads {
        load(options, &servers, say)?;
    }
    let mut outcomes = Vec::new();
    for (number, text) in queries(options.scale) {
        if options.queries.is_empty() || options.queries.contains(&number) {
            let outcome = query(options, &servers, number, &text);
            say(&line(&outcome));
            outcomes.push(outcome);
        }
    }
    say(&sum(&outcomes));
    record(options, &outcomes)?;
    let faults: Vec<String> = outcomes.iter().flat_map(|outcome| outcome.faults.clone()).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Number and text of each query.
fn queries(scale: f64) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for line in QUERIES.lines() {
        let number = line.strip_prefix("-- ").and_then(|rest| rest.parse().ok());
        match (number, found.last_mut()) {
            (Some(number), _) => found.push((number, String::new())),
            (None, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            // The head of the file.
            (None, None) => {}
        }
    }
    let fraction = format!("{:.10}", 0.0001 / scale);
    found.into_iter().map(|(number, text)| (number, text.replace("{fraction}", &fraction))).collect()
}

fn open(options: &Options, server: SocketAddr) -> Result<Connection, Trouble> {
    let patience = Patience { connect: Duration::from_secs(10), statement: options.patience };
    Connection::open(server, patience)
}

/// Fills all servers, one after the other.
fn load(options: &Options, servers: &[SocketAddr], say: &dyn Fn(&str)) -> Result<(), String> {
    for &server in servers {
        let told = |trouble: Trouble| format!("loading {server}: {trouble}");
        let begun = Instant::now();
        let mut connection = open(options, server).map_err(told)?;
        tables::create(&mut connection).map_err(told)?;
        let loaders: Vec<_> = (1..=LOADERS)
            .map(|part| {
                let options = options.clone();
                thread::spawn(move || {
                    let mut connection = open(&options, server)?;
                    tables::load(&mut connection, options.scale, part, LOADERS)
                })
            })
            .collect();
        let mut count = 0;
        for loader in loaders {
            let loaded = loader.join().map_err(|_| format!("loading {server}: a thread panicked"))?;
            count += loaded.map_err(told)?;
        }
        for table in tables::TABLES {
            // Statistics that are not there yet would be gathered while queries run.
            connection.run(&format!("ANALYZE TABLE {}", table.name)).map_err(told)?;
        }
        say(&format!("{server}: {count} rows in {:.1} s", begun.elapsed().as_secs_f64()));
    }
    Ok(())
}

/// All rounds of one query.
fn query(options: &Options, servers: &[SocketAddr], number: usize, text: &str) -> Outcome {
    let mut times = vec![Vec::new(); servers.len()];
    let mut outcome = Outcome { number, seconds: Vec::new(), row_count: 0, faults: Vec::new() };
    let mut expected: Option<Vec<TextRow>> = None;
    for round in 0..options.rounds.max(1) {
        // The reference comes first: all others are compared with it.
        for (index, &server) in servers.iter().enumerate().rev() {
            match answers(options, server, text, round == 0) {
                Ok((time, answers)) => {
                    times[index].push(time);
                    for (how, rows) in answers {
                        let expected = expected.get_or_insert_with(|| rows.clone());
                        if let Some(difference) = difference(expected, &rows) {
                            outcome.faults.push(format!("Q{number} at {server}, {how}: {difference}"));
                        }
                    }
                }
                Err(trouble) => outcome.faults.push(format!("Q{number} at {server}: {trouble}")),
            }
        }
        if !outcome.faults.is_empty() {
            break;
        }
    }
    outcome.row_count = expected.map_or(0, |rows| rows.len());
    outcome.seconds = times.into_iter().map(median).collect();
    outcome
}

/// How a query was sent, and its rows.
type Told = (&'static str, Vec<TextRow>);

/// The seconds of the query as text, and its rows; in the first round also those of the prepared statement.
fn answers(
    options: &Options,
    server: SocketAddr,
    text: &str,
    prepares: bool,
) -> Result<(f64, Vec<Told>), Trouble> {
    let mut connection = open(options, server)?;
    connection.run(&format!("USE {}", tables::DATABASE))?;
    let begun = Instant::now();
    let answer: Answer = connection.run(text)?;
    let time = begun.elapsed().as_secs_f64();
    let mut answers = vec![("as text", rows(answer)?)];
    if prepares {
        answers.push(("prepared", rows(connection.execute(text, &[])?)?));
    }
    Ok((time, answers))
}

/// The first difference of two answers.
fn difference(expected: &[TextRow], found: &[TextRow]) -> Option<String> {
    let told = |row: &TextRow| {
        row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join(", ")
    };
    if let Some((index, (right, wrong))) =
        expected.iter().zip(found).enumerate().find(|(_, (right, wrong))| right != wrong)
    {
        return Some(format!("row {}: ({}), not ({})", index + 1, told(wrong), told(right)));
    }
    (expected.len() != found.len()).then(|| format!("{} rows, not {}", found.len(), expected.len()))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Columns of seconds, the ratio, and whether it is too large.
fn figures(seconds: &[f64], ratio: Option<f64>, ratio_max: f64) -> String {
    let mut text = String::new();
    for second in seconds {
        // Writing into a String can't fail.
        let _ = write!(text, " {second:>9.3} s");
    }
    if let Some(ratio) = ratio {
        let _ = write!(text, " {ratio:>8.2} ×{}", if ratio <= ratio_max { "" } else { "  missed" });
    }
    text
}

fn line(outcome: &Outcome) -> String {
    let figures = figures(&outcome.seconds, outcome.ratio(), RATIO_MAX);
    let name = format!("Q{}", outcome.number);
    let faults: String = outcome.faults.iter().map(|fault| format!("\n    {fault}")).collect();
    format!("{name:<4}{figures}  {} rows{faults}", outcome.row_count)
}

fn sum(outcomes: &[Outcome]) -> String {
    let servers = outcomes.first().map_or(0, |outcome| outcome.seconds.len());
    let total = |server: usize| outcomes.iter().map(|outcome| outcome.seconds[server]).sum::<f64>();
    let totals: Vec<f64> = (0..servers).map(total).collect();
    let ratio = totals.get(1).map(|reference| totals[0] / reference.max(1e-6));
    format!("sum {}", figures(&totals, ratio, SUM_RATIO_MAX))
}

fn record(options: &Options, outcomes: &[Outcome]) -> Result<(), String> {
    let Some(path) = &options.figures else { return Ok(()) };
    let mut text = String::new();
    for outcome in outcomes {
        let line = json!({
            "query": outcome.number,
            "scale": options.scale,
            "rows": outcome.row_count,
            "seconds": outcome.seconds.first(),
            "reference_seconds": outcome.seconds.get(1),
        });
        // Writing into a String can't fail.
        let _ = writeln!(text, "{line}");
    }
    crate::append(path, &text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
