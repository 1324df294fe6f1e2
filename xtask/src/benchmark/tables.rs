//! `create_tables`: how fast tables are made one after the other, and what point selects notice of it meanwhile.
//!
//! Each round makes a thousand tables and nothing else, then point selects run alone, then they run while tables are
//! made until they end. All tables of a round are dropped at its end.

use super::{Contest, Contestant, Line, Recorder, Workload, middle, rounded, run_script};
use crate::cluster::sql;
use crate::processes::Failure;
use serde_json::json;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The name of the measurement.
pub(super) const NAME: &str = "create_tables";
/// How many tables a round makes while nothing else runs.
const COUNT: u32 = 1_000;
/// How many tables one client makes beside point selects before another goes on.
const BATCH: u32 = 50;
/// The rate of CREATE TABLE, as a multiple of MariaDB's.
const RATE_MIN: f64 = 1.0;
/// The 99th percentile of point selects beside CREATE TABLE, as a multiple of what it is alone.
const TAIL_MAX: f64 = 1.5;
/// How long a thousand tables may take.
const LIMIT: Duration = Duration::from_secs(300);

/// The figures of one server in a round.
struct Round {
    of: Contestant,
    tables_per_second: f64,
    alone_ms: f64,
    beside_ms: f64,
    /// Tables made per second beside point selects.
    beside_per_second: f64,
}

/// The statements that make tables `from` to `to`.
fn statements(from: u32, to: u32) -> String {
    let mut text = String::new();
    for number in from..to {
        // Writing into a String can't fail.
        let _ = writeln!(
            text,
            "CREATE TABLE made.t{number} (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL, KEY k_1 (k));"
        );
    }
    text
}

impl Contest<'_> {
    /// All rounds; gives the lines of the table.
    pub(super) fn tables(
        &self,
        point_select: &Workload,
        recorder: &mut Recorder<'_>,
    ) -> Result<Vec<Line>, Failure> {
        let mut rounds = Vec::new();
        for number in 1..=self.options.rounds {
            for of in [Contestant::Latsdb, Contestant::Mariadb] {
                let round = self.tables_of(of, point_select)?;
                let Round { tables_per_second, alone_ms, beside_ms, beside_per_second, .. } = &round;
                println!(
                    "{NAME:<20} round {number} {:<8} {tables_per_second:>9.0} tables/s; p99 of point selects alone \
                     {alone_ms:.3} ms, beside {beside_per_second:.0} tables/s {beside_ms:.3} ms",
                    of.name()
                );
                recorder.record(json!({
                    "workload": NAME,
                    "server": of.name(),
                    "round": number,
                    "tables_per_second": rounded(*tables_per_second, 1),
                    "p99_alone_ms": rounded(*alone_ms, 3),
                    "p99_beside_ms": rounded(*beside_ms, 3),
                    "beside_tables_per_second": rounded(*beside_per_second, 1),
                }))?;
                rounds.push(round);
            }
        }
        Ok(lines(&rounds, point_select.threads))
    }

    fn tables_of(&self, of: Contestant, point_select: &Workload) -> Result<Round, Failure> {
        let port = self.port(of);
        sql(port, "CREATE DATABASE made")?;
        let begin = Instant::now();
        run_script(port, &statements(0, COUNT), LIMIT)?;
        let tables_per_second = f64::from(COUNT) / begin.elapsed().as_secs_f64();
        let alone_ms = self.measure(point_select, of)?.figures.p99_ms;
        let has_ended = AtomicBool::new(false);
        let begin = Instant::now();
        let (beside, made) = std::thread::scope(|scope| {
            let maker = scope.spawn(|| {
                let mut next = COUNT;
                while !has_ended.load(Ordering::Relaxed) {
                    run_script(port, &statements(next, next + BATCH), LIMIT)?;
                    next += BATCH;
                }
                Ok::<u32, Failure>(next - COUNT)
            });
            let beside = self.measure(point_select, of);
            has_ended.store(true, Ordering::Relaxed);
            let made = maker.join().unwrap_or_else(|_| Err(Failure::new("the maker of tables died")));
            (beside, made)
        });
        let beside_per_second = f64::from(made?) / begin.elapsed().as_secs_f64();
        let beside_ms = beside?.figures.p99_ms;
        sql(port, "DROP DATABASE made")?;
        Ok(Round { of, tables_per_second, alone_ms, beside_ms, beside_per_second })
    }
}

/// The medians, and whether the targets are reached.
fn lines(rounds: &[Round], clients: u32) -> Vec<Line> {
    let of = |of: Contestant, value: fn(&Round) -> f64| {
        middle(rounds.iter().filter(|round| round.of == of).map(value)).unwrap_or(f64::NAN)
    };
    let verdict =
        |text: String, is_reached: bool| if is_reached { text } else { format!("{text} **missed**") };
    let rate = |who| of(who, |round| round.tables_per_second);
    let rate_cell = |who| format!("{:.0}/s, {:.2} ms", rate(who), 1_000.0 / rate(who));
    let (ours, theirs) = (Contestant::Latsdb, Contestant::Mariadb);
    let factor = rate(ours) / rate(theirs);
    let tail = |who| (of(who, |round| round.alone_ms), of(who, |round| round.beside_ms));
    let tail_cell = |who| {
        let ((alone, beside), rate) = (tail(who), of(who, |round| round.beside_per_second));
        format!("p99 {beside:.3} ms (alone {alone:.3}), {rate:.0} tables/s")
    };
    let (alone, beside) = tail(ours);
    let is_quick = factor >= RATE_MIN;
    let is_even = beside / alone <= TAIL_MAX;
    vec![
        Line {
            cells: [
                format!("{COUNT} × CREATE TABLE, 1 client"),
                rate_cell(ours),
                rate_cell(theirs),
                "–".to_owned(),
                verdict(format!("{factor:.2} × MariaDB (≥ {RATE_MIN})"), is_quick),
            ],
            is_reached: is_quick,
        },
        Line {
            cells: [
                format!("point selects beside CREATE TABLE, {clients} clients"),
                tail_cell(ours),
                tail_cell(theirs),
                "–".to_owned(),
                verdict(format!("{:.2} × alone (≤ {TAIL_MAX})", beside / alone), is_even),
            ],
            is_reached: is_even,
        },
    ]
}
