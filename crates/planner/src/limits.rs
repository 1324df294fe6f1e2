//! Limits of a statement's text, checked on its tokens before a parser sees it.
//!
//! Parsing, binding and dropping a tree recurse, so the depth of any tree that can come out of the tokens is bounded
//! here. The bound is on the *path*: the sum, over the open parentheses (and CASEs) around a token, of the operators
//! before it in its list item. A chain of AND and OR is counted apart because it may be long in honest statements and
//! becomes one flat node. Set operations make a chain of their own, which commas do not end.
//!
//! Invariant: a statement that passes [`check`] nests at most
//! `nesting_depth_max + operator_path_max + connective_path_max + set_operation_count_max` deep.

use super::lexer::{Lexer, Symbol, TokenKind};
use super::modes::TextModes;
use super::syntax::syntax_error;
use protocol::SqlError;

/// Limits on the text of one statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextLimits {
    /// Bytes; max_allowed_packet is the limit that clients meet.
    pub text_size_max: usize,
    /// Tokens. All of them are parsed and bound in one call, in about a microsecond each. A dump's statement has a MiB
    /// of text, hence no more tokens than this.
    pub token_count_max: usize,
    /// Parentheses and CASEs within one another.
    pub nesting_depth_max: usize,
    /// Operators on one path other than AND, OR, XOR; unary ones too.
    pub operator_path_max: usize,
    /// AND, OR, XOR on one path.
    pub connective_path_max: usize,
    /// Literals replaced by parameters; a statement with more is not cached.
    pub parameter_count_max: usize,
    /// Nodes of select items that stand for their aliases and ordinals in other clauses.
    pub substituted_node_count_max: usize,
    /// Tables and queries in FROM, with those of queries within queries.
    pub relation_count_max: usize,
    /// UNION, INTERSECT and EXCEPT of a statement.
    pub set_operation_count_max: usize,
    /// Queries within one another, those of views too.
    pub query_depth_max: usize,
    /// Items of a clause that are compared with one another and with those of SELECT: behind BY, behind the SET of a
    /// statement, and behind ON DUPLICATE KEY UPDATE.
    pub clause_item_count_max: usize,
    /// Bytes of text that could be read while the constant patterns of REGEXP are compiled: some thirty large patterns
    /// or thousands of small ones.
    pub pattern_work_max: usize,
    /// Clauses of an ALTER TABLE.
    pub alter_clause_count_max: usize,
    /// CHECK constraints of a table.
    pub check_count_max: usize,
}

impl Default for TextLimits {
    fn default() -> Self {
        Self {
            text_size_max: 1 << 30,
            token_count_max: 1 << 20,
            nesting_depth_max: 64,
            operator_path_max: 250,
            connective_path_max: 2_000,
            parameter_count_max: 1_000,
            substituted_node_count_max: 250_000,
            relation_count_max: 256,
            set_operation_count_max: 1_000,
            query_depth_max: 128,
            clause_item_count_max: 4_096,
            pattern_work_max: 128 << 20,
            alter_clause_count_max: 4_096,
            check_count_max: 1_024,
        }
    }
}

/// Items of a SELECT list: as many as a column count of the protocol can tell.
pub(crate) const SELECT_ITEM_COUNT_MAX: usize = 65_535;

/// The part of a path within one pair of parentheses.
#[derive(Clone, Copy, Default)]
struct Level {
    operators: usize,
    connectives: usize,
    is_case: bool,
    /// Items of the clause that is open here, if they are counted.
    items: Option<usize>,
}

/// Refuses a statement that exceeds a limit, or that does not lex.
pub(crate) fn check(text: &str, limits: &TextLimits, modes: TextModes) -> Result<(), SqlError> {
    if text.len() > limits.text_size_max {
        return Err(SqlError::new(
            1153,
            format!(
                "Got a packet bigger than 'max_allowed_packet' bytes ({} > {})",
                text.len(),
                limits.text_size_max
            ),
        ));
    }
    let mut lexer = Lexer::new(text, modes);
    let mut path = Path { levels: vec![Level::default()], operators: 0, connectives: 0 };
    let (mut count, mut set_operations) = (0, 0);
    // Items of the list that is open at the outermost level: a list of a million is not worth parsing.
    let mut items = None;
    loop {
        let token = lexer.next_token().map_err(|error| syntax_error(text, error.offset))?;
        if token.kind == TokenKind::End {
            return Ok(());
        } else if let TokenKind::Symbol(symbol) = token.kind {
            if symbol == Symbol::DoublePipe && modes.pipes_as_concat {
                path.operator();
            } else {
                path.symbol(symbol);
            }
            if symbol == Symbol::Comma
                && let Some(items) = path.item()
            {
                exceeds("clause_item_count_max", items, limits.clause_item_count_max)?;
            }
            if symbol == Symbol::Comma && path.levels.len() == 1 {
                items = items.map(|items| items + 1);
                if items.is_some_and(|items| items > SELECT_ITEM_COUNT_MAX) {
                    return Err(SqlError::new(1117, "Too many columns"));
                }
            }
        } else if token.kind == TokenKind::Word {
            let word = token.text(text);
            if count == 0 && word.eq_ignore_ascii_case("SELECT") {
                items = Some(1);
            } else if path.levels.len() == 1 && word.eq_ignore_ascii_case("FROM") {
                items = None;
            }
            path.clause(word, count == 0);
            path.word(word);
            set_operations += usize::from(is_set_operation(word));
        }
        count += 1;
        exceeds("set_operation_count_max", set_operations, limits.set_operation_count_max)?;
        exceeds("token_count_max", count, limits.token_count_max)?;
        exceeds("nesting_depth_max", path.levels.len() - 1, limits.nesting_depth_max)?;
        exceeds("operator_path_max", path.operators, limits.operator_path_max)?;
        exceeds("connective_path_max", path.connectives, limits.connective_path_max)?;
    }
}

