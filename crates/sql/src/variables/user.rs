//! User variables, `@name`: values that a session keeps under names of its own, until it ends or is reset.
//!
//! A statement that reads one is bound to the type that its value has at that moment, so its plan is good for one
//! execution only.
//!
//! **Invariant.** A session keeps at most [`SIZE_MAX`] bytes, names included.
//!
//! A statement that assigns some in expressions (`@a := 1`) has copies of these ([`AssignedVariables`]), which come
//! back when it has ended.

#[cfg(test)]
mod tests;

use expression::{AssignedVariables, Context, Expression, NoColumns, UserVariable};
use planner::LAST_INSERT_ID;
use protocol::SqlError;
use std::collections::BTreeMap;
use types::{BlobSize, Collation, IntegerWidth, SqlType, Value};

/// Bytes of all variables of a session.
const SIZE_MAX: usize = 1 << 20;
/// Bytes of a variable besides its name and a string.
const ENTRY_SIZE: usize = 128;

/// The user variables of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserVariables {
    /// By name, in lower case.
    values: BTreeMap<String, (Value, SqlType)>,
    size: usize,
}

impl UserVariables {
    /// Its value and type; nothing if it was never set.
    pub(crate) fn get(&self, name: &str) -> Option<&(Value, SqlType)> {
        self.values.get(name)
    }

    /// Those of these names, for a statement that assigns them; LAST_INSERT_ID() is one of them.
    pub(crate) fn of(&self, names: &[String], last_insert_id: u64) -> AssignedVariables {
        let variable = |name: &String| {
            if name == LAST_INSERT_ID {
                let sql_type = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
                return Some(UserVariable { value: Value::UInt(last_insert_id), sql_type });
            }
            let (value, sql_type) = self.get(name)?.clone();
            Some(UserVariable { value, sql_type })
        };
        let named: Vec<UserVariable> =
            names.iter().map(|name| variable(name).unwrap_or(UserVariable::UNSET)).collect();
        let own: usize = names.iter().filter_map(|name| Some(size_of(name, &self.get(name)?.0))).sum();
        let wanted: usize = names.iter().map(|name| size_of(name, &Value::Null)).sum();
        AssignedVariables::new(named, (SIZE_MAX + own).saturating_sub(self.size + wanted))
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, name: &str, value: Value, sql_type: SqlType) -> Result<(), SqlError> {
        let old = self.get(name).map_or(0, |(old, _)| size_of(name, old));
        let size = self.size - old + size_of(name, &value);
        if size > SIZE_MAX {
            let message = format!("Out of memory: the user variables of a session may take {SIZE_MAX} bytes");
            return Err(SqlError::new(1041, message));
        }
        self.size = size;
        self.values.insert(name.to_owned(), (value, sql_type));
        Ok(())
    }

    /// All of them by name, as texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, Value)> {
        self.values.iter().map(|(name, (value, sql_type))| (name.as_str(), text_of(value, sql_type)))
    }

    /// Bytes of all.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A value as a text; NULL stays.
fn text_of(value: &Value, sql_type: &SqlType) -> Value {
    let text = SqlType::Text { size: BlobSize::Long, collation: Collation::Utf8mb4Bin };
    let literal = Expression::literal(value.clone(), sql_type.clone());
    let cast = Expression::cast(literal, text).ok();
    cast.and_then(|cast| cast.evaluate(&NoColumns, &Context::default()).ok()).unwrap_or(Value::Null)
}

fn size_of(name: &str, value: &Value) -> usize {
    let bytes = if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
    ENTRY_SIZE + name.len() + bytes
}
