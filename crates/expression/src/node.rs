//! The typed expression tree: what the binder builds, the planner looks at, and every node of the cluster evaluates.
//!
//! A node holds everything its evaluation needs (operators, domains of comparison, target types), so that it runs
//! without a catalogue. Trees are made by the constructors in `typing` and `function`; they insert the conversions, so
//! evaluation never decides about types again.
//!
//! Invariants: AND and OR are n-ary and never directly contain their own kind. `Expression::sql_type` is the type of
//! every non-NULL result. A value of type TIMESTAMP is in UTC, any other DATETIME in the session's time zone.
//!
//! Trees from a peer are decoded but not typed again: evaluation must not panic on an ill-typed one, its result may
//! then be wrong.

use crate::context::ColumnSlot;
use crate::control_functions::ControlFunction;
use crate::function::Function;
use crate::regexp_functions::{Compiled, RegexpFunction};
use crate::volatile_functions::RowFunction;
use types::{Collation, SqlType, Value};
use wire_derive::Wire;

/// How deep a tree may nest and still be sent to a peer (plans add levels of their own to the wire's limit).
pub const DEPTH_MAX: usize = 480;

/// A typed scalar expression.
#[derive(Clone, Debug, Wire)]
pub struct Expression {
    /// The operation.
    pub node: Node,
    /// The type of its result.
    pub sql_type: SqlType,
    /// The result may be NULL.
    pub nullable: bool,
    /// How strong its collation is beside those of other strings, as COERCIBILITY() gives it. Types are decided by it,
    /// and then it has done its part.
    #[wire(unsent)]
    pub coercibility: u8,
}

/// They compute the same.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node && self.sql_type == other.sql_type && self.nullable == other.nullable
    }
}

/// The operands of an n-ary node.
#[derive(Clone, PartialEq, Debug, Default, Wire)]
#[wire(nested)]
pub struct Arguments(pub Vec<Expression>);

impl std::ops::Deref for Arguments {
    type Target = [Expression];
    fn deref(&self) -> &[Expression] {
        &self.0
    }
}

impl From<Vec<Expression>> for Arguments {
    fn from(arguments: Vec<Expression>) -> Self {
        Self(arguments)
    }
}

