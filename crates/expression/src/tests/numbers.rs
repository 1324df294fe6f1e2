//! The numbers of functions in messages between nodes, and in plans that sessions send: their places in their enums.
//!
//! `numbers.txt` has a line for each topic, with its functions in the order of their numbers. These lines only grow:
//! a new function is added behind the others, by `UPDATE_GOLDEN=1 cargo test -p expression numbers`.

use crate::aggregate::AggregateFunction;
use crate::control_functions::ControlFunction;
use crate::function::Function;
use crate::node::IntervalUnit;
use crate::numeric_functions::NumericFunction;
use crate::regexp_functions::RegexpFunction;
use crate::session_functions::SessionFunction;
use crate::temporal_functions::TemporalFunction;
use crate::text_functions::TextFunction;
use crate::user_variables::VariableFunction;
use crate::uuid_functions::UuidFunction;
use crate::volatile_functions::{RowFunction, VolatileFunction};
use std::fmt::Debug;
use stdx::wire::{Wire, WireError, from_bytes, to_bytes};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/numbers.txt");
const KNOWN: &str = include_str!("numbers.txt");

const AGGREGATES: [AggregateFunction; 14] = [
    AggregateFunction::Count,
    AggregateFunction::Sum,
    AggregateFunction::Average,
    AggregateFunction::Minimum,
    AggregateFunction::Maximum,
    AggregateFunction::GroupConcat,
    AggregateFunction::BitAnd,
    AggregateFunction::BitOr,
    AggregateFunction::BitXor,
    AggregateFunction::StandardDeviation,
    AggregateFunction::SampleStandardDeviation,
    AggregateFunction::Variance,
    AggregateFunction::SampleVariance,
    AggregateFunction::AnyValue,
];

/// A topic's line: its name, then its functions. All are there, in the order of their numbers.
fn line<T: Wire + Debug>(topic: &str, functions: &[T]) -> String {
    let mut line = topic.to_owned();
    for (number, function) in (0_u8..).zip(functions) {
        assert_eq!(to_bytes(function)[0], number, "{topic}: {function:?}");
        let name = format!("{function:?}");
        line.push(' ');
        line.push_str(name.split('(').next().unwrap_or(&name));
    }
    let next = u8::try_from(functions.len()).expect("a number is a byte");
    let behind = from_bytes::<T>(&[next]).err();
    assert_eq!(behind, Some(WireError::UnknownTag), "{topic}: one behind {line} is not in this test");
    line
}

fn lines() -> Vec<String> {
    let topics = [
        Function::Control(ControlFunction::ALL[0]),
        Function::Session(SessionFunction::ALL[0]),
        Function::Numeric(NumericFunction::ALL[0]),
        Function::Text(TextFunction::ALL[0]),
        Function::Temporal(TemporalFunction::ALL[0]),
        Function::Extract(IntervalUnit::Day),
        Function::TimestampDifference(IntervalUnit::Day),
        Function::Volatile(VolatileFunction::ALL[0], 0),
        Function::OfRow(RowFunction::Random),
        Function::Uuid(UuidFunction::ALL[0]),
        Function::Variable(VariableFunction::Read, 0),
    ];
    vec![
        line("Function", &topics),
        line("Control", ControlFunction::ALL),
        line("Session", SessionFunction::ALL),
        line("Numeric", NumericFunction::ALL),
        line("Text", TextFunction::ALL),
        line("Temporal", TemporalFunction::ALL),
        line("Volatile", VolatileFunction::ALL),
        line("OfRow", &[RowFunction::Random, RowFunction::Uuid, RowFunction::RandomFrom]),
        line("Uuid", UuidFunction::ALL),
        line("Variable", &[VariableFunction::Read, VariableFunction::Assign]),
        line("Regexp", RegexpFunction::ALL),
        line("Aggregate", &AGGREGATES),
    ]
}

#[test]
fn numbers_of_functions_stay() {
    let lines = lines();
    for (line, known) in lines.iter().zip(KNOWN.lines()) {
        assert!(
            format!("{line} ").starts_with(&format!("{known} ")),
            "a number has changed:\n{line}\n{known}"
        );
    }
    #[expect(clippy::disallowed_methods, reason = "a person asks for it")]
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(FILE, lines.join("\n") + "\n").expect("numbers.txt is written");
    }
    assert!(KNOWN.lines().eq(&lines), "UPDATE_GOLDEN=1 adds what is new");
}
