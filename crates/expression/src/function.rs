//! Functions by name: which exist, how many arguments they take, what type they give, and where they are evaluated.
//!
//! Each topic has its own enum, typing and evaluation, in `control_functions.rs`, `text_functions.rs` and the others of
//! that name; this file joins them. (Those of regular expressions are called by `Expression::call`.) Functions that are
//! another way to write an operator (IF, IFNULL, NULLIF, MOD, ADDDATE …) become that operator.
//!
//! Invariant: no function reads a clock or a random source; RAND, UUID and SLEEP have what they need from the session
//! (`volatile_functions`).

use crate::arithmetic::out_of_range;
use crate::context::{Columns, Context, EvaluationError, TypeError};
use crate::control_functions::ControlFunction;
use crate::conversion::{Number, integer_of};
use crate::conversion::{date_of, datetime_of, double_of, i64_of, number_of, text_of, time_of};
use crate::evaluation::Evaluated;
use crate::interval::Direction;
use crate::node::{BinaryOperator, Comparison, Expression, IntervalUnit, Node, Test};
use crate::numeric_functions::NumericFunction;
use crate::regexp_functions::RegexpFunction;
use crate::session_functions::SessionFunction;
use crate::temporal_functions::TemporalFunction;
use crate::text_functions::TextFunction;
use crate::typing::{
    DEFAULT_COLLATION, TypingContext, collation_of, fraction_digits, time_fraction_digits, with_collation,
};
use crate::user_variables::VariableFunction;
use crate::uuid_functions::UuidFunction;
use crate::volatile_functions::{RowFunction, VolatileFunction};
use std::borrow::Cow;
use types::{Date, DateTime, SqlType, Time, Value, ValueRef};
use wire_derive::Wire;

/// Declares the functions of a topic: variant, SQL name, other names, least and most arguments.
macro_rules! functions {
    ($(#[$meta:meta])* $topic:ident {
        $($variant:ident $name:literal $([$($alias:literal),+])? $least:literal..=$most:expr,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, ::wire_derive::Wire)]
        pub enum $topic { $($variant),+ }

        impl $topic {
            /// All of the topic, in the order of their numbers on the wire.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            /// The function of that upper-case name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($name $($(| $alias)+)? => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Its first name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// How many arguments it takes, least and most.
            #[must_use]
            pub fn argument_counts(self) -> (usize, usize) {
                match self { $(Self::$variant => ($least, $most)),+ }
            }
        }
    };
}
pub(crate) use functions;

/// As many arguments as one likes.
pub(crate) const MANY: usize = usize::MAX;

/// A function of any topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Function {
    /// Chooses among its arguments.
    Control(ControlFunction),
    /// Tells about the session.
    Session(SessionFunction),
    /// On numbers.
    Numeric(NumericFunction),
    /// On strings.
    Text(TextFunction),
    /// On dates and times.
    Temporal(TemporalFunction),
    /// EXTRACT(unit FROM argument).
    Extract(IntervalUnit),
    /// TIMESTAMPDIFF(unit, from, to).
    TimestampDifference(IntervalUnit),
    /// Another value each time: the statement's call of that number.
    Volatile(VolatileFunction, u16),
    /// A volatile function as a function of the row.
    OfRow(RowFunction),
    /// On UUIDs.
    Uuid(UuidFunction),
    /// On a user variable that the statement assigns: the one of that number.
    Variable(VariableFunction, u16),
}

/// Functions that MySQL has and this version does not.
const UNSUPPORTED: &[&str] = &[
    "AES_DECRYPT",
    "AES_ENCRYPT",
    "BENCHMARK",
    "COMPRESS",
    "CONVERT_TZ",
    "EXPORT_SET",
    "EXTRACTVALUE",
    "GROUPING",
    "INET6_ATON",
    "INET6_NTOA",
    "IS_IPV4",
    "IS_IPV6",
    "LOAD_FILE",
    "MAKE_SET",
    "MATCH",
    "NAME_CONST",
    "RANDOM_BYTES",
    "UNCOMPRESS",
    "UNCOMPRESSED_LENGTH",
    "UPDATEXML",
    "WEIGHT_STRING",
];

impl Function {
    /// Whether it has another value each time.
    pub(crate) fn is_volatile(self) -> bool {
        matches!(self, Function::Volatile(..) | Function::Variable(..))
    }