/// The operation of an expression.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Node {
    /// A constant.
    Literal(Value),
    /// A column of the input row.
    Column(ColumnSlot),
    /// `?`, by number.
    Parameter(u16),
    /// AND of at least two.
    And(Arguments),
    /// OR of at least two.
    Or(Arguments),
    /// Operators with one operand.
    Unary {
        /// Which.
        operator: UnaryOperator,
        /// The operand.
        operand: Box<Expression>,
    },
    /// Arithmetic and bits. A chain of XOR is a flat function call.
    Binary {
        /// Which; never a comparison, AND, OR or XOR.
        operator: BinaryOperator,
        /// First operand.
        left: Box<Expression>,
        /// Second operand.
        right: Box<Expression>,
    },
    /// `=`, `<` and the like.
    Compare {
        /// Which.
        operator: Comparison,
        /// As what the two are compared; both are already converted.
        domain: Domain,
        /// First operand.
        left: Box<Expression>,
        /// Second operand.
        right: Box<Expression>,
    },
    /// `operand [NOT] BETWEEN low AND high`.
    Between {
        /// NOT.
        negated: bool,
        /// As what all three are compared.
        domain: Domain,
        /// The operand that is tested.
        operand: Box<Expression>,
        /// Inclusive.
        low: Box<Expression>,
        /// Inclusive.
        high: Box<Expression>,
    },
    /// `operand [NOT] IN (list)`.
    In {
        /// NOT.
        negated: bool,
        /// As what the operand and all items are compared.
        domain: Domain,
        /// The operand that is looked for.
        operand: Box<Expression>,
        /// The candidates.
        list: InList,
    },
    /// `operand [NOT] LIKE pattern ESCAPE escape`.
    Like {
        /// NOT.
        negated: bool,
        /// How characters compare.
        collation: Collation,
        /// The escape character; none for ESCAPE ''.
        escape: Option<u32>,
        /// The operand that is matched.
        operand: Box<Expression>,
        /// With `%` and `_`.
        pattern: Box<Expression>,
    },
    /// `IS [NOT] NULL | TRUE | FALSE` (UNKNOWN is NULL).
    Is {
        /// Which.
        test: Test,
        /// The operand.
        operand: Box<Expression>,
    },
    /// CASE, IF, NULLIF: the result of the first branch whose condition is true. A CASE with an operand was rewritten.
    Case {
        /// Condition and result in turn: an even number.
        branches: Arguments,
        /// ELSE.
        otherwise: Box<Expression>,
    },
    /// Conversion to `sql_type`, by CAST or because the operation around it needs it.
    Cast {
        /// The operand.
        operand: Box<Expression>,
        /// A value that is cut warns as CAST does, or as the implicit conversion.
        purpose: CastPurpose,
    },
    /// `operand COLLATE …`: the collation is in `sql_type`.
    Collate(Box<Expression>),
    /// DATE_ADD, DATE_SUB, `date ± INTERVAL amount unit`.
    Interval {
        /// The unit of the amount.
        unit: IntervalUnit,
        /// Subtract.
        negated: bool,
        /// The start.
        date: Box<Expression>,
        /// How many units: a number, or text for composite units.
        amount: Box<Expression>,
    },
    /// A function call.
    Function {
        /// Which.
        function: Function,
        /// Converted to what the function works on.
        arguments: Arguments,
    },
    /// REGEXP and the functions of its kind.
    Regexp {
        /// Which.
        function: RegexpFunction,
        /// Whether case matters, unless match_type says so.
        collation: Collation,
        /// Text, pattern, and the others of the function.
        arguments: Arguments,
        /// The pattern, if it is constant.
        compiled: Compiled,
    },
}

/// Operators with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum UnaryOperator {
    /// `NOT`, `!`.
    Not,
    /// `-`.
    Negate,
    /// `~`.
    BitNot,
}

/// Operators with two operands, as a parser gives them to `Expression::binary`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum BinaryOperator {
    /// `AND`, `&&`.
    And,
    /// `OR`.
    Or,
    /// `XOR`.
    Xor,
    /// A comparison.
    Compare(Comparison),
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `DIV`.
    IntegerDivide,
    /// `%`, `MOD`.
    Modulo,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
}

/// Comparison operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Comparison {
    /// `=`.
    Equal,
    /// `<=>`.
    NullSafeEqual,
    /// `<>`, `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

impl Comparison {
    /// As it is written.
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NullSafeEqual => "<=>",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// The operator that gives the same with its operands exchanged.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Equal | Self::NullSafeEqual | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// Whether it holds for two non-NULL values in this order.
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal | Self::NullSafeEqual => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// As what two values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Domain {
    /// Exactly where both are exact, as doubles where one is a double.
    Number,
    /// As strings under a collation.
    Text(Collation),
    /// As instants (DATE is its midnight, TIME is on the current day).
    DateTime,
    /// As durations.
    Time,
}

/// The test of IS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Test {
    /// IS NULL, IS UNKNOWN.
    Null,
    /// IS NOT NULL.
    NotNull,
    /// IS TRUE.
    True,
    /// IS NOT TRUE.
    NotTrue,
    /// IS FALSE.
    False,
    /// IS NOT FALSE.
    NotFalse,
}

/// Why a conversion is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum CastPurpose {
    /// CAST, CONVERT.
    Explicit,
    /// Inserted by a constructor.
    Implicit,
    /// Inserted around a constant that is compared with a column of `sql_type`: a number in text stays exact where it
    /// can.
    Comparison,
    /// No conversion: the operand is a parameter that stands for a column of a query around this one. Types beside it
    /// are decided as beside the column.
    OuterColumn,
}