/// Refuses what exceeds a limit.
pub(crate) fn exceeds(name: &str, value: usize, limit: usize) -> Result<(), SqlError> {
    if value <= limit {
        return Ok(());
    }
    Err(SqlError::new(
        1436,
        format!("Statement too complex: {name} ({limit}) exceeded; simplify the statement"),
    ))
}

fn is_set_operation(word: &str) -> bool {
    ["UNION", "INTERSECT", "EXCEPT"].iter().any(|verb| word.eq_ignore_ascii_case(verb))
}

struct Path {
    levels: Vec<Level>,
    operators: usize,
    connectives: usize,
}

impl Path {
    fn open(&mut self, is_case: bool) {
        self.levels.push(Level { is_case, ..Level::default() });
    }

    fn close(&mut self, is_case: bool) {
        if self.levels.len() > 1 && self.levels.last().is_some_and(|level| level.is_case == is_case) {
            self.restart();
            self.levels.pop();
        }
    }

    /// A word may open a clause whose items are counted, or end one.
    fn clause(&mut self, word: &str, is_first: bool) {
        const ENDS: [&str; 8] = ["SELECT", "FROM", "WHERE", "HAVING", "LIMIT", "UNION", "WITH", "VALUES"];
        let Some(level) = self.levels.last_mut() else { return };
        if word.eq_ignore_ascii_case("BY") || (is_first && word.eq_ignore_ascii_case("SET")) {
            level.items = Some(1);
        } else if level.items.is_some() && ENDS.iter().any(|end| word.eq_ignore_ascii_case(end)) {
            level.items = None;
        }
    }

    /// Another item of the clause that is open; gives how many there are, if they are counted.
    #[inline]
    fn item(&mut self) -> Option<usize> {
        let items = self.levels.last_mut()?.items.as_mut()?;
        *items += 1;
        Some(*items)
    }

    /// A new list item begins: what it contains hangs from the list, not from the item before.
    fn restart(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.operators -= level.operators;
            self.connectives -= level.connectives;
            level.operators = 0;
            level.connectives = 0;
        }
    }

    fn operator(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.operators += 1;
            self.operators += 1;
        }
    }

    /// A connective's right operand starts a path of its own but for the connectives.
    fn connective(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.operators -= level.operators;
            level.operators = 0;
            level.connectives += 1;
            self.connectives += 1;
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all others are operators")]
    fn symbol(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::LeftParenthesis => self.open(false),
            Symbol::RightParenthesis => self.close(false),
            Symbol::Comma | Symbol::Semicolon => self.restart(),
            Symbol::DoubleAmpersand | Symbol::DoublePipe => self.connective(),
            Symbol::Period | Symbol::Colon | Symbol::Other => {}
            _ => self.operator(),
        }
    }

    fn word(&mut self, word: &str) {
        const CONNECTIVES: [&str; 3] = ["AND", "OR", "XOR"];
        const OPERATORS: [&str; 13] = [
            "NOT", "DIV", "MOD", "IS", "LIKE", "IN", "BETWEEN", "REGEXP", "RLIKE", "COLLATE", "BINARY",
            "INTERVAL", "JOIN",
        ];
        if word.len() < 2 || word.len() > 9 {
            return;
        }
        if word.eq_ignore_ascii_case("CASE") {
            self.open(true);
        } else if word.eq_ignore_ascii_case("END") {
            self.close(true);
        } else if ["WHEN", "THEN", "ELSE"].iter().any(|part| word.eq_ignore_ascii_case(part)) {
            // The parts of a CASE hang from it side by side, as the items of a list do.
            if self.levels.last().is_some_and(|level| level.is_case) {
                self.restart();
            }
        } else if CONNECTIVES.iter().any(|connective| word.eq_ignore_ascii_case(connective)) {
            self.connective();
        } else if OPERATORS.iter().any(|operator| word.eq_ignore_ascii_case(operator)) {
            self.operator();
        }
    }
}
