//! CHECK constraints: tested where the bytes of a row are made.
//!
//! A table without constraints has an empty list. NULL passes, as everything that is not FALSE does.

use expression::{Columns, Context, EvaluationError, Expression};
use protocol::SqlError;
use types::{TableDefinition, Value};

/// A constraint that is enforced.
#[derive(Debug)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// None: its bytes are no expression.
    expression: Option<Expression>,
}

/// The constraints of a table that are enforced.
pub(crate) fn checks_of(table: &TableDefinition) -> Vec<Check> {
    let enforced = table.checks.iter().filter(|check| check.is_enforced);
    let check = |check: &types::CheckConstraint| Check {
        name: check.name.clone(),
        expression: stdx::wire::from_bytes(&check.encoded).ok(),
    };
    enforced.map(check).collect()
}

/// 3819 if a row fails one of the constraints.
pub fn check_row(checks: &[Check], row: &dyn Columns, context: &Context<'_>) -> Result<(), SqlError> {
    for check in checks {
        let Some(expression) = &check.expression else {
            return Err(SqlError::new(
                1815,
                format!("Internal error: constraint '{}' is malformed", check.name),
            ));
        };
        let value = expression.evaluate(row, context).map_err(refused)?;
        let passes = match value {
            Value::Null => true,
            Value::Int(number) => number != 0,
            Value::UInt(number) => number != 0,
            Value::Double(_)
            | Value::Decimal(_)
            | Value::Bytes(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::DateTime(_) => expression.is_true(row, context).map_err(refused)?,
        };
        if !passes {
            return Err(SqlError::new(3819, format!("Check constraint '{}' is violated.", check.name)));
        }
    }
    Ok(())
}

fn refused(error: EvaluationError) -> SqlError {
    SqlError::new(error.code, error.message)
}
