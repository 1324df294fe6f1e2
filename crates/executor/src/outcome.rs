//! The results of a step of an operator or a statement: rows, an end, or why there is none.

use crate::row::Row;
use protocol::SqlError;
use protocol::program::Refusal;
use std::borrow::Cow;

/// The result of a poll of an operator.
#[derive(Debug)]
pub enum Pull {
    /// Rows, at least one.
    Batch(Vec<Row>),
    /// An answer must come first.
    Wait,
    /// The budget is spent.
    Spent,
    /// No more rows.
    End,
}

/// Why there is no result yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    /// An answer must come first.
    Wait,
    /// The budget is spent.
    Spent,
}

impl Pending {
    /// For two results of which neither is there: a step that can go on does.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self == Self::Spent { self } else { other }
    }
}

impl From<Pending> for Pull {
    fn from(pending: Pending) -> Self {
        match pending {
            Pending::Wait => Self::Wait,
            Pending::Spent => Self::Spent,
        }
    }
}

impl From<Pending> for Progress {
    fn from(pending: Pending) -> Self {
        match pending {
            Pending::Wait => Self::Wait,
            Pending::Spent => Self::Spent,
        }
    }
}

/// The result of a step of a statement.
#[derive(Debug)]
pub enum Progress {
    /// It is done.
    Done(Completion),
    /// An answer must come, or the client must read.
    Wait,
    /// The budget is spent.
    Spent,
}

/// The answer of a finished statement to its client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    /// Rows went out: what is missing is their end.
    pub is_result_set: bool,
    pub affected_rows: u64,
    pub last_insert_id: u64,
    /// That was drawn for a row: what LAST_INSERT_ID(expression) gave goes behind it.
    pub has_drawn_id: bool,
    pub info: Cow<'static, str>,
    /// Rows sent, for ROW_COUNT and FOUND_ROWS.
    pub row_count: u64,
}

impl Completion {
    /// The answer to an UPDATE, which counts the matched rows or the changed ones as affected.
    pub(crate) fn of_update(counts_found: bool, matched: u64, changed: u64, warnings: u64) -> Self {
        let info = match (matched, changed, warnings) {
            (1, 1, 0) => Cow::Borrowed("Rows matched: 1  Changed: 1  Warnings: 0"),
            numbers => Cow::Owned(update_info(numbers)),
        };
        Self { affected_rows: if counts_found { matched } else { changed }, info, ..Self::default() }
    }
}

fn update_info((matched, changed, warnings): (u64, u64, u64)) -> String {
    let mut info = String::with_capacity(64);
    let parts = [("Rows matched: ", matched), ("  Changed: ", changed), ("  Warnings: ", warnings)];
    for (name, number) in parts {
        info.push_str(name);
        push_number(&mut info, number);
    }
    info
}

/// Appends decimal digits. Each UPDATE does that three times, and the machinery of formats takes far longer.
fn push_number(text: &mut String, number: u64) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    let digit = u8::try_from(number % 10).unwrap_or_default();
    text.push(char::from(b'0' + digit));
}

/// Why a statement did not do what it should.
#[derive(Clone, PartialEq, Debug)]
pub enum Failure {
    /// The statement is undone, the transaction lives. If COMMIT says it, the transaction is undone.
    Error(SqlError),
    /// The transaction is over everywhere.
    Doomed(SqlError),
    /// The view changed or a replica is lost: nothing of this statement was done there; it may run again when the next
    /// view is installed.
    ViewChanged(SqlError),
    /// The plan was made for another version of the table.
    WrongSchema,
    /// An AUTO_INCREMENT value that was drawn is taken: the statement is undone and runs again with the next ones.
    DrawnTaken(SqlError),
    /// The statement carried its commit and nobody can tell what became of it.
    OutcomeUnknown,
    /// A SLEEP has begun: the same step is taken again when it is over.
    Asleep,
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Failure::Error(error)
    }
}

impl From<expression::EvaluationError> for Failure {
    fn from(error: expression::EvaluationError) -> Self {
        if error.is_asleep() {
            return Failure::Asleep;
        }
        Failure::Error(SqlError::new(error.code, error.message))
    }
}

/// A refusal as the statement fails by it; `table` names the table in messages.
pub fn failure_of(refusal: Refusal, table: &str) -> Failure {
    match refusal {
        Refusal::WrongView => Failure::ViewChanged(SqlError::deadlock("the cluster's view has changed")),
        Refusal::ReplicaLost => Failure::Doomed(SqlError::deadlock("a replica of the rows is lost")),
        Refusal::WrongSchema => Failure::WrongSchema,
        Refusal::Duplicate { .. } => {
            Failure::Error(SqlError::new(1062, format!("Duplicate entry for a key of table '{table}'")))
        }
        Refusal::LockTimeout => Failure::Error(lock_wait_timeout()),
        Refusal::LockNotAvailable => Failure::Error(SqlError::new(
            3572,
            "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
        )),
        Refusal::Deadlock { other } => Failure::Doomed(SqlError::deadlock(&format!(
            "Deadlock found when trying to get lock (with transaction {other})"
        ))),
        Refusal::RegionFull { region } => Failure::Error(SqlError::region_full(table, &region)),
        Refusal::Error(error) => Failure::Error(error),
        Refusal::NotHeld => {
            let why = "a primary has lost the transaction's writes: it has failed, or there were too many to be handed over";
            Failure::ViewChanged(SqlError::deadlock(why))
        }
        Refusal::AlreadyEnding => Failure::Doomed(SqlError::deadlock("the transaction is already ending")),
    }
}

/// A lock was waited for too long.
pub fn lock_wait_timeout() -> SqlError {
    SqlError::new(1205, "Lock wait timeout exceeded; try restarting transaction")
}

#[cfg(test)]
mod tests {
    use super::Completion;

    #[test]
    fn an_update_tells_its_counts() {
        let completion = Completion::of_update(true, 1_090, u64::MAX, 0);
        assert_eq!(completion.info, "Rows matched: 1090  Changed: 18446744073709551615  Warnings: 0");
        assert_eq!(completion.affected_rows, 1_090);
        assert_eq!(Completion::of_update(false, 10, 9, 99).affected_rows, 9);
        assert_eq!(Completion::of_update(true, 1, 1, 0).info, super::update_info((1, 1, 0)));
    }
}
