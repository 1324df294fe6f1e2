//! The values of the session that a statement names, each of which is a parameter behind the statement's own.
//!
//! Many are found by an index. Invariant: a value that was placed is found until it is truncated away.

use super::known::INDEXED_FROM;
use crate::plan::SessionValue;
use std::collections::BTreeMap;
use std::mem::Discriminant;
use stdx::FixedMap;

/// Session values in the order of their parameters.
#[derive(Debug, Default)]
pub(crate) struct SessionValues {
    values: Vec<SessionValue>,
    /// Positions of values with names, if there are many.
    positions: FixedMap<Discriminant<SessionValue>, BTreeMap<String, usize>>,
}

impl std::ops::Deref for SessionValues {
    type Target = [SessionValue];
    fn deref(&self) -> &[SessionValue] {
        &self.values
    }
}

impl SessionValues {
    /// Adds a value of its own.
    pub(crate) fn push(&mut self, value: SessionValue) {
        self.values.push(value);
    }

    /// The position of a value, which is added if it is not there.
    pub(crate) fn place(&mut self, value: SessionValue) -> usize {
        let Some(name) = name_of(&value).filter(|_| self.values.len() >= INDEXED_FROM) else {
            return self.searched(value);
        };
        if self.positions.is_empty() {
            for (position, value) in self.values.iter().enumerate() {
                if let Some(name) = name_of(value) {
                    let named = self.positions.entry(std::mem::discriminant(value)).or_default();
                    named.entry(name.to_owned()).or_insert(position);
                }
            }
        }
        let named = self.positions.entry(std::mem::discriminant(&value)).or_default();
        match named.get(name).copied().filter(|position| self.values.get(*position) == Some(&value)) {
            Some(position) => position,
            None => {
                named.insert(name.to_owned(), self.values.len());
                self.values.push(value);
                self.values.len() - 1
            }
        }
    }

    fn searched(&mut self, value: SessionValue) -> usize {
        match self.values.iter().position(|known| *known == value) {
            Some(position) => position,
            None => {
                self.values.push(value);
                self.values.len() - 1
            }
        }
    }

    /// Takes all values back but the first ones.
    pub(crate) fn truncate(&mut self, kept: usize) {
        self.values.truncate(kept);
        if kept < INDEXED_FROM {
            self.positions.clear();
        }
    }

    pub(crate) fn into_values(self) -> Vec<SessionValue> {
        self.values
    }
}

/// The name of a variable's value.
fn name_of(value: &SessionValue) -> Option<&str> {
    match value {
        SessionValue::Variable(name) | SessionValue::GlobalVariable(name) | SessionValue::User(name) => {
            Some(name)
        }
        SessionValue::RowCount
        | SessionValue::FoundRows
        | SessionValue::CurrentRole
        | SessionValue::CurrentUser
        | SessionValue::Outer
        | SessionValue::UserLock(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::SessionValues;
    use crate::plan::SessionValue;

    #[test]
    fn values_are_found_with_and_without_an_index() {
        let user = |number: usize| SessionValue::User(number.to_string());
        let mut values = SessionValues::default();
        for number in 0..100 {
            assert_eq!(values.place(user(number)), number);
            assert_eq!(values.place(user(number / 2)), number / 2);
        }
        values.truncate(60);
        assert_eq!(values.place(user(99)), 60);
        assert_eq!(values.place(user(60)), 61);
        assert_eq!(values.place(user(10)), 10);
        assert_eq!(values.into_values().len(), 62);
    }
}