    /// Whether a text that it gives is a new one, not a part or a form of its arguments: it has a collation of its own.
    pub(crate) fn makes_text(self) -> bool {
        match self {
            Function::Text(function) => matches!(
                function,
                TextFunction::Hex
                    | TextFunction::Unhex
                    | TextFunction::ToBase64
                    | TextFunction::FromBase64
                    | TextFunction::Md5
                    | TextFunction::Sha1
                    | TextFunction::Sha2
                    | TextFunction::Char
                    | TextFunction::CharUsing
                    | TextFunction::Format
                    | TextFunction::Space
                    | TextFunction::Collation
                    | TextFunction::CharacterSet
            ),
            Function::Numeric(_)
            | Function::Temporal(_)
            | Function::Session(_)
            | Function::Volatile(..)
            | Function::OfRow(_)
            | Function::Uuid(_) => true,
            Function::Control(_)
            | Function::Extract(_)
            | Function::TimestampDifference(_)
            | Function::Variable(..) => false,
        }
    }

    /// The function of that name, any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        let name = name.as_str();
        ControlFunction::by_name(name)
            .map(Self::Control)
            .or_else(|| SessionFunction::by_name(name).map(Self::Session))
            .or_else(|| NumericFunction::by_name(name).map(Self::Numeric))
            .or_else(|| TextFunction::by_name(name).map(Self::Text))
            .or_else(|| TemporalFunction::by_name(name).map(Self::Temporal))
            .or_else(|| UuidFunction::by_name(name).map(Self::Uuid))
    }

    /// Its first SQL name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Control(function) => function.name(),
            Self::Session(function) => function.name(),
            Self::Numeric(function) => function.name(),
            Self::Text(function) => function.name(),
            Self::Temporal(function) => function.name(),
            Self::Extract(_) => "EXTRACT",
            Self::TimestampDifference(_) => "TIMESTAMPDIFF",
            Self::Volatile(function, _) => function.name(),
            Self::OfRow(function) => function.name(),
            Self::Uuid(function) => function.name(),
            Self::Variable(function, _) => function.name(),
        }
    }

    fn argument_counts(self) -> (usize, usize) {
        match self {
            Self::Control(function) => function.argument_counts(),
            Self::Session(function) => function.argument_counts(),
            Self::Numeric(function) => function.argument_counts(),
            Self::Text(function) => function.argument_counts(),
            Self::Temporal(function) => function.argument_counts(),
            Self::Extract(_) => (1, 1),
            Self::TimestampDifference(_) => (2, 2),
            Self::Volatile(function, _) => function.argument_counts(),
            Self::OfRow(_) => (1, MANY),
            Self::Uuid(function) => function.argument_counts(),
            Self::Variable(function, _) => function.argument_counts(),
        }
    }
}

/// The decisions of typing about a call.
pub(crate) struct Typed {
    /// Converted where the function needs it.
    pub(crate) arguments: Vec<Expression>,
    pub(crate) sql_type: SqlType,
    pub(crate) nullable: bool,
}

impl Typed {
    /// NULL only if an argument is.
    pub(crate) fn strict(arguments: Vec<Expression>, sql_type: SqlType) -> Self {
        let nullable = arguments.iter().any(|argument| argument.nullable);
        Self { arguments, sql_type, nullable }
    }

    /// NULL also for some values.
    pub(crate) fn nullable(arguments: Vec<Expression>, sql_type: SqlType) -> Self {
        Self { arguments, sql_type, nullable: true }
    }
}

