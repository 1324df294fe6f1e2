//! Functions whose value is another one each time: RAND, UUID, UUID_SHORT, SLEEP.
//!
//! Nothing here draws randomness or looks at a clock. A session gives a statement a [`Volatile`] with a seed, the time
//! and a source of numbers, and evaluates these functions itself, row by row. Data nodes have none of that. In the
//! programs that UPDATE and DELETE send to them, RAND() and UUID() are replaced by functions *of the row*. Such a
//! function is a digest of the statement's seed, the position in the statement and the row's primary key
//! ([`Expression::of_row`]). So a condition has the same value when rows are found and when they are tested again under
//! their locks.
//!
//! SLEEP does not wait. It fails with [`EvaluationError::asleep`], and the session evaluates the row again when the
//! time is over. Then the sleeps of the row that are done give their results at once, and what was drawn is drawn
//! again: [`Volatile::begin_row`] puts all back to where the row began.
//!
//! *Invariants.* A volatile call is never folded and is no constant. No two UUIDs of a statement are equal. RAND(n) of
//! a constant n is MySQL's sequence for that seed, one sequence per call in the text.

use crate::context::{
    ColumnSlot, ER_NOT_SUPPORTED_YET, ER_OUT_OF_RESOURCES, ER_WRONG_ARGUMENTS, EvaluationError, TypeError,
};
use crate::evaluation::Evaluated;
use crate::function::{Call, Function, functions};
use crate::node::{Expression, Node};
use crate::typing::{BIGINT, BIGINT_UNSIGNED, text_type};
use crate::user_variables::AssignedVariables;
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{IdRange, Prng, WallTime};
use types::{Collation, SqlType, Value};
use wire_derive::Wire;

functions! {
    /// Functions that only the session's node evaluates.
    VolatileFunction {
        Random "RAND" 0..=1,
        Uuid "UUID" 0..=0,
        UuidShort "UUID_SHORT" 0..=0,
        Sleep "SLEEP" 1..=1,
    }
}

/// Forms of volatile functions that any node evaluates: their arguments are a seed, the number of the call and the
/// row's primary key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum RowFunction {
    /// RAND().
    Random,
    /// UUID().
    Uuid,
    /// RAND(n) where n is not constant: the first number of the sequence. Its argument is n.
    RandomFrom,
}

impl RowFunction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Random | Self::RandomFrom => "RAND",
            Self::Uuid => "UUID",
        }
    }
}

/// Seconds that one SLEEP lasts at most: more are a number beyond any clock.
const SLEEP_SECONDS_MAX: f64 = 1e9;
/// A SLEEP below this is none, as in MySQL.
const SLEEP_SECONDS_MIN: f64 = 0.000_01;
/// The start of UUID's calendar, in steps of 100 ns before 1970.
const UUID_EPOCH: u64 = 0x01b2_1dd2_1381_4000;

/// MySQL's generator for RAND(n): two congruences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sequence {
    first: u64,
    second: u64,
}

impl Sequence {
    const MODULUS: u64 = 0x3fff_ffff;

    /// The sequence of a seed, of which 32 bits count.
    pub(crate) fn new(seed: i64) -> Self {
        let bits = seed.cast_unsigned() & 0xffff_ffff;
        let low = |number: u64| number & 0xffff_ffff;
        Self {
            first: low(bits.wrapping_mul(0x1_0001).wrapping_add(55_555_555)) % Self::MODULUS,
            second: low(bits.wrapping_mul(0x1000_0001)) % Self::MODULUS,
        }
    }

    /// The next number, at least 0 and below 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % Self::MODULUS;
        self.second = (self.first + self.second + 33) % Self::MODULUS;
        self.first as f64 / Self::MODULUS as f64
    }
}

/// The state that changes from call to call.
#[derive(Clone, Debug)]
struct Drawn {
    random: Prng,
    sequences: BTreeMap<u16, Sequence>,
    uuids: u64,
}

/// How a SLEEP ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// Its time was over: 0.
    InTime,
    /// It was interrupted: 1.
    Early,
}

/// The source that volatile functions of one execution of a statement draw from.
#[derive(Debug)]
pub struct Volatile {
    drawn: RefCell<Drawn>,
    /// The state before the row.
    before: RefCell<Drawn>,
    seed: u64,
    /// When the statement began.
    began: WallTime,
    /// sql_mode has a STRICT mode.
    is_strict: bool,
    short_ids: ShortIds,
    /// Results of the row's sleeps that are over.
    slept: RefCell<Vec<Woken>>,
    /// Sleeps that this evaluation of the row has met.
    met: Cell<usize>,
    /// How long the sleep lasts that the row waits for, in microseconds.
    wanted_us: Cell<Option<u64>>,
    variables: AssignedVariables,
}

/// The numbers of UUID_SHORT() that one module of a node gives out.
#[derive(Clone, Debug)]
pub struct ShortIds {
    /// The numbers of the module alone. It never ends: it is refilled with all numbers up to the next node's.
    pub range: Arc<IdRange>,
    /// The module's place in each step.
    pub instance: u8,
}

