//! User variables that a statement assigns in expressions, and those that SELECT … INTO sets.
//!
//! The text says which variables are assigned: `@v :=` inside of an expression. Each has a number. A read has one type
//! for the whole statement: what all assignments have in common. The type of the session's value counts, too, if the
//! variable may be read before it is assigned. So the statement is bound again as long as an assignment turns out not
//! to fit the type that reads were bound with.
//!
//! `LAST_INSERT_ID(expression)` is an assignment, too: of a variable with a name that no user variable has. In such a
//! statement `LAST_INSERT_ID()` reads it.
//!
//! Deliberately not here: variables that are only read, which are parameters.

use super::{Binder, VolatilePlace};
use crate::lexer::{Lexer, Symbol, Token, TokenKind, user_variable_name};
use crate::modes::TextModes;
use crate::normalize::text_parameter_type;
use crate::plan::{ResultColumn, SetItem};
use crate::statement::SelectStatement;
use expression::{Expression, common_type};
use protocol::SqlError;
use std::collections::BTreeMap;
use types::{IntegerWidth, SqlType};

/// How often a statement is bound at most to find the types of its variables.
pub(super) const ROUNDS_MAX: usize = 4;
/// The name of what `LAST_INSERT_ID(expression)` assigns. Those of user variables are in lower case.
pub const LAST_INSERT_ID: &str = "LAST_INSERT_ID()";
/// Its type.
pub(super) const ID_TYPE: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
/// The most digits of a DECIMAL.
const DECIMAL_DIGITS_MAX: u8 = 65;

/// The user variables that a statement assigns, and those that it leaves its result in.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    assigned: Vec<AssignedVariable>,
    /// Numbers by name.
    numbers: BTreeMap<String, usize>,
    /// INTO: names and the types of their values.
    pub(super) into: Vec<(String, SqlType)>,
    /// SET with subqueries: the assignments, whose values are expressions over the query's row.
    pub(super) sets: Vec<SetItem>,
    /// Assignments in expressions.
    pub(super) assignments: usize,
    /// How often expressions name them.
    pub(super) uses: u16,
}

/// A user variable that a statement assigns.
#[derive(Debug)]
struct AssignedVariable {
    /// In lower case.
    name: String,
    /// The type of reads, as far as it was known before the statement was bound.
    known: Option<SqlType>,
    /// The type of reads so far.
    found: Option<SqlType>,
}

impl Variables {
    /// Those that a text assigns. Of SET the targets are none of them.
    pub(super) fn of(text: &str, modes: TextModes, is_set: bool) -> Self {
        let mut lexer = Lexer::new(text, modes);
        let mut assigned: Vec<AssignedVariable> = Vec::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let (mut depth, mut is_first) = (0_usize, false);
        let (mut variable, mut call): (Option<String>, _) = (None, Call::None);
        while let Ok(token) = lexer.next_token() {
            if token.kind == TokenKind::End {
                break;
            }
            let name = match call {
                Call::Named if token.is(Symbol::LeftParenthesis) => None,
                Call::Opened if !token.is(Symbol::RightParenthesis) => Some(LAST_INSERT_ID.to_owned()),
                _ if token.is(Symbol::Assign) => variable.take(),
                _ => None,
            };
            call = call.followed_by(&token, text);
            if let Some(name) = name
                && !numbers.contains_key(&name)
            {
                numbers.insert(name.clone(), assigned.len());
                assigned.push(AssignedVariable { name, known: None, found: None });
            }
            let is_target = is_set && is_first && depth == 0;
            variable = (token.kind == TokenKind::UserVariable && !is_target)
                .then(|| user_variable_name(token.text(text)));
            depth += usize::from(token.is(Symbol::LeftParenthesis));
            depth = depth.saturating_sub(usize::from(token.is(Symbol::RightParenthesis)));
            is_first = token.is(Symbol::Comma) || token.is_word(text, "SET");
        }
        Self { assigned, numbers, ..Self::default() }
    }

    /// For the next binding of the statement; None: this one has found the right types.
    pub(super) fn again(self) -> Result<Self, Self> {
        if self.assigned.iter().all(|variable| variable.found.is_none() || variable.known == variable.found) {
            return Err(self);
        }
        let known =
            |variable: AssignedVariable| AssignedVariable { known: variable.found, found: None, ..variable };
        let assigned = self.assigned.into_iter().map(known).collect();
        Ok(Self { assigned, numbers: self.numbers, ..Self::default() })
    }

    /// Names, by number.
    pub(super) fn names(&self) -> Vec<String> {
        self.assigned.iter().map(|variable| variable.name.clone()).collect()
    }

    /// Whether the statement assigns any.
    pub(super) fn is_empty(&self) -> bool {
        self.assigned.is_empty()
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }
}

/// How much of `LAST_INSERT_ID(` the tokens before were.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    None,
    Named,
    Opened,
}