/// The candidates of IN.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum InList {
    /// Non-NULL literals in ascending order of the domain, no two equal: searched by halving.
    Sorted {
        /// The literals' values.
        values: Vec<Value>,
        /// A NULL was among them: no match is then unknown, not false.
        has_null: bool,
    },
    /// Anything.
    Expressions(Arguments),
}

/// Units of INTERVAL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    const NAMES: [(&'static str, Self); 20] = [
        ("MICROSECOND", Self::Microsecond),
        ("SECOND", Self::Second),
        ("MINUTE", Self::Minute),
        ("HOUR", Self::Hour),
        ("DAY", Self::Day),
        ("WEEK", Self::Week),
        ("MONTH", Self::Month),
        ("QUARTER", Self::Quarter),
        ("YEAR", Self::Year),
        ("SECOND_MICROSECOND", Self::SecondMicrosecond),
        ("MINUTE_MICROSECOND", Self::MinuteMicrosecond),
        ("MINUTE_SECOND", Self::MinuteSecond),
        ("HOUR_MICROSECOND", Self::HourMicrosecond),
        ("HOUR_SECOND", Self::HourSecond),
        ("HOUR_MINUTE", Self::HourMinute),
        ("DAY_MICROSECOND", Self::DayMicrosecond),
        ("DAY_SECOND", Self::DaySecond),
        ("DAY_MINUTE", Self::DayMinute),
        ("DAY_HOUR", Self::DayHour),
        ("YEAR_MONTH", Self::YearMonth),
    ];

    /// The unit of that keyword, `SQL_TSI_` prefix allowed, any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let upper = name.to_ascii_uppercase();
        let bare = upper.strip_prefix("SQL_TSI_").unwrap_or(&upper);
        Self::NAMES.iter().find(|(name, _)| *name == bare).map(|(_, unit)| *unit)
    }

    /// The keyword.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| name)
    }
}

impl Expression {
    /// The direct operands, in order of evaluation.
    #[must_use]
    pub fn operands(&self) -> Vec<&Expression> {
        match &self.node {
            Node::Literal(_) | Node::Column(_) | Node::Parameter(_) => Vec::new(),
            Node::And(arguments)
            | Node::Or(arguments)
            | Node::Function { arguments, .. }
            | Node::Regexp { arguments, .. } => arguments.iter().collect(),
            Node::Unary { operand, .. }
            | Node::Is { operand, .. }
            | Node::Cast { operand, .. }
            | Node::Collate(operand) => vec![operand],
            Node::Binary { left, right, .. } | Node::Compare { left, right, .. } => vec![left, right],
            Node::Between { operand, low, high, .. } => vec![operand, low, high],
            Node::In { operand, list, .. } => match list {
                InList::Sorted { .. } => vec![operand],
                InList::Expressions(items) => std::iter::once(&**operand).chain(items.iter()).collect(),
            },
            Node::Like { operand, pattern, .. } => vec![operand, pattern],
            Node::Case { branches, otherwise } => {
                branches.iter().chain(std::iter::once(&**otherwise)).collect()
            }
            Node::Interval { date, amount, .. } => vec![date, amount],
        }
    }

    /// The direct operands, to be changed in place; the change must keep types.
    pub fn operands_mut(&mut self) -> Vec<&mut Expression> {
        match &mut self.node {
            Node::Literal(_) | Node::Column(_) | Node::Parameter(_) => Vec::new(),
            Node::And(arguments)
            | Node::Or(arguments)
            | Node::Function { arguments, .. }
            | Node::Regexp { arguments, .. } => arguments.0.iter_mut().collect(),
            Node::Unary { operand, .. }
            | Node::Is { operand, .. }
            | Node::Cast { operand, .. }
            | Node::Collate(operand) => vec![operand],
            Node::Binary { left, right, .. } | Node::Compare { left, right, .. } => vec![left, right],
            Node::Between { operand, low, high, .. } => vec![operand, low, high],
            Node::In { operand, list, .. } => match list {
                InList::Sorted { .. } => vec![operand],
                InList::Expressions(items) => {
                    std::iter::once(&mut **operand).chain(items.0.iter_mut()).collect()
                }
            },
            Node::Like { operand, pattern, .. } => vec![operand, pattern],
            Node::Case { branches, otherwise } => {
                branches.0.iter_mut().chain(std::iter::once(&mut **otherwise)).collect()
            }
            Node::Interval { date, amount, .. } => vec![date, amount],
        }
    }