impl ShortIds {
    /// The distance of a module's numbers: each module of a node has its own among these.
    pub const STEP: u64 = 256;

    fn next(&self) -> Option<u64> {
        self.range.take(Self::STEP).map(|first| first + u64::from(self.instance))
    }
}

impl Volatile {
    /// For one execution that began now.
    #[must_use]
    pub fn new(seed: u64, began: WallTime, is_strict: bool, short_ids: ShortIds) -> Self {
        let drawn = Drawn { random: Prng::new(seed), sequences: BTreeMap::new(), uuids: 0 };
        Self {
            before: RefCell::new(drawn.clone()),
            drawn: RefCell::new(drawn),
            seed,
            began,
            is_strict,
            short_ids,
            slept: RefCell::default(),
            met: Cell::new(0),
            wanted_us: Cell::new(None),
            variables: AssignedVariables::default(),
        }
    }

    /// The same with these user variables.
    #[must_use]
    pub fn with_variables(self, variables: AssignedVariables) -> Self {
        Self { variables, ..self }
    }

    /// The user variables that the statement assigns.
    pub fn variables(&self) -> &AssignedVariables {
        &self.variables
    }

    /// The seed of functions of a row.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A row is about to be evaluated: another one, or again the one that slept, from its beginning.
    pub fn begin_row(&self) {
        if self.slept.borrow().is_empty() {
            self.before.borrow_mut().clone_from(&self.drawn.borrow());
            self.variables.begin_row();
        } else {
            self.variables.repeat_row();
            self.drawn.borrow_mut().clone_from(&self.before.borrow());
        }
        self.met.set(0);
    }

    /// The row is evaluated.
    pub fn end_row(&self) {
        self.slept.borrow_mut().clear();
    }

    /// How long the row that failed with [`EvaluationError::asleep`] wants to sleep, in microseconds.
    #[must_use]
    pub fn wanted_us(&self) -> Option<u64> {
        self.wanted_us.get()
    }

    /// The sleep that the row waits for is over.
    pub fn wake(&self, woken: Woken) {
        self.wanted_us.set(None);
        self.slept.borrow_mut().push(woken);
    }

    /// At least 0 and below 1.
    fn random(&self) -> f64 {
        unit_of(self.drawn.borrow_mut().random.next_u64())
    }

    fn uuid(&self) -> String {
        let mut drawn = self.drawn.borrow_mut();
        drawn.uuids += 1;
        uuid_text(self.began.0.wrapping_mul(10).wrapping_add(drawn.uuids), self.seed)
    }

    /// The result of a SLEEP if it is over.
    fn sleep(&self, seconds: f64) -> Result<i64, EvaluationError> {
        if seconds < SLEEP_SECONDS_MIN {
            return Ok(0);
        }
        let number = self.met.replace(self.met.get() + 1);
        match self.slept.borrow().get(number) {
            Some(Woken::InTime) => Ok(0),
            Some(Woken::Early) => Ok(1),
            // A statement that was interrupted does not sleep again.
            None if self.slept.borrow().contains(&Woken::Early) => Ok(1),
            None => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "positive and bounded"
                )]
                let microseconds = (seconds.min(SLEEP_SECONDS_MAX) * 1e6) as u64;
                self.wanted_us.set(Some(microseconds));
                Err(EvaluationError::asleep())
            }
        }
    }
}

/// The upper 53 bits as a number from 0 up to 1.
fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A UUID of version 1: the moment in steps of 100 ns since 1970, then 62 bits that stand for a clock and a node.
fn uuid_text(moment: u64, node: u64) -> String {
    let moment = moment.wrapping_add(UUID_EPOCH);
    let (low, middle, high) = (moment & 0xffff_ffff, moment >> 32 & 0xffff, moment >> 48 & 0x0fff);
    // The variant of RFC 4122, and the bit that says that the node is no network card.
    let (clock, node) = (node >> 48 & 0x3fff | 0x8000, node & 0xffff_ffff_ffff | 0x0100_0000_0000);
    format!("{low:08x}-{middle:04x}-1{high:03x}-{clock:04x}-{node:012x}")
}

/// The type of UUIDs as text.
fn uuid_type() -> SqlType {
    text_type(36, Collation::Utf8mb4GeneralCi)
}

impl VolatileFunction {
    fn sql_type(self) -> SqlType {
        match self {
            Self::Random => SqlType::Double,
            Self::Uuid => uuid_type(),
            Self::UuidShort => BIGINT_UNSIGNED,
            Self::Sleep => BIGINT,
        }
    }
}

impl Expression {
    /// A volatile call, the statement's `call`-th.
    pub fn volatile(function: VolatileFunction, arguments: Vec<Self>, call: u16) -> Result<Self, TypeError> {
        let (least, most) = function.argument_counts();
        if arguments.len() < least || arguments.len() > most {
            return Err(TypeError::WrongArgumentCount(function.name().to_owned()));
        }
        let arguments: Vec<Self> = arguments.into_iter().map(Self::localised).collect();
        let is_of_row = function == VolatileFunction::Random
            && arguments.first().is_some_and(|seed| !seed.is_constant() && !seed.is_volatile());
        let (function, sql_type) = if is_of_row {
            (Function::OfRow(RowFunction::RandomFrom), SqlType::Double)
        } else {
            (Function::Volatile(function, call), function.sql_type())
        };
        Ok(Self::new(Node::Function { function, arguments: arguments.into() }, sql_type, false))
    }