impl Call {
    fn followed_by(self, token: &Token, text: &str) -> Self {
        match self {
            Self::Named if token.is(Symbol::LeftParenthesis) => Self::Opened,
            _ if token.is_word(text, "LAST_INSERT_ID") => Self::Named,
            _ => Self::None,
        }
    }
}

impl AssignedVariable {
    /// A value of this type may be read.
    fn find(&mut self, sql_type: &SqlType) {
        let found = match &self.found {
            Some(found) => common_type(&[found, sql_type]),
            None => sql_type.clone(),
        };
        self.found = Some(widened(found));
    }
}

/// A type that also has the values that the next assignment makes of those that this one has.
fn widened(sql_type: SqlType) -> SqlType {
    if let Some(collation) = sql_type.character_collation()
        && !matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. })
    {
        return text_parameter_type(collation);
    }
    match sql_type {
        SqlType::Integer { unsigned, .. } => SqlType::Integer { width: IntegerWidth::Big, unsigned },
        SqlType::Decimal { scale, unsigned, .. } => {
            SqlType::Decimal { precision: DECIMAL_DIGITS_MAX, scale, unsigned }
        }
        SqlType::Float => SqlType::Double,
        other => other,
    }
}

impl Binder<'_> {
    /// `@name` where the statement assigns it; None: it does not.
    pub(super) fn assigned_variable(&mut self, name: &str) -> Result<Option<Expression>, SqlError> {
        let Some(number) = self.variables.number(name) else { return Ok(None) };
        self.count_variable_use()?;
        let present = self.context.surroundings.user_variable_type(name);
        let variable = &mut self.variables.assigned[number];
        if variable.found.is_none() {
            // It is read before it is assigned.
            variable.find(&present.unwrap_or(SqlType::Null));
        }
        let sql_type = variable.known.clone().or_else(|| variable.found.clone()).unwrap_or(SqlType::Null);
        Ok(Some(Expression::variable(number_of(number), sql_type)))
    }

    /// `@name := value`.
    pub(super) fn assign_variable(&mut self, name: &str, value: Expression) -> Result<Expression, SqlError> {
        self.count_variable_use()?;
        self.variables.assignments += 1;
        let Some(number) = self.variables.number(name) else {
            return Err(SqlError::unsupported("assignment of a user variable here"));
        };
        let assigned = Expression::assign_variable(number_of(number), value);
        self.variables.assigned[number].find(&assigned.sql_type);
        Ok(assigned)
    }

    /// `LAST_INSERT_ID(value)`.
    pub(super) fn assign_last_insert_id(&mut self, value: Expression) -> Result<Expression, SqlError> {
        let number = self.variables.number(LAST_INSERT_ID);
        let (VolatilePlace::Session | VolatilePlace::Restless, Some(number)) = (self.volatile.place, number)
        else {
            return Err(SqlError::unsupported("LAST_INSERT_ID(expression) here"));
        };
        self.count_variable_use()?;
        let value = self.typed(Expression::cast(value, ID_TYPE))?;
        self.variables.assigned[number].find(&ID_TYPE);
        Ok(Expression::assign_variable(number_of(number), value))
    }

    /// `LAST_INSERT_ID()` in a statement that gives it a value; None: in another one.
    pub(super) fn assigned_last_insert_id(&mut self) -> Result<Option<Expression>, SqlError> {
        let Some(number) = self.variables.number(LAST_INSERT_ID) else { return Ok(None) };
        if self.volatile.place == VolatilePlace::Rows {
            return Ok(None);
        }
        self.count_variable_use()?;
        self.variables.assigned[number].find(&ID_TYPE);
        Ok(Some(Expression::variable(number_of(number), ID_TYPE)))
    }

    fn count_variable_use(&mut self) -> Result<(), SqlError> {
        if self.volatile.place == VolatilePlace::Rows {
            return Err(SqlError::unsupported("user variables that the statement assigns here"));
        }
        self.variables.uses = self.variables.uses.saturating_add(1);
        let calls = self.volatile.calls.checked_add(1);
        self.volatile.calls = calls.ok_or_else(|| SqlError::unsupported("so many uses of user variables"))?;
        Ok(())
    }

    /// The variables of SELECT … INTO: it has no result set then.
    pub(super) fn left_in_variables(
        &mut self,
        select: &SelectStatement,
        columns: Vec<ResultColumn>,
    ) -> Result<Vec<ResultColumn>, SqlError> {
        if select.into.is_empty() {
            return Ok(columns);
        }
        if select.into.len() != columns.len() {
            let text = "The used SELECT statements have a different number of columns";
            return Err(SqlError::new(1222, text));
        }
        let types = columns.into_iter().map(|column| column.sql_type);
        self.variables.into = select.into.iter().cloned().zip(types).collect();
        Ok(Vec::new())
    }
}

/// A text of 2^16 assignments is longer than the lexer takes.
fn number_of(position: usize) -> u16 {
    u16::try_from(position).unwrap_or(u16::MAX)
}