    /// Calls `visit` for this expression and everything below it.
    pub fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        visit(self);
        for operand in self.operands() {
            operand.visit(visit);
        }
    }

    /// Renumbers the columns: `slot_of` says where each is in the new row.
    pub fn map_columns(&mut self, slot_of: &mut impl FnMut(ColumnSlot) -> ColumnSlot) {
        if let Node::Column(slot) = &mut self.node {
            *slot = slot_of(*slot);
        }
        for operand in self.operands_mut() {
            operand.map_columns(slot_of);
        }
    }

    /// The columns it reads, ascending, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<ColumnSlot> {
        let mut slots = std::collections::BTreeSet::new();
        self.visit(&mut |expression| {
            if let Node::Column(slot) = expression.node {
                slots.insert(slot);
            }
        });
        slots.into_iter().collect()
    }

    /// True if it reads no column and is not volatile: it has one value per execution.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let is_other = match &self.node {
            Node::Column(_) => true,
            Node::Function { function, .. } => function.is_volatile(),
            _ => false,
        };
        !is_other && self.operands().iter().all(|operand| operand.is_constant())
    }

    /// Whether types beside it are decided as beside a constant. An outer column is none, for all that it has one value
    /// per execution of its subquery.
    pub(crate) fn is_constant_in_types(&self) -> bool {
        let mut is_outer = false;
        self.visit(&mut |part| {
            is_outer |= matches!(part.node, Node::Cast { purpose: CastPurpose::OuterColumn, .. });
        });
        self.is_constant() && !is_outer
    }

    /// Bytes on the wire, roughly: what a client can make large is counted.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        const OPERATION_SIZE: usize = 16;
        let value_size =
            |value: &Value| OPERATION_SIZE + if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
        let mut size = 0;
        self.visit(&mut |expression| {
            size += OPERATION_SIZE;
            if let SqlType::Enum { members, .. } | SqlType::Set { members, .. } = &expression.sql_type {
                size += members.iter().map(|member| member.len() + 4).sum::<usize>();
            }
            if let Node::Literal(value) = &expression.node {
                size += value_size(value);
            } else if let Node::In { list: InList::Sorted { values, .. }, .. } = &expression.node {
                size += values.iter().map(value_size).sum::<usize>();
            }
        });
        size
    }

    /// Levels of the tree; compare with [`DEPTH_MAX`] before an expression leaves the node.
    #[must_use]
    pub fn depth(&self) -> usize {
        1 + self.operands().iter().map(|operand| operand.depth()).max().unwrap_or(0)
    }

    /// Nodes of the tree.
    #[must_use]
    pub fn node_count(&self) -> usize {
        1 + self.operands().iter().map(|operand| operand.node_count()).sum::<usize>()
    }

    /// The slot, if this is a plain column.
    #[must_use]
    pub fn as_column(&self) -> Option<ColumnSlot> {
        if let Node::Column(slot) = self.node { Some(slot) } else { None }
    }

    /// The value, if this is a literal.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Value> {
        if let Node::Literal(value) = &self.node { Some(value) } else { None }
    }
}

/// SQL text for messages and EXPLAIN; columns are named by `name_of`.
pub struct Shown<'a, F> {
    expression: &'a Expression,
    name_of: F,
}