/// A call being evaluated: its arguments are evaluated as they are asked for.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The call as a whole, for messages.
    pub(crate) expression: &'a Expression,
    pub(crate) arguments: &'a [Expression],
    pub(crate) sql_type: &'a SqlType,
    pub(crate) row: &'a dyn Columns,
    pub(crate) context: &'a Context<'a>,
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate(self, function: Function) -> Result<Evaluated<'a>, EvaluationError> {
        match function {
            Function::Control(function) => self.evaluate_control(function),
            Function::Session(function) => self.evaluate_session(function),
            Function::Numeric(function) => self.evaluate_numeric(function),
            Function::Text(function) => self.evaluate_text(function),
            Function::Temporal(function) => self.evaluate_temporal(function),
            Function::Extract(unit) => self.extract(unit),
            Function::TimestampDifference(unit) => self.timestamp_difference(unit),
            Function::Volatile(function, call) => self.evaluate_volatile(function, call),
            Function::OfRow(function) => self.evaluate_of_row(function),
            Function::Uuid(function) => self.evaluate_uuid(function),
            Function::Variable(function, number) => self.evaluate_variable(function, number),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.arguments.len()
    }

    /// Argument `index`; NULL if a peer sent too few.
    pub(crate) fn value(&self, index: usize) -> Result<Evaluated<'a>, EvaluationError> {
        match self.arguments.get(index) {
            Some(argument) => argument.value(self.row, self.context),
            None => Ok(Evaluated::NULL),
        }
    }

    pub(crate) fn type_of(&self, index: usize) -> &'a SqlType {
        self.arguments.get(index).map_or(&SqlType::Null, |argument| &argument.sql_type)
    }

    pub(crate) fn text(&self, index: usize) -> Result<Option<Cow<'a, [u8]>>, EvaluationError> {
        let text = match self.value(index)? {
            Evaluated::Borrowed(ValueRef::Null) | Evaluated::Owned(Value::Null) => return Ok(None),
            Evaluated::Borrowed(ValueRef::Bytes(text)) => Cow::Borrowed(text),
            Evaluated::Owned(Value::Bytes(text)) => Cow::Owned(text),
            other => Cow::Owned(text_of(other.as_ref(), self.type_of(index)).into_owned()),
        };
        self.context.warnings.work_on_text(text.len())?;
        Ok(Some(text))
    }

    /// A double that is none because it is too large is an error, never infinite.
    pub(crate) fn finite(&self, number: f64) -> Result<Evaluated<'a>, EvaluationError> {
        if number.is_finite() {
            return Ok(Evaluated::Borrowed(ValueRef::Double(number)));
        }
        Err(out_of_range("DOUBLE", self.expression))
    }

    pub(crate) fn number(&self, index: usize) -> Result<Option<Number>, EvaluationError> {
        number_of(self.value(index)?.as_ref(), self.context)
    }

    pub(crate) fn double(&self, index: usize) -> Result<Option<f64>, EvaluationError> {
        double_of(self.value(index)?.as_ref(), self.context)
    }

    pub(crate) fn integer(&self, index: usize) -> Result<Option<i128>, EvaluationError> {
        integer_of(self.value(index)?.as_ref(), self.context)
    }

    pub(crate) fn i64(&self, index: usize) -> Result<Option<i64>, EvaluationError> {
        i64_of(self.value(index)?.as_ref(), self.context)
    }

    pub(crate) fn datetime(&self, index: usize) -> Result<Option<DateTime>, EvaluationError> {
        datetime_of(self.value(index)?.as_ref(), self.context)
    }

    pub(crate) fn date(&self, index: usize) -> Result<Option<Date>, EvaluationError> {
        date_of(self.value(index)?.as_ref(), self.context)
    }

    pub(crate) fn time(&self, index: usize) -> Result<Option<Time>, EvaluationError> {
        time_of(self.value(index)?.as_ref(), self.context)
    }
}

/// The name of the function that an expression calls, for messages.
pub(crate) fn name_of(expression: &Expression) -> String {
    match &expression.node {
        Node::Function { function, .. } => function.name().to_ascii_lowercase(),
        _ => String::new(),
    }
}

