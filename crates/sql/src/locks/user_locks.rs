//! GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS, IS_FREE_LOCK, IS_USED_LOCK: one call of a statement, made before the
//! statement runs.
//!
//! A name is locked by the row lock of its key in a system table, under an internal transaction of its own. So the lock
//! is the cluster's and outlives the session's transactions. A session that has a name counts how often it got it.
//! Sessions know which names they hold: the `sql` modules of all nodes are asked.
//!
//! Deliberately not here: calls that depend on rows. The binder refuses them.

use super::lock_request::{GivingBack, LockRequest, Locked, let_go_and_pause};
use super::{LocksOf, NamedLock};
use crate::show::VirtualReader;
use crate::statement::Cx;
use catalogue::system::USER_LOCKS;
use executor::select::RowSource;
use executor::{Failure, Pull, Retry, failure_of, table_ref};
use expression::NoColumns;
use planner::plan::{UserLockCall, UserLockFunction};
use protocol::SqlError;
use protocol::program::{LockMode, LockWait, Refusal};
use protocol::signal::InfoTable;
use stdx::{Duration, Instant};
use types::{SlotId, Value, ValueRef};

/// Characters of a name at most.
const NAME_LENGTH_MAX: usize = 64;
/// Names that a session may have.
const NAMES_MAX: usize = 4_096;
/// How long a wait without end is.
const FOR_EVER: Duration = Duration::from_secs(31_536_000);

enum Stage {
    Start,
    Asking(LockRequest),
    Pausing(Retry),
    GivingBack(GivingBack, Value),
    /// Looks for the holder of the name.
    Looking(Box<VirtualReader>),
}

/// A call under way.
pub(crate) struct UserLockRun {
    function: UserLockFunction,
    name: String,
    deadline: Instant,
    stage: Stage,
}

/// The result of a call so far.
pub(crate) enum Called {
    Value(Value),
    Runs(UserLockRun),
}