impl Expression {
    /// The expression as SQL text, columns named by `name_of`.
    pub fn shown<F: Fn(ColumnSlot) -> String>(&self, name_of: F) -> Shown<'_, F> {
        Shown { expression: self, name_of }
    }
}

impl std::fmt::Display for Expression {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_expression(self, &|slot| format!("#{}", slot.0), formatter)
    }
}

impl<F: Fn(ColumnSlot) -> String> std::fmt::Display for Shown<'_, F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_expression(self.expression, &self.name_of, formatter)
    }
}

type NameOf<'a> = &'a dyn Fn(ColumnSlot) -> String;

fn write_list(
    items: &[Expression],
    separator: &str,
    name_of: NameOf<'_>,
    formatter: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            formatter.write_str(separator)?;
        }
        write_expression(item, name_of, formatter)?;
    }
    Ok(())
}

fn write_literal(
    value: &Value,
    sql_type: &SqlType,
    formatter: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    if value.is_null() {
        return formatter.write_str("NULL");
    }
    let mut text = Vec::new();
    types::format_text(value.as_ref(), sql_type, &mut text);
    let text = String::from_utf8_lossy(&text);
    let quoted = matches!(value, Value::Bytes(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_))
        || matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. });
    if quoted {
        write!(formatter, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
    } else {
        formatter.write_str(&text)
    }
}

fn binary_symbol(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::And => "and",
        BinaryOperator::Or => "or",
        BinaryOperator::Xor => "xor",
        BinaryOperator::Compare(comparison) => comparison.symbol(),
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::IntegerDivide => "DIV",
        BinaryOperator::Modulo => "%",
        BinaryOperator::BitAnd => "&",
        BinaryOperator::BitOr => "|",
        BinaryOperator::BitXor => "^",
        BinaryOperator::ShiftLeft => "<<",
        BinaryOperator::ShiftRight => ">>",
    }
}

fn test_words(test: Test) -> &'static str {
    match test {
        Test::Null => "is null",
        Test::NotNull => "is not null",
        Test::True => "is true",
        Test::NotTrue => "is not true",
        Test::False => "is false",
        Test::NotFalse => "is not false",
    }
}