impl Expression {
    /// A call of the function called `name`, typed.
    pub fn call(name: &str, arguments: Vec<Self>, typing: &TypingContext) -> Result<Self, TypeError> {
        let upper = name.to_ascii_uppercase();
        if let Some(rewritten) = Self::rewritten_call(&upper, &arguments, typing)? {
            return Ok(rewritten);
        }
        if let Some(function) = RegexpFunction::by_name(&upper) {
            let (least, most) = function.argument_counts();
            if arguments.len() < least || arguments.len() > most {
                return Err(TypeError::WrongArgumentCount(name.to_owned()));
            }
            return Self::regexp(function, arguments.into_iter().map(Self::localised).collect());
        }
        let Some(function) = Function::by_name(&upper) else {
            let known = UNSUPPORTED.contains(&upper.as_str())
                || ["JSON_", "ST_", "MBR", "GEOM"].iter().any(|prefix| upper.starts_with(prefix));
            return Err(if known {
                TypeError::Unsupported(upper)
            } else {
                TypeError::UnknownFunction(name.to_owned())
            });
        };
        let (least, most) = function.argument_counts();
        if arguments.len() < least || arguments.len() > most {
            return Err(TypeError::WrongArgumentCount(name.to_owned()));
        }
        let arguments: Vec<Self> = arguments.into_iter().map(Self::localised).collect();
        let has_text = arguments.iter().any(|argument| collation_of(&argument.sql_type).is_some());
        let mut typed = match function {
            Function::Control(function) => function.typed(arguments)?,
            Function::Session(function) => function.typed(),
            Function::Numeric(function) => function.typed(arguments, typing),
            Function::Text(function) => function.typed(arguments, typing)?,
            Function::Temporal(function) => function.typed(arguments, typing)?,
            Function::Uuid(function) => function.typed(arguments),
            // Not by name: their unit, or the number of the call, is no argument.
            Function::Extract(_)
            | Function::TimestampDifference(_)
            | Function::Volatile(..)
            | Function::OfRow(_)
            | Function::Variable(..) => {
                return Err(TypeError::WrongArguments(name.to_owned()));
            }
        };
        // Numbers and dates have no collation to give to a text that is made of them.
        let is_made = matches!(function, Function::Text(_) | Function::Control(_)) && !has_text;
        if is_made && collation_of(&typed.sql_type).is_some_and(|collation| collation == DEFAULT_COLLATION) {
            typed.sql_type = with_collation(&typed.sql_type, typing.collation);
        }
        let node = Node::Function { function, arguments: typed.arguments.into() };
        Ok(Self::new(node, typed.sql_type, typed.nullable))
    }

    /// Functions that are operators by another name; `None` for all others.
    fn rewritten_call(
        name: &str,
        arguments: &[Self],
        typing: &TypingContext,
    ) -> Result<Option<Self>, TypeError> {
        let wrong_count = || TypeError::WrongArgumentCount(name.to_owned());
        let two = || match arguments {
            [left, right] => Ok((left.clone(), right.clone())),
            _ => Err(wrong_count()),
        };
        Ok(Some(match name {
            "IF" => match arguments {
                [condition, then, otherwise] => {
                    Self::if_else(condition.clone(), then.clone(), otherwise.clone())?
                }
                _ => return Err(wrong_count()),
            },
            "IFNULL" => {
                let (left, right) = two()?;
                Self::call("COALESCE", vec![left, right], &TypingContext::default())?
            }
            "NULLIF" => {
                let (left, right) = two()?;
                let equal = Self::compare(Comparison::Equal, left.clone(), right)?;
                Self::case(vec![(equal, Self::null())], Some(left))?
            }
            "ISNULL" => match arguments {
                [operand] => Self::is(Test::Null, operand.clone()),
                _ => return Err(wrong_count()),
            },
            "MOD" => {
                let (left, right) = two()?;
                Self::binary(BinaryOperator::Modulo, left, right)?
            }
            "DATE" => Self::cast_call(arguments, name, |_| SqlType::Date)?,
            "TIME" => Self::cast_call(arguments, name, |operand| SqlType::Time {
                fraction: time_fraction_digits(operand),
            })?,
            "TIMESTAMP" if arguments.len() == 1 => Self::cast_call(arguments, name, |operand| {
                SqlType::DateTime { fraction: fraction_digits(operand) }
            })?,
            "ADDDATE" | "SUBDATE" => {
                let (date, days) = two()?;
                let direction = if name == "ADDDATE" { Direction::Add } else { Direction::Subtract };
                Self::interval(date, days, IntervalUnit::Day, direction, typing)?
            }
            _ => return Ok(None),
        }))
    }

    fn cast_call(
        arguments: &[Self],
        name: &str,
        sql_type: impl Fn(&Self) -> SqlType,
    ) -> Result<Self, TypeError> {
        let [operand] = arguments else { return Err(TypeError::WrongArgumentCount(name.to_owned())) };
        let operand = operand.clone().localised();
        let sql_type = sql_type(&operand);
        Self::cast(operand, sql_type)
    }
}
