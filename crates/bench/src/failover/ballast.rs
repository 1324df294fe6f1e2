//! Rows beside those of the clients: what is copied to a node that comes back is counted in them.
//!
//! **Invariants.** They are written before the clients begin, and not changed afterwards.

use super::Say;
use crate::clients::Plan;
use crate::driver::{Driver, End};
use crate::load::DATABASE;
use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a row beside its key.
const ROW_SIZE: usize = 500;

/// Rows of a statement.
const BATCH: u64 = 200;

const LOADERS: u64 = 4;

const STATEMENT_LIMIT: Duration = Duration::from_secs(30);

/// Writes so many MiB of rows; none, and no table, if there are to be none.
pub(super) fn load(plan: &Plan, mebibytes: u32, say: Say<'_>) -> Result<(), String> {
    if mebibytes == 0 {
        return Ok(());
    }
    let started = Instant::now();
    let rows = (u64::from(mebibytes) << 20) / ROW_SIZE as u64;
    statement(
        &mut driver(plan, 0),
        &format!(
            "CREATE TABLE {DATABASE}.ballast (id BIGINT PRIMARY KEY, data VARBINARY({ROW_SIZE}) NOT NULL)"
        ),
    )?;
    let loaded = thread::scope(|scope| {
        let loaders: Vec<_> =
            (0..LOADERS).map(|loader| scope.spawn(move || load_part(plan, loader, rows))).collect();
        loaders
            .into_iter()
            .try_for_each(|loader| loader.join().map_err(|_| "a loader panicked".to_owned())?)
    });
    say(&format!(
        "{rows} rows of {ROW_SIZE} bytes beside, written in {:.0} s",
        started.elapsed().as_secs_f64()
    ));
    loaded
}

fn load_part(plan: &Plan, loader: u64, rows: u64) -> Result<(), String> {
    let mut driver = driver(plan, usize::try_from(loader).unwrap_or_default());
    for first in (loader * BATCH..rows).step_by(usize::try_from(BATCH * LOADERS).unwrap_or(1)) {
        let mut text = format!("INSERT INTO {DATABASE}.ballast VALUES ");
        for id in first..rows.min(first + BATCH) {
            let comma = if id > first { "," } else { "" };
            // Writing into a String can't fail.
            let _ = write!(text, "{comma}({id},REPEAT('{:x}',{}))", id % 16, ROW_SIZE);
        }
        statement(&mut driver, &text)?;
    }
    Ok(())
}

fn driver(plan: &Plan, home: usize) -> Driver {
    Driver::new(&plan.addresses, home, plan.patience, &plan.preamble)
}

fn statement(driver: &mut Driver, text: &str) -> Result<(), String> {
    match driver.statement(text, Instant::now() + STATEMENT_LIMIT) {
        End::Done(_) => Ok(()),
        End::Refused | End::Unknown => Err(format!(
            "the ballast can't be written: errors {:?} {}",
            driver.errors,
            driver.surprises.join("; ")
        )),
    }
}