    /// True if it has another value each time.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        matches!(self.node, Node::Function { function, .. } if function.is_volatile())
            || self.operands().into_iter().any(Self::is_volatile)
    }

    /// True if it may sleep.
    #[must_use]
    pub fn sleeps(&self) -> bool {
        matches!(self.node, Node::Function { function: Function::Volatile(VolatileFunction::Sleep, _), .. })
            || self.operands().into_iter().any(Self::sleeps)
    }

    /// Replaces RAND() and UUID() by functions of the row whose primary key is in these slots. The first other volatile
    /// call is the error.
    pub fn of_row(&mut self, seed: u64, key: &[(ColumnSlot, SqlType)]) -> Result<(), TypeError> {
        if let Node::Function { function: Function::Volatile(function, call), arguments } = &self.node {
            let of_row = match function {
                VolatileFunction::Random if arguments.is_empty() => RowFunction::Random,
                VolatileFunction::Uuid => RowFunction::Uuid,
                VolatileFunction::Random | VolatileFunction::UuidShort | VolatileFunction::Sleep => {
                    let what = format!("{}() in a change of existing rows", function.name());
                    return Err(TypeError::Unsupported(what));
                }
            };
            let mut arguments = vec![Self::unsigned(seed), Self::unsigned(u64::from(*call))];
            arguments.extend(key.iter().map(|(slot, sql_type)| Self::column(*slot, sql_type.clone(), false)));
            self.node = Node::Function { function: Function::OfRow(of_row), arguments: arguments.into() };
            return Ok(());
        }
        if let Node::Function { function: Function::Variable(..), .. } = &self.node {
            return Err(TypeError::Unsupported("user variables in a change of existing rows".to_owned()));
        }
        self.operands_mut().into_iter().try_for_each(|operand| operand.of_row(seed, key))
    }
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate_volatile(
        self,
        function: VolatileFunction,
        call: u16,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(volatile) = self.context.volatile else {
            let message = format!("{}() has a value in the session only", function.name());
            return Err(EvaluationError::new(ER_NOT_SUPPORTED_YET, message));
        };
        Ok(match function {
            VolatileFunction::Random if self.count() == 0 => {
                Evaluated::Owned(Value::Double(volatile.random()))
            }
            VolatileFunction::Random => {
                let known = volatile.drawn.borrow().sequences.get(&call).copied();
                let mut sequence = match known {
                    Some(sequence) => sequence,
                    None => Sequence::new(self.i64(0)?.unwrap_or(0)),
                };
                let number = sequence.next();
                volatile.drawn.borrow_mut().sequences.insert(call, sequence);
                Evaluated::Owned(Value::Double(number))
            }
            VolatileFunction::Uuid => Evaluated::from_bytes(volatile.uuid().into_bytes()),
            VolatileFunction::UuidShort => match volatile.short_ids.next() {
                Some(id) => Evaluated::Owned(Value::UInt(id)),
                None => {
                    return Err(EvaluationError::new(
                        ER_OUT_OF_RESOURCES,
                        "UUID_SHORT() has no numbers left",
                    ));
                }
            },
            VolatileFunction::Sleep => {
                let seconds = self.double(0)?.filter(|seconds| *seconds >= 0.0);
                let message = || "Incorrect arguments to sleep.".to_owned();
                let result = match seconds {
                    Some(seconds) => volatile.sleep(seconds)?,
                    None if volatile.is_strict => {
                        return Err(EvaluationError::new(ER_WRONG_ARGUMENTS, message()));
                    }
                    None => {
                        self.context.warnings.push(ER_WRONG_ARGUMENTS, message);
                        0
                    }
                };
                Evaluated::Owned(Value::Int(result))
            }
        })
    }

    pub(crate) fn evaluate_of_row(self, function: RowFunction) -> Result<Evaluated<'a>, EvaluationError> {
        if function == RowFunction::RandomFrom {
            let mut sequence = Sequence::new(self.i64(0)?.unwrap_or(0));
            return Ok(Evaluated::Owned(Value::Double(sequence.next())));
        }
        let mut hasher = Sha256::new();
        for index in 0..self.count() {
            let text = self.text(index)?.unwrap_or_default();
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(&text);
        }
        let digest = hasher.finalize();
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&digest[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        Ok(match function {
            RowFunction::Random | RowFunction::RandomFrom => {
                Evaluated::Owned(Value::Double(unit_of(word(0))))
            }
            // The last digits of the moment are the row's, too.
            RowFunction::Uuid => {
                let moment = self.context.now.0.wrapping_mul(10).wrapping_add(word(8) % 10_000);
                Evaluated::from_bytes(uuid_text(moment, word(0)).into_bytes())
            }
        })
    }
}
