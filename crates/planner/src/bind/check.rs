//! CHECK constraints and generated columns: expressions over the columns of a table, bound when the table is made or
//! altered.
//!
//! Such an expression has one value for a row, whoever tests it and when: no subqueries, variables, or functions of the
//! session or the time.

use super::expression::Place;
use super::scope::Scope;
use super::{Binder, Clause};
use crate::cursor::Cursor;
use crate::lexer::{Lexer, Symbol, TokenKind};
use crate::modes::TextModes;
use crate::statement::{CheckClause, GeneratedClause};
use catalogue::{CheckSpec, DefaultSpec};
use expression::{Expression, Function, Node};
use protocol::SqlError;
use sqlparser::ast::Expr;
use stdx::wire::to_bytes;
use types::TableDefinition;

impl Binder<'_> {
    /// A constraint on a table; `column` is the one in whose definition it stands, `shown` its name in errors.
    pub(super) fn check(
        &mut self,
        clause: &CheckClause,
        scope: &Scope,
        column: Option<&str>,
        shown: &str,
    ) -> Result<CheckSpec, SqlError> {
        let table = own_table(scope);
        let expression = self.condition(&clause.condition, scope, shown)?;
        if !is_boolean(&expression) {
            let text =
                format!("An expression of non-boolean type specified to a check constraint '{shown}'.");
            return Err(SqlError::new(3812, text));
        }
        let columns = expression.columns();
        if columns.iter().any(|slot| table.auto_increment.is_some_and(|auto| auto.0 == slot.0)) {
            let text = format!("Check constraint '{shown}' cannot refer to an auto-increment column.");
            return Err(SqlError::new(3818, text));
        }
        if let Some(column) = column.and_then(|name| table.column(name))
            && columns.iter().any(|slot| slot.0 != column.0)
        {
            return Err(SqlError::new(
                3813,
                format!("Column check constraint '{shown}' references other column."),
            ));
        }
        Ok(CheckSpec {
            name: clause.name.clone(),
            encoded: to_bytes(&expression),
            text: quoted_columns(&clause.text, scope, self.context.modes),
            is_enforced: clause.is_enforced,
        })
    }

    fn condition(&mut self, expr: &Expr, scope: &Scope, shown: &str) -> Result<Expression, SqlError> {
        self.of_row(expr, scope).map_err(|refused| match refused {
            NotOfRow::Unknown(name, _) => {
                let text = format!("Check constraint '{shown}' refers to non-existing column '{name}'.");
                SqlError::new(3820, text)
            }
            NotOfRow::Variable => {
                let text = "cannot refer to a user or system variable.";
                SqlError::new(3816, format!("An expression of a check constraint '{shown}' {text}"))
            }
            NotOfRow::Function => {
                let text = "contains disallowed function.";
                SqlError::new(3815, format!("An expression of a check constraint '{shown}' {text}"))
            }
            NotOfRow::Error(error) => error,
        })
    }

    /// GENERATED ALWAYS AS of a column.
    pub(super) fn generated(
        &mut self,
        clause: &GeneratedClause,
        scope: &Scope,
        column: &str,
    ) -> Result<DefaultSpec, SqlError> {
        let table = own_table(scope);
        let expression = self.of_row(&clause.expression, scope).map_err(|refused| match refused {
            NotOfRow::Unknown(_, error) | NotOfRow::Error(error) => error,
            NotOfRow::Variable | NotOfRow::Function => {
                let text =
                    format!("Expression of generated column '{column}' contains a disallowed function.");
                SqlError::new(3763, text)
            }
        })?;
        if expression.columns().iter().any(|slot| table.auto_increment.is_some_and(|auto| auto.0 == slot.0)) {
            let text = format!("Generated column '{column}' cannot refer to auto-increment column.");
            return Err(SqlError::new(3109, text));
        }
        Ok(DefaultSpec::Generated {
            encoded: to_bytes(&expression),
            text: quoted_columns(&clause.text, scope, self.context.modes),
            is_stored: clause.is_stored,
        })
    }

    /// An expression whose value the row alone decides.
    fn of_row(&mut self, expr: &Expr, scope: &Scope) -> Result<Expression, NotOfRow> {
        let (values, volatile) = (self.session_values.len(), self.volatile.calls);
        let bound = self.expression(expr, &mut Place::new(scope, Clause::Default));
        let expression = bound.map_err(|error| match (error.code, error.message.split('\'').nth(1)) {
            (1054, Some(name)) => NotOfRow::Unknown(name.to_owned(), error),
            _ => NotOfRow::Error(error),
        })?;
        if self.session_values.len() > values {
            return Err(NotOfRow::Variable);
        }
        if self.volatile.calls > volatile || !is_deterministic(&expression) {
            return Err(NotOfRow::Function);
        }
        Ok(expression)
    }

    /// The encoded expression of a text that a definition holds, over columns that may have other types by now.
    /// None if it names a column that has another name: the catalogue refuses that.
    pub(super) fn bound_again(&mut self, text: &str, scope: &Scope) -> Result<Option<Vec<u8>>, SqlError> {
        let mut cursor = Cursor::new(text, self.context.modes)?;
        let expr = cursor.expression()?;
        cursor.expect_end()?;
        match self.expression(&expr, &mut Place::new(scope, Clause::Default)) {
            Ok(expression) => Ok(Some(to_bytes(&expression))),
            Err(error) if error.code == 1054 => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The table whose rows the expression is about: the only one of the scope.
fn own_table(scope: &Scope) -> &TableDefinition {
    &scope.tables[0].definition
}

/// Why the row alone does not decide a value.
enum NotOfRow {
    /// A column that is not there, and the error that says so.
    Unknown(String, SqlError),
    Variable,
    Function,
    Error(SqlError),
}

/// Whether the value is the same for the same row at all times in all sessions.
fn is_deterministic(expression: &Expression) -> bool {
    const OF_THE_TIME: [&str; 6] = ["NOW", "UTC_TIMESTAMP", "CURTIME", "UTC_TIME", "CURDATE", "UTC_DATE"];
    let mut is_fixed = true;
    expression.visit(&mut |part| {
        if let Node::Function { function, arguments } = &part.node {
            let name = function.name();
            let is_session = matches!(function, Function::Session(_) | Function::Volatile(..));
            let is_now = OF_THE_TIME.contains(&name) || name == "UNIX_TIMESTAMP" && arguments.is_empty();
            is_fixed &= !is_session && !is_now;
        }
    });
    is_fixed
}

/// Whether an expression is a condition: columns, literals and what is computed from them are none.
fn is_boolean(expression: &Expression) -> bool {
    match &expression.node {
        Node::Column(_)
        | Node::Literal(_)
        | Node::Parameter(_)
        | Node::Cast { .. }
        | Node::Interval { .. } => false,
        Node::Binary { operator, .. } => *operator == expression::BinaryOperator::Xor,
        Node::Unary { operator, .. } => *operator == expression::UnaryOperator::Not,
        _ => true,
    }
}

/// A text with the names of a table's columns in backticks, as MySQL shows it.
fn quoted_columns(text: &str, scope: &Scope, modes: TextModes) -> String {
    let mut lexer = Lexer::new(text, modes);
    let mut quoted = String::with_capacity(text.len() + 8);
    let mut position = 0;
    let mut pending: Option<(usize, usize, String)> = None;
    while let Ok(token) = lexer.next_token() {
        if let Some((start, end, name)) = pending.take()
            && !token.is(Symbol::LeftParenthesis)
        {
            quoted.push_str(text.get(position..start).unwrap_or(""));
            quoted.push_str(&name);
            position = end;
        }
        let name = match token.kind {
            TokenKind::End => break,
            TokenKind::Word => token.text(text).to_owned(),
            TokenKind::QuotedWord => {
                let whole = token.text(text);
                let inner = whole.get(1..whole.len().saturating_sub(1)).unwrap_or("");
                inner.replace("``", "`")
            }
            _ => continue,
        };
        if let Some(column) = scope.column_of_name(&name) {
            let name = own_table(scope).column_at(column).name.replace('`', "``");
            pending = Some((token.start, token.end, format!("`{name}`")));
        }
    }
    quoted.push_str(text.get(position..).unwrap_or(""));
    quoted
}