fn write_expression(
    expression: &Expression,
    name_of: NameOf<'_>,
    formatter: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    let not = |negated: bool| if negated { "not " } else { "" };
    let mut pair = |left: &Expression, symbol: &str, right: &Expression| {
        formatter.write_str("(")?;
        write_expression(left, name_of, formatter)?;
        write!(formatter, " {symbol} ")?;
        write_expression(right, name_of, formatter)?;
        formatter.write_str(")")
    };
    match &expression.node {
        Node::Literal(value) => write_literal(value, &expression.sql_type, formatter),
        Node::Column(slot) => formatter.write_str(&name_of(*slot)),
        Node::Parameter(_) => formatter.write_str("?"),
        Node::And(arguments) | Node::Or(arguments) => {
            let word = if matches!(expression.node, Node::And(_)) { " and " } else { " or " };
            formatter.write_str("(")?;
            write_list(arguments, word, name_of, formatter)?;
            formatter.write_str(")")
        }
        Node::Unary { operator, operand } => {
            formatter.write_str(match operator {
                UnaryOperator::Not => "(not(",
                UnaryOperator::Negate => "-(",
                UnaryOperator::BitNot => "~(",
            })?;
            write_expression(operand, name_of, formatter)?;
            formatter.write_str(if *operator == UnaryOperator::Not { "))" } else { ")" })
        }
        Node::Binary { operator, left, right } => pair(left, binary_symbol(*operator), right),
        Node::Compare { operator, left, right, .. } => pair(left, operator.symbol(), right),
        Node::Between { negated, operand, low, high, .. } => {
            formatter.write_str("(")?;
            write_expression(operand, name_of, formatter)?;
            write!(formatter, " {}between ", not(*negated))?;
            write_expression(low, name_of, formatter)?;
            formatter.write_str(" and ")?;
            write_expression(high, name_of, formatter)?;
            formatter.write_str(")")
        }
        Node::In { negated, operand, list, .. } => {
            formatter.write_str("(")?;
            write_expression(operand, name_of, formatter)?;
            write!(formatter, " {}in (", not(*negated))?;
            write_candidates(list, &operand.sql_type, name_of, formatter)?;
            formatter.write_str("))")
        }
        Node::Like { negated, operand, pattern, .. } => {
            pair(operand, if *negated { "not like" } else { "like" }, pattern)
        }
        Node::Is { test, operand } => {
            formatter.write_str("(")?;
            write_expression(operand, name_of, formatter)?;
            write!(formatter, " {})", test_words(*test))
        }
        Node::Case { branches, otherwise } => {
            formatter.write_str("(case")?;
            for branch in branches.chunks(2) {
                formatter.write_str(" when ")?;
                write_list(branch, " then ", name_of, formatter)?;
            }
            formatter.write_str(" else ")?;
            write_expression(otherwise, name_of, formatter)?;
            formatter.write_str(" end)")
        }
        Node::Cast { operand, purpose } => {
            if *purpose != CastPurpose::Explicit {
                return write_expression(operand, name_of, formatter);
            }
            formatter.write_str("cast(")?;
            write_expression(operand, name_of, formatter)?;
            write!(formatter, " as {})", crate::typing::type_words(&expression.sql_type))
        }
        Node::Collate(operand) => {
            formatter.write_str("(")?;
            write_expression(operand, name_of, formatter)?;
            let collation = crate::typing::collation_of(&expression.sql_type);
            write!(formatter, " collate {})", collation.map_or("binary", Collation::name))
        }
        Node::Interval { unit, negated, date, amount } => {
            formatter.write_str("(")?;
            write_expression(date, name_of, formatter)?;
            write!(formatter, " {} interval ", if *negated { '-' } else { '+' })?;
            write_expression(amount, name_of, formatter)?;
            write!(formatter, " {})", unit.name().to_ascii_lowercase())
        }
        Node::Regexp { function, arguments, .. } => {
            write!(formatter, "{}(", function.name().to_ascii_lowercase())?;
            write_list(arguments, ",", name_of, formatter)?;
            formatter.write_str(")")
        }
        Node::Function { function, arguments } => write_function(*function, arguments, name_of, formatter),
    }
}

fn write_function(
    function: Function,
    arguments: &[Expression],
    name_of: NameOf<'_>,
    formatter: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    if let Function::Variable(_, number) = function {
        let Some(value) = arguments.first() else { return write!(formatter, "@{number}") };
        write!(formatter, "(@{number} := ")?;
        write_expression(value, name_of, formatter)?;
        return formatter.write_str(")");
    }
    if function == Function::Control(ControlFunction::Xor) {
        formatter.write_str("(")?;
        write_list(arguments, " xor ", name_of, formatter)?;
        return formatter.write_str(")");
    }
    write!(formatter, "{}(", function.name().to_ascii_lowercase())?;
    // The arguments of these were not written by anybody.
    let is_hidden =
        matches!(function, Function::OfRow(RowFunction::Random | RowFunction::Uuid) | Function::Session(_));
    if !is_hidden {
        write_list(arguments, ",", name_of, formatter)?;
    }
    formatter.write_str(")")
}

fn write_candidates(
    list: &InList,
    sql_type: &SqlType,
    name_of: NameOf<'_>,
    formatter: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    match list {
        InList::Expressions(items) => write_list(items, ",", name_of, formatter),
        InList::Sorted { values, has_null } => {
            if *has_null {
                formatter.write_str("NULL")?;
            }
            for (index, value) in values.iter().enumerate() {
                if index > 0 || *has_null {
                    formatter.write_str(",")?;
                }
                write_literal(value, sql_type, formatter)?;
            }
            Ok(())
        }
    }
}
