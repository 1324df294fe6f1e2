//! COALESCE, GREATEST, LEAST, INTERVAL(): functions that choose among their arguments; and XOR, which as a function of
//! any number of operands stays flat however long its chain is.

use crate::comparison::{compare_numbers, compare_values};
use crate::context::{EvaluationError, TypeError};
use crate::evaluation::Evaluated;
use crate::function::{Call, MANY, Typed, functions};
use crate::node::Expression;
use crate::typing::{BIGINT, collation_of};
use std::cmp::Ordering;
use types::{Collation, ValueRef};

functions! {
    /// Functions that choose among their arguments.
    ControlFunction {
        Coalesce "COALESCE" 1..=MANY,
        Greatest "GREATEST" 2..=MANY,
        Least "LEAST" 2..=MANY,
        IntervalIndex "INTERVAL" 2..=MANY,
        Xor "XOR" 2..=MANY,
    }
}

impl ControlFunction {
    pub(crate) fn typed(self, arguments: Vec<Expression>) -> Result<Typed, TypeError> {
        match self {
            Self::Coalesce => {
                let nullable = arguments.iter().all(|argument| argument.nullable);
                let (sql_type, arguments) = Expression::unify(arguments, "coalesce")?;
                Ok(Typed { arguments, sql_type, nullable })
            }
            Self::Greatest | Self::Least => {
                let (sql_type, arguments) = Expression::unify(arguments, "greatest")?;
                Ok(Typed::strict(arguments, sql_type))
            }
            Self::IntervalIndex => {
                let arguments = arguments.into_iter().map(Expression::into_number).collect();
                Ok(Typed { arguments, sql_type: BIGINT, nullable: false })
            }
            Self::Xor => Ok(Typed::strict(arguments, BIGINT)),
        }
    }
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate_control(
        self,
        function: ControlFunction,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        match function {
            ControlFunction::Coalesce => {
                for index in 0..self.count() {
                    let value = self.value(index)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Evaluated::NULL)
            }
            ControlFunction::Greatest => self.extreme(Ordering::Greater),
            ControlFunction::Least => self.extreme(Ordering::Less),
            ControlFunction::IntervalIndex => self.interval_index(),
            ControlFunction::Xor => self.parity(),
        }
    }

    /// The first argument that no other one is on the `wanted` side of; NULL if one is NULL.
    fn extreme(self, wanted: Ordering) -> Result<Evaluated<'a>, EvaluationError> {
        let collation = collation_of(self.sql_type).unwrap_or(Collation::Binary);
        let mut best = self.value(0)?;
        for index in 1..self.count() {
            if best.is_null() {
                return Ok(Evaluated::NULL);
            }
            let candidate = self.value(index)?;
            self.context.warnings.work_on_comparison(candidate.as_ref(), best.as_ref(), collation)?;
            if candidate.is_null()
                || compare_values(&candidate.as_ref(), &best.as_ref(), self.sql_type) == wanted
            {
                best = candidate;
            }
        }
        Ok(best)
    }

    /// XOR of all; unknown if one is.
    fn parity(self) -> Result<Evaluated<'a>, EvaluationError> {
        let mut odd = false;
        for operand in self.arguments {
            let Some(truth) = operand.truth(self.row, self.context)? else { return Ok(Evaluated::NULL) };
            odd ^= truth;
        }
        Ok(Evaluated::from_truth(Some(odd)))
    }

    /// How many of the thresholds (ascending, NULL lowest) the first argument reaches; -1 for NULL.
    fn interval_index(self) -> Result<Evaluated<'a>, EvaluationError> {
        let number = self.value(0)?;
        if number.is_null() {
            return Ok(Evaluated::Borrowed(ValueRef::Int(-1)));
        }
        let (mut low, mut high) = (1, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            let threshold = self.value(middle)?;
            let reached = threshold.is_null()
                || compare_numbers(threshold.as_ref(), number.as_ref()) != Ordering::Greater;
            if reached { low = middle + 1 } else { high = middle }
        }
        Ok(Evaluated::Borrowed(ValueRef::Int(i64::try_from(low - 1).unwrap_or(i64::MAX))))
    }
}
