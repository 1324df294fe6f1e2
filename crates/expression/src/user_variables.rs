//! User variables that a statement assigns while it runs: `@v := 1`, and `@v` in the same statement.
//!
//! A variable that a statement only reads is a parameter. One that it assigns has another value from row to row, so
//! it is volatile: the session evaluates it row by row. [`Volatile`](crate::Volatile) holds the values.
//!
//! A read has one type for the whole statement, which the binder has made of all assignments. The value that was
//! assigned last is brought into it where it has another one.
//!
//! *Invariants.* A row that is evaluated again, because it slept, begins with the values that it began with before.
//! The values take no more bytes than the session may keep.

use crate::context::{ER_OUT_OF_RESOURCES, EvaluationError};
use crate::evaluation::Evaluated;
use crate::function::{Call, Function};
use crate::node::{Expression, Node};
use crate::typing::same_representation;
use std::cell::RefCell;
use types::{SqlType, Value};
use wire_derive::Wire;

/// The ways in which an expression names a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum VariableFunction {
    /// `@v`.
    Read,
    /// `@v := argument`.
    Assign,
}

impl VariableFunction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "@",
            Self::Assign => ":=",
        }
    }

    pub(crate) fn argument_counts(self) -> (usize, usize) {
        match self {
            Self::Read => (0, 0),
            Self::Assign => (1, 1),
        }
    }
}

/// A user variable.
#[derive(Clone, PartialEq, Debug)]
pub struct UserVariable {
    /// Its value.
    pub value: Value,
    /// The value's type.
    pub sql_type: SqlType,
}

impl UserVariable {
    /// One that was never set.
    pub const UNSET: Self = Self { value: Value::Null, sql_type: SqlType::Null };

    fn size(&self) -> usize {
        if let Value::Bytes(bytes) = &self.value { bytes.len() } else { 0 }
    }
}

/// The user variables that a statement assigns, by number.
#[derive(Debug, Default)]
pub struct AssignedVariables {
    /// As the session had them.
    initial: Vec<UserVariable>,
    state: RefCell<State>,
    /// Bytes of strings that all values may take.
    size_max: usize,
}

#[derive(Debug, Default)]
struct State {
    values: Vec<UserVariable>,
    is_assigned: Vec<bool>,
    /// The value that each variable assigned since then had when the row began.
    replaced: Vec<(u16, UserVariable)>,
    size: usize,
}

impl AssignedVariables {
    /// With the session's values. The values may take this many bytes of strings.
    #[must_use]
    pub fn new(initial: Vec<UserVariable>, size_max: usize) -> Self {
        let variables = Self { initial, state: RefCell::default(), size_max };
        variables.restart();
        variables
    }

    /// The statement runs again from its beginning.
    pub fn restart(&self) {
        let values = self.initial.clone();
        let size = values.iter().map(UserVariable::size).sum();
        let is_assigned = vec![false; values.len()];
        *self.state.borrow_mut() = State { values, is_assigned, replaced: Vec::new(), size };
    }

    /// The variables that were assigned, by number.
    pub fn take_assigned(&self) -> Vec<(usize, UserVariable)> {
        let mut state = self.state.borrow_mut();
        let State { values, is_assigned, .. } = &mut *state;
        let assigned = is_assigned.iter_mut().zip(values.iter()).enumerate();
        assigned
            .filter_map(|(number, (is_assigned, variable))| {
                std::mem::take(is_assigned).then(|| (number, variable.clone()))
            })
            .collect()
    }

    /// A row begins.
    pub(crate) fn begin_row(&self) {
        self.state.borrow_mut().replaced.clear();
    }

    /// The row that was begun last begins again.
    pub(crate) fn repeat_row(&self) {
        let mut state = self.state.borrow_mut();
        while let Some((number, before)) = state.replaced.pop() {
            state.put(number, before);
        }
    }

    fn read(&self, number: u16) -> UserVariable {
        let state = self.state.borrow();
        state.values.get(usize::from(number)).cloned().unwrap_or(UserVariable::UNSET)
    }

    fn assign(&self, number: u16, variable: UserVariable) -> Result<(), EvaluationError> {
        let mut state = self.state.borrow_mut();
        if let Some(before) = state.put(number, variable)
            && !state.replaced.iter().any(|(known, _)| *known == number)
        {
            state.replaced.push((number, before));
        }
        if let Some(is_assigned) = state.is_assigned.get_mut(usize::from(number)) {
            *is_assigned = true;
        }
        if state.size > self.size_max {
            let message = format!(
                "Out of memory: user variables of a statement take more than {} bytes",
                self.size_max
            );
            return Err(EvaluationError::new(ER_OUT_OF_RESOURCES, message));
        }
        Ok(())
    }
}

impl State {
    /// The value that it had.
    fn put(&mut self, number: u16, variable: UserVariable) -> Option<UserVariable> {
        let place = self.values.get_mut(usize::from(number))?;
        self.size += variable.size();
        let before = std::mem::replace(place, variable);
        self.size -= before.size();
        Some(before)
    }
}

impl Expression {
    /// `@v`, the statement's variable of that number, of the type that its assignments have in common.
    #[must_use]
    pub fn variable(number: u16, sql_type: SqlType) -> Self {
        let function = Function::Variable(VariableFunction::Read, number);
        Self::new(Node::Function { function, arguments: Vec::new().into() }, sql_type, true)
    }

    /// `@v := value`.
    #[must_use]
    pub fn assign_variable(number: u16, value: Self) -> Self {
        let value = value.localised();
        let (sql_type, nullable) = (value.sql_type.clone(), value.nullable);
        let function = Function::Variable(VariableFunction::Assign, number);
        Self::new(Node::Function { function, arguments: vec![value].into() }, sql_type, nullable)
    }

    /// True if it reads or assigns a user variable that the statement assigns.
    #[must_use]
    pub fn uses_variables(&self) -> bool {
        matches!(self.node, Node::Function { function: Function::Variable(..), .. })
            || self.operands().into_iter().any(Self::uses_variables)
    }
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate_variable(
        self,
        function: VariableFunction,
        number: u16,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(volatile) = self.context.volatile else {
            let message = "a user variable that the statement assigns has a value in the session only";
            return Err(EvaluationError::new(crate::context::ER_NOT_SUPPORTED_YET, message));
        };
        match function {
            VariableFunction::Assign => {
                let value = self.value(0)?.into_value();
                let variable = UserVariable { value: value.clone(), sql_type: self.type_of(0).clone() };
                volatile.variables().assign(number, variable)?;
                Ok(Evaluated::Owned(value))
            }
            VariableFunction::Read => {
                let UserVariable { value, sql_type } = volatile.variables().read(number);
                if value.is_null() || same_representation(&sql_type, self.sql_type) {
                    return Ok(Evaluated::Owned(value));
                }
                let cast = Expression::literal(value, sql_type).brought_into(self.sql_type);
                Ok(Evaluated::Owned(cast.value(self.row, self.context)?.into_value()))
            }
        }
    }
}
