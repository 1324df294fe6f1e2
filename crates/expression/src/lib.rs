//! Scalar expressions and aggregates with MySQL 8's semantics: the only place that knows what `'a' = 'A'`, `1/2`,
//! `'1abc' + 1`, `NULL <=> NULL` or DATE + INTERVAL mean.
//!
//! - [`node`]: the tree. [`typing`]: its constructors, which decide types and insert conversions, once.
//! - [`evaluation`]: the value on a row; `arithmetic`, `comparison`, `conversion`, `pattern` and the `*_functions` do
//!   the work.
//! - [`aggregate`]: aggregate calls and their mergeable states. [`fold`]: constant folding.
//!
//! The same code runs in sessions and, for pushed-down conditions, in data nodes: trees and aggregate states have a
//! binary form, and evaluation needs no catalogue.
//!
//! Invariants: nothing here reads a clock, a random source or a global. Evaluation never panics, whatever tree and row
//! it is given. It recurses as deep as the tree, which decoding and [`node::DEPTH_MAX`] bound.
//!
//! Deliberately not here: names (columns are slots), subqueries, user variables, VALUES(), window functions.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "MySQL's rules name a few kinds of values, types or units and treat all others alike; a list of the others would hide the rule"
)]

pub mod aggregate;
pub mod column_condition;
pub mod comparison;
pub mod context;
pub mod evaluation;
mod fingerprint;
pub mod fold;
pub mod function;
mod interval;
pub mod node;
pub mod pattern;
pub mod typing;
pub mod user_variables;
pub mod volatile_functions;

mod arithmetic;
mod control_functions;
mod conversion;
mod numeric_functions;
mod regexp_functions;
mod search;
mod session_functions;
mod temporal_format;
mod temporal_functions;
mod text_functions;
mod uuid_functions;

pub use aggregate::{AggregateCall, AggregateFunction, AggregateState};
pub use column_condition::{ColumnCondition, ColumnTest, TextTest, remainder};
pub use comparison::{compare_numbers, compare_values, hash_value, order_prefix};
pub use context::{
    ColumnSlot, Columns, Context, EvaluationError, NoColumns, Settings, SqlMode, StoredRow, TypeError,
    Warning, Warnings,
};
pub use evaluation::Evaluated;
pub use fingerprint::Fingerprint;
pub use fold::fold_constants;
pub use function::Function;
pub use interval::Direction;
pub use node::{
    Arguments, BinaryOperator, CastPurpose, Comparison, DEPTH_MAX, Domain, Expression, InList, IntervalUnit,
    Node, Test, UnaryOperator,
};
pub use pattern::like_prefix;
pub use typing::{IMPLICIT, TypingContext, common_type, strongest};
pub use user_variables::{AssignedVariables, UserVariable};
pub use volatile_functions::{ShortIds, Volatile, VolatileFunction, Woken};

#[cfg(test)]
mod tests;