impl UserLockRun {
    /// Makes a call, or begins to.
    pub(crate) fn call(call: &UserLockCall, cx: &mut Cx<'_, '_>) -> Result<Called, Failure> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        let context = cx.statement.context();
        for argument in &call.arguments {
            arguments.push(argument.evaluate(&NoColumns, &context)?);
        }
        drop(context);
        let name = match arguments.first() {
            Some(name) => name_of(name)?,
            None => String::new(),
        };
        let now = cx.env.now.monotonic;
        let mut run = Self { function: call.function, name, deadline: now, stage: Stage::Start };
        let own = cx.core.locks.names.iter().position(|lock| lock.name == run.name);
        match (call.function, own) {
            (UserLockFunction::Get, Some(own)) => {
                cx.core.locks.names[own].count += 1;
                Ok(Called::Value(Value::Int(1)))
            }
            (UserLockFunction::Get, None) if cx.core.locks.names.len() >= NAMES_MAX => {
                let text = format!("Out of memory; a session has {NAMES_MAX} names by GET_LOCK at most");
                Err(Failure::Error(SqlError::new(1041, text)))
            }
            (UserLockFunction::Get, None) => {
                run.deadline = now + patience(arguments.get(1));
                Ok(Called::Runs(run))
            }
            (UserLockFunction::Release, Some(own)) if cx.core.locks.names[own].count > 1 => {
                cx.core.locks.names[own].count -= 1;
                Ok(Called::Value(Value::Int(1)))
            }
            (UserLockFunction::Release, Some(own)) => {
                let lock = cx.core.locks.names.swap_remove(own);
                run.give_back(lock, Value::Int(1), cx);
                Ok(Called::Runs(run))
            }
            (UserLockFunction::ReleaseAll, _) => {
                let count: u64 = cx.core.locks.names.iter().map(|lock| u64::from(lock.count)).sum();
                let all = Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
                let Some(last) = cx.core.locks.names.pop() else { return Ok(Called::Value(all)) };
                run.give_back(last, all, cx);
                Ok(Called::Runs(run))
            }
            (UserLockFunction::IsFree, Some(_)) => Ok(Called::Value(Value::Int(0))),
            (UserLockFunction::IsUsed, Some(_)) => Ok(Called::Value(Value::Int(cx.core.client.id.into()))),
            (UserLockFunction::Release | UserLockFunction::IsFree | UserLockFunction::IsUsed, None) => {
                run.stage = Stage::Looking(Box::new(VirtualReader::asked(InfoTable::UserLocks, cx)?));
                Ok(Called::Runs(run))
            }
        }
    }

    /// The text of SHOW PROCESSLIST.
    pub(crate) fn waits_for(&self) -> &'static str {
        match self.stage {
            Stage::Start | Stage::Asking(_) | Stage::Pausing(_) => "User lock",
            Stage::GivingBack(..) | Stage::Looking(_) => "executing",
        }
    }

    /// The value, when it is known.
    pub(crate) fn step(&mut self, cx: &mut Cx<'_, '_>) -> Result<Option<Value>, Failure> {
        loop {
            match &mut self.stage {
                Stage::Asking(request) => {
                    let Some(locked) = request.poll(cx) else { return Ok(None) };
                    if let Some(value) = self.on_locked(locked, cx)? {
                        return Ok(Some(value));
                    }
                }
                Stage::Pausing(retry) if !retry.is_due(&cx.env.executor()) => return Ok(None),
                Stage::Start | Stage::Pausing(_) => {
                    let asked = self.ask(cx);
                    self.or_pause(asked, cx)?;
                }
                Stage::GivingBack(giving_back, value) => {
                    if !giving_back.is_done(cx) {
                        return Ok(None);
                    }
                    let value = std::mem::replace(value, Value::Null);
                    match cx.core.locks.names.pop().filter(|_| self.function == UserLockFunction::ReleaseAll)
                    {
                        Some(next) => self.give_back(next, value, cx),
                        None => return Ok(Some(value)),
                    }
                }
                Stage::Looking(reader) => match reader.next(&mut cx.executor())? {
                    Pull::Batch(rows) => {
                        if let Some(holder) = rows.into_iter().find_map(|row| holder_in(row, &self.name)) {
                            return Ok(Some(self.seen(Some(holder))));
                        }
                    }
                    Pull::Wait => return Ok(None),
                    Pull::Spent => {}
                    Pull::End => return Ok(Some(self.seen(None))),
                },
            }
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        let info = cx.executor().hidden_info(USER_LOCKS)?;
        let mut key = Vec::new();
        info.primary_key.encode_values(&[ValueRef::Bytes(self.name.as_bytes())], &mut key);
        let left = self.deadline.since(cx.env.now.monotonic).as_millis();
        let wait = match u32::try_from(left).unwrap_or(u32::MAX) {
            0 => LockWait::NoWait,
            timeout_ms => LockWait::Wait { timeout_ms },
        };
        cx.core.locks.begin(cx.core.client.id, LocksOf::Name, cx.env);
        let lock = (LockMode::Exclusive, wait);
        let table = table_ref(&info.definition);
        self.stage = Stage::Asking(LockRequest::ask(table, SlotId(0), key.into(), lock, cx)?);
        Ok(())
    }

    /// A request that failed for want of another view is sent again.
    fn or_pause(&mut self, asked: Result<(), Failure>, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        match asked {
            Err(Failure::ViewChanged(_) | Failure::WrongSchema) => {
                self.stage = Stage::Pausing(let_go_and_pause(cx));
                Ok(())
            }
            Err(Failure::Doomed(error)) => Err(Failure::Error(error)),
            asked => asked,
        }
    }

    fn on_locked(&mut self, locked: Locked, cx: &mut Cx<'_, '_>) -> Result<Option<Value>, Failure> {
        let refusal = match locked {
            Locked::Yes => {
                if let Some(transaction) = cx.core.locks.open.take_if(|open| !open.is_doomed()) {
                    let name = std::mem::take(&mut self.name);
                    cx.core.locks.names.push(NamedLock { name, count: 1, transaction });
                    return Ok(Some(Value::Int(1)));
                }
                Refusal::WrongView
            }
            Locked::Refused(refusal) => refusal,
            Locked::Lost => Refusal::WrongView,
        };
        cx.core.locks.drop_open(cx.env);
        if matches!(refusal, Refusal::LockNotAvailable | Refusal::LockTimeout) {
            return Ok(Some(Value::Int(0)));
        }
        if matches!(refusal, Refusal::Deadlock { .. }) {
            let text = "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting \
                        lock acquisition.";
            return Err(Failure::Error(SqlError::new(3058, text)));
        }
        self.or_pause(Err(failure_of(refusal, "user_locks")), cx).map(|()| None)
    }

    fn give_back(&mut self, lock: NamedLock, value: Value, cx: &mut Cx<'_, '_>) {
        cx.core.locks.open = Some(lock.transaction);
        self.stage = Stage::GivingBack(GivingBack::begin(cx), value);
    }

    /// The value of a question about a name that this session does not have.
    fn seen(&self, holder: Option<Value>) -> Value {
        match (self.function, holder) {
            (UserLockFunction::IsFree, holder) => Value::Int(holder.is_none().into()),
            (UserLockFunction::IsUsed, Some(holder)) => holder,
            (UserLockFunction::Release, Some(_)) => Value::Int(0),
            _ => Value::Null,
        }
    }
}

/// The connection in a row of `InfoTable::UserLocks`, if the row is about this name.
fn holder_in(row: Vec<Value>, name: &str) -> Option<Value> {
    let [Value::Bytes(held), Value::Int(connection), ..] = row.as_slice() else { return None };
    (**held == *name.as_bytes()).then_some(Value::Int(*connection))
}

/// A name as it is locked: without regard to case.
fn name_of(value: &Value) -> Result<String, SqlError> {
    let wrong = |name: &str| SqlError::new(3057, format!("Incorrect user-level lock name '{name}'."));
    let Value::Bytes(bytes) = value else { return Err(wrong("NULL")) };
    let name = String::from_utf8_lossy(bytes);
    if name.is_empty() {
        return Err(wrong(""));
    }
    if name.chars().count() > NAME_LENGTH_MAX {
        let text = format!("User-level lock name '{name}' should not exceed {NAME_LENGTH_MAX} characters.");
        return Err(SqlError::new(4163, text));
    }
    Ok(name.to_lowercase())
}

/// How long to wait, by the argument of GET_LOCK: a negative number of seconds is for ever, NULL not at all.
fn patience(seconds: Option<&Value>) -> Duration {
    match seconds {
        Some(Value::Int(seconds)) => {
            u64::try_from(*seconds).map_or(FOR_EVER, |seconds| FOR_EVER.min(Duration::from_secs(seconds)))
        }
        Some(Value::UInt(_)) => FOR_EVER,
        _ => Duration::ZERO,
    }
}
