//! A view's query as text: all names in full, in the form that MySQL prints.
//!
//! ```text
//! SELECT a, b+1 FROM t WHERE a > 1
//! select `d`.`t`.`a` AS `a`,(`d`.`t`.`b` + 1) AS `b+1` from `d`.`t` where (`d`.`t`.`a` > 1)
//! ```
//! The binder notes what names mean while it binds the query ([`Names`]); the printer puts that in their places. A text
//! that was printed is printed again to leave the database's name out, as SHOW CREATE VIEW does.
//!
//! Invariants: the printed text parses to the same query. A part without a form here is refused by its name.
//! Settings of the session that say how a text is read do not matter to it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser crate's enums hold every dialect: what is not named does not fit"
)]

mod window;

use crate::tokens::offset_of;
use protocol::SqlError;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, Distinct, DuplicateTreatment, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentClause, FunctionArguments, GroupByExpr, GroupByWithModifier, Ident,
    Interval, Join, JoinConstraint, JoinOperator, LimitClause, NullTreatment, ObjectName, ObjectNamePart,
    OrderByExpr, OrderByKind, OrderBySort, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier,
    TableAlias, TableFactor, TableWithJoins, TrimWhereField, UnaryOperator, Value as AstValue, With,
};
use std::collections::BTreeMap;

/// The meanings of a query's names, by where they stand in its text.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Columns in full, by where their names begin.
    pub(crate) columns: BTreeMap<usize, Vec<String>>,
    /// The columns that `*` stands for, by where its SELECT begins and its place among the items.
    pub(crate) stars: BTreeMap<(usize, usize), Vec<Vec<String>>>,
    /// The names of the items of a SELECT, by where it begins.
    pub(crate) items: BTreeMap<usize, Vec<String>>,
}

/// Operators of a chain that get parentheses of their own; longer ones are printed flat.
const NESTED_LINKS_MAX: usize = 8;

/// The text of a query whose names mean this; its columns are called so. Tables without a database are in `database`.
pub(crate) fn full(
    query: &Query,
    names: &Names,
    database: &str,
    columns: Option<&[String]>,
) -> Result<String, SqlError> {
    let mut printer = Printer::new(names, database);
    printer.query(query, columns)?;
    Ok(printer.text)
}

/// The text of a printed query without the name of this database, if all its tables are there; else None.
pub(crate) fn within(query: &Query, database: &str) -> Result<Option<String>, SqlError> {
    let names = Names::default();
    let mut printer = Printer { hidden: Some(database), ..Printer::new(&names, database) };
    printer.query(query, None)?;
    Ok((!printer.names_others).then_some(printer.text))
}

/// A name in quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

struct Printer<'a> {
    names: &'a Names,
    database: &'a str,
    /// This database's name is left out.
    hidden: Option<&'a str>,
    /// A table of another database was met.
    names_others: bool,
    /// Names of common table expressions in sight.
    common: Vec<String>,
    text: String,
}

/// How the operands of a list follow each other.
const COMMA: &str = ",";

impl<'a> Printer<'a> {
    fn new(names: &'a Names, database: &'a str) -> Self {
        Self { names, database, hidden: None, names_others: false, common: Vec::new(), text: String::new() }
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn name(&mut self, name: &str) {
        let quoted = quoted(name);
        self.put(&quoted);
    }

    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        separator: &str,
        mut print: impl FnMut(&mut Self, T) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        for (number, item) in items.into_iter().enumerate() {
            if number > 0 {
                self.put(separator);
            }
            print(self, item)?;
        }
        Ok(())
    }

    // ---- queries ----------------------------------------------------------------------------------------------------

    fn query(&mut self, query: &Query, columns: Option<&[String]>) -> Result<(), SqlError> {
        let common = self.common.len();
        if let Some(with) = &query.with {
            self.with(with)?;
        }
        if !query.locks.is_empty() {
            return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE in a view"));
        }
        self.body(&query.body, columns)?;
        if let Some(order_by) = &query.order_by {
            let OrderByKind::Expressions(items) = &order_by.kind else { return Err(missing("ORDER BY ALL")) };
            self.put(" order by ");
            self.order_items(items)?;
        }
        match &query.limit_clause {
            None => {}
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => self.limit(limit, Some(offset))?,
            Some(LimitClause::LimitOffset { limit: Some(limit), offset, .. }) => {
                self.limit(limit, offset.as_ref().map(|offset| &offset.value))?;
            }
            Some(LimitClause::LimitOffset { .. }) => return Err(missing("OFFSET")),
        }
        self.common.truncate(common);
        Ok(())
    }

    fn with(&mut self, with: &With) -> Result<(), SqlError> {
        self.put(if with.recursive { "with recursive " } else { "with " });
        self.list(&with.cte_tables, COMMA, |printer, cte| {
            if with.recursive {
                printer.common.push(cte.alias.name.value.clone());
            }
            printer.name(&cte.alias.name.value);
            printer.put(" ");
            printer.alias_columns(&cte.alias)?;
            printer.put("as (");
            printer.query(&cte.query, None)?;
            printer.put(")");
            if !with.recursive {
                printer.common.push(cte.alias.name.value.clone());
            }
            Ok(())
        })?;
        self.put(" ");
        Ok(())
    }

    fn limit(&mut self, count: &Expr, offset: Option<&Expr>) -> Result<(), SqlError> {
        self.put(" limit ");
        if let Some(offset) = offset {
            self.expr(offset)?;
            self.put(COMMA);
        }
        self.expr(count)
    }

    fn body(&mut self, body: &SetExpr, columns: Option<&[String]>) -> Result<(), SqlError> {
        // A chain of operations leans to the left.
        let (mut first, mut others) = (body, Vec::new());
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            others.push((*op, *set_quantifier, &**right));
            first = left;
        }
        self.operand(first, columns)?;
        for (operator, quantifier, operand) in others.into_iter().rev() {
            self.put(match operator {
                SetOperator::Union => " union ",
                SetOperator::Intersect => " intersect ",
                SetOperator::Except | SetOperator::Minus => " except ",
            });
            if quantifier == SetQuantifier::All {
                self.put("all ");
            }
            self.operand(operand, None)?;
        }
        Ok(())
    }

    fn operand(&mut self, operand: &SetExpr, columns: Option<&[String]>) -> Result<(), SqlError> {
        match operand {
            SetExpr::Select(select) => self.select(select, columns),
            SetExpr::Query(query) => {
                self.put("(");
                self.query(query, columns)?;
                self.put(")");
                Ok(())
            }
            other @ SetExpr::SetOperation { .. } => {
                self.put("(");
                self.body(other, columns)?;
                self.put(")");
                Ok(())
            }
            _ => Err(missing("VALUES and TABLE statements in a view")),
        }
    }

    fn select(&mut self, select: &Select, columns: Option<&[String]>) -> Result<(), SqlError> {
        if select.into.is_some() {
            return Err(SqlError::new(1350, "View's SELECT contains a 'INTO' clause"));
        }
        self.put("select ");
        if matches!(select.distinct, Some(Distinct::Distinct)) {
            self.put("distinct ");
        }
        self.items(select, columns)?;
        if !select.from.is_empty() {
            self.put(" from ");
            self.from(&select.from)?;
        }
        if let Some(selection) = &select.selection {
            self.put(" where ");
            self.expr(selection)?;
        }
        match &select.group_by {
            GroupByExpr::Expressions(items, modifiers)
                if matches!(modifiers.as_slice(), [] | [GroupByWithModifier::Rollup]) =>
            {
                if !items.is_empty() {
                    self.put(" group by ");
                    self.list(items, COMMA, Self::expr)?;
                }
                self.put(if modifiers.is_empty() { "" } else { " with rollup" });
            }
            _ => return Err(missing("this GROUP BY in a view")),
        }
        if let Some(having) = &select.having {
            self.put(" having ");
            self.expr(having)?;
        }
        self.named_windows(&select.named_window)
    }

    fn items(&mut self, select: &Select, columns: Option<&[String]>) -> Result<(), SqlError> {
        let start = offset_of(select.select_token.0.span.start);
        let known = columns.or_else(|| self.names.items.get(&start).map(Vec::as_slice)).unwrap_or_default();
        let mut called = known.iter();
        for (position, item) in select.projection.iter().enumerate() {
            if position > 0 {
                self.put(COMMA);
            }
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    self.expr(expr)?;
                    self.called(called.next().map(String::as_str));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.expr(expr)?;
                    self.called(called.next().map(String::as_str).or(Some(&alias.value)));
                }
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                    let columns = self.names.stars.get(&(start, position)).map_or(&[][..], Vec::as_slice);
                    self.list(columns, COMMA, |printer, column| {
                        printer.full_name(column);
                        printer.called(called.next().map(String::as_str));
                        Ok(())
                    })?;
                }
                SelectItem::ExprWithAliases { .. } => return Err(missing("this item in a view")),
            }
        }
        Ok(())
    }

    fn called(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.put(" AS ");
            self.name(name);
        }
    }

    fn order_items(&mut self, items: &[OrderByExpr]) -> Result<(), SqlError> {
        self.list(items, COMMA, |printer, item| {
            printer.expr(&item.expr)?;
            if matches!(item.options.sort, Some(OrderBySort::Desc)) {
                printer.put(" desc");
            }
            Ok(())
        })
    }

    // ---- FROM -------------------------------------------------------------------------------------------------------

    fn from(&mut self, tables: &[TableWithJoins]) -> Result<(), SqlError> {
        self.put(&"(".repeat(tables.len().saturating_sub(1)));
        for (number, table) in tables.iter().enumerate() {
            if number > 0 {
                self.put(" join ");
            }
            self.table_with_joins(table)?;
            if number > 0 {
                self.put(")");
            }
        }
        Ok(())
    }

    fn table_with_joins(&mut self, table: &TableWithJoins) -> Result<(), SqlError> {
        self.put(&"(".repeat(table.joins.len()));
        self.factor(&table.relation)?;
        for join in &table.joins {
            self.join(join)?;
            self.put(")");
        }
        Ok(())
    }

    fn join(&mut self, join: &Join) -> Result<(), SqlError> {
        let (verb, constraint) = match &join.join_operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::CrossJoin(constraint) => ("join ", constraint),
            JoinOperator::StraightJoin(constraint) => ("straight_join ", constraint),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                ("left join ", constraint)
            }
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                ("right join ", constraint)
            }
            _ => return Err(missing("this join in a view")),
        };
        self.put(" ");
        if matches!(constraint, JoinConstraint::Natural) {
            self.put("natural ");
        }
        self.put(verb);
        self.factor(&join.relation)?;
        match constraint {
            JoinConstraint::On(condition) => {
                self.put(" on(");
                self.expr(condition)?;
                self.put(")");
            }
            JoinConstraint::Using(names) => {
                self.put(" using (");
                self.list(names, COMMA, |printer, name| {
                    let name = one_part(name)?;
                    printer.name(&name);
                    Ok(())
                })?;
                self.put(")");
            }
            JoinConstraint::Natural | JoinConstraint::None => {}
        }
        Ok(())
    }

    fn factor(&mut self, factor: &TableFactor) -> Result<(), SqlError> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                self.table(name)?;
                if let Some(alias) = alias {
                    self.put(" ");
                    self.name(&alias.name.value);
                }
                Ok(())
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                self.put(if *lateral { "lateral (" } else { "(" });
                self.query(subquery, None)?;
                self.put(") ");
                if let Some(alias) = alias {
                    self.name(&alias.name.value);
                    self.put(" ");
                    self.alias_columns(alias)?;
                    let kept = self.text.trim_end().len();
                    self.text.truncate(kept);
                }
                Ok(())
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                let is_single = table_with_joins.joins.is_empty();
                self.put(if is_single { "(" } else { "" });
                self.table_with_joins(table_with_joins)?;
                self.put(if is_single { ")" } else { "" });
                Ok(())
            }
            _ => Err(missing("table functions in a view")),
        }
    }

    fn table(&mut self, name: &ObjectName) -> Result<(), SqlError> {
        let parts: Vec<&Ident> = name.0.iter().filter_map(identifier).collect();
        match parts.as_slice() {
            [name] if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("dual") => {
                self.put("DUAL")
            }
            [name] if self.common.contains(&name.value) => self.name(&name.value),
            [name] => {
                let full = [self.database.to_owned(), name.value.clone()];
                self.full_table(&full);
            }
            [database, name] => self.full_table(&[database.value.clone(), name.value.clone()]),
            _ => return Err(missing("this name of a table")),
        }
        Ok(())
    }

    fn full_table(&mut self, [database, name]: &[String; 2]) {
        if self.hidden != Some(database) {
            self.names_others = true;
            self.name(database);
            self.put(".");
        }
        self.name(name);
    }

    fn alias_columns(&mut self, alias: &TableAlias) -> Result<(), SqlError> {
        if alias.columns.is_empty() {
            return Ok(());
        }
        self.put("(");
        self.list(&alias.columns, COMMA, |printer, column| {
            printer.name(&column.name.value);
            Ok(())
        })?;
        self.put(") ");
        Ok(())
    }

    /// A column's name; the hidden database's is left out.
    fn full_name(&mut self, parts: &[String]) {
        let shown = match parts {
            [database, rest @ ..] if rest.len() == 2 && self.hidden == Some(database) => rest,
            all => all,
        };
        let quoted: Vec<String> = shown.iter().map(|part| quoted(part)).collect();
        self.put(&quoted.join("."));
    }

    // ---- expressions ------------------------------------------------------------------------------------------------

    fn expr(&mut self, expr: &Expr) -> Result<(), SqlError> {
        match expr {
            Expr::Identifier(ident) => self.column(std::slice::from_ref(ident)),
            Expr::CompoundIdentifier(parts) => self.column(parts),
            Expr::Value(value) => self.value(&value.value),
            Expr::Nested(inner) => self.nested(inner),
            Expr::BinaryOp { .. } => self.chain(expr),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr),
            Expr::IsNull(operand) => self.suffixed(operand, " is null"),
            Expr::IsNotNull(operand) => self.suffixed(operand, " is not null"),
            Expr::IsTrue(operand) => self.suffixed(operand, " is true"),
            Expr::IsNotTrue(operand) => self.suffixed(operand, " is not true"),
            Expr::IsFalse(operand) => self.suffixed(operand, " is false"),
            Expr::IsNotFalse(operand) => self.suffixed(operand, " is not false"),
            Expr::IsUnknown(operand) => self.suffixed(operand, " is null"),
            Expr::IsNotUnknown(operand) => self.suffixed(operand, " is not null"),
            Expr::InList { expr, list, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not in (" } else { " in (" });
                self.list(list, COMMA, Self::expr)?;
                self.put("))");
                Ok(())
            }
            Expr::InSubquery { expr, subquery, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not in (" } else { " in (" });
                self.query(subquery, None)?;
                self.put("))");
                Ok(())
            }
            Expr::Between { expr, negated, low, high } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not between " } else { " between " });
                self.expr(low)?;
                self.put(" and ");
                self.expr(high)?;
                self.put(")");
                Ok(())
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not like " } else { " like " });
                self.expr(pattern)?;
                if let Some(escape) = escape_char {
                    self.put(" escape ");
                    self.expr(escape)?;
                }
                self.put(")");
                Ok(())
            }
            Expr::RLike { negated, expr, pattern, regexp: _ } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not regexp " } else { " regexp " });
                self.expr(pattern)?;
                self.put(")");
                Ok(())
            }
            Expr::Tuple(items) => {
                self.put("(");
                self.list(items, COMMA, Self::expr)?;
                self.put(")");
                Ok(())
            }
            Expr::Exists { subquery, negated } => {
                self.put(if *negated { "not exists(" } else { "exists(" });
                self.query(subquery, None)?;
                self.put(")");
                Ok(())
            }
            Expr::Subquery(query) => {
                self.put("(");
                self.query(query, None)?;
                self.put(")");
                Ok(())
            }
            Expr::AnyOp { left, compare_op, right, is_some: _ } => {
                self.quantified(left, compare_op, "any", right)
            }
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, "all", right),
            other => self.call_like(other),
        }
    }

    /// Expressions that are written like a call of a function.
    fn call_like(&mut self, expr: &Expr) -> Result<(), SqlError> {
        match expr {
            Expr::Function(function) => self.function(function),
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None } => {
                self.put("cast(");
                self.expr(expr)?;
                self.put(" as ");
                self.put(&type_text(data_type));
                self.put(")");
                Ok(())
            }
            Expr::Convert { expr, data_type: Some(data_type), charset: None, .. } => {
                self.put("cast(");
                self.expr(expr)?;
                self.put(" as ");
                self.put(&type_text(data_type));
                self.put(")");
                Ok(())
            }
            Expr::Convert { expr, data_type: None, charset: Some(charset), .. } => {
                self.put("convert(");
                self.expr(expr)?;
                self.put(" using ");
                self.put(&one_part(charset)?);
                self.put(")");
                Ok(())
            }
            Expr::Collate { expr, collation } => {
                self.put("(");
                self.expr(expr)?;
                self.put(" collate ");
                self.put(&one_part(collation)?);
                self.put(")");
                Ok(())
            }
            Expr::Extract { field, expr, .. } => {
                self.put(&format!("extract({} from ", field.to_string().to_lowercase()));
                self.expr(expr)?;
                self.put(")");
                Ok(())
            }
            Expr::Position { expr, r#in } => self.call("locate", &[expr, r#in]),
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let rest = [substring_from, substring_for].into_iter().flatten();
                let arguments: Vec<&Expr> = std::iter::once(expr).chain(rest).map(|part| &**part).collect();
                self.call("substr", &arguments)
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                self.put(match trim_where {
                    None => "trim(",
                    Some(TrimWhereField::Both) => "trim(both ",
                    Some(TrimWhereField::Leading) => "trim(leading ",
                    Some(TrimWhereField::Trailing) => "trim(trailing ",
                });
                if let Some(what) = trim_what {
                    self.expr(what)?;
                }
                if trim_what.is_some() || trim_where.is_some() {
                    self.put(" from ");
                }
                self.expr(expr)?;
                self.put(")");
                Ok(())
            }
            Expr::Prefixed { prefix, value } => {
                self.put(&prefix.value.to_lowercase());
                self.expr(value)
            }
            Expr::TypedString(typed) => {
                let word = match &typed.data_type {
                    DataType::Date => "DATE",
                    DataType::Time(..) => "TIME",
                    _ => "TIMESTAMP",
                };
                self.put(word);
                self.value(&typed.value.value)
            }
            Expr::Interval(interval) => self.interval(interval),
            other => Err(missing(&format!("expression {other} in a view"))),
        }
    }

    fn nested(&mut self, inner: &Expr) -> Result<(), SqlError> {
        let has_own = matches!(
            inner,
            Expr::BinaryOp { .. }
                | Expr::Nested(_)
                | Expr::InList { .. }
                | Expr::InSubquery { .. }
                | Expr::Between { .. }
                | Expr::Like { .. }
                | Expr::RLike { .. }
                | Expr::IsNull(_)
                | Expr::IsNotNull(_)
                | Expr::IsTrue(_)
                | Expr::IsNotTrue(_)
                | Expr::IsFalse(_)
                | Expr::IsNotFalse(_)
                | Expr::IsUnknown(_)
                | Expr::IsNotUnknown(_)
                | Expr::AnyOp { .. }
                | Expr::AllOp { .. }
                | Expr::Case { .. }
                | Expr::Collate { .. }
                | Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, .. }
        );
        if has_own && chain_length(inner) <= NESTED_LINKS_MAX {
            return self.expr(inner);
        }
        self.put("(");
        self.expr(inner)?;
        self.put(")");
        Ok(())
    }

    fn suffixed(&mut self, operand: &Expr, suffix: &str) -> Result<(), SqlError> {
        self.put("(");
        self.expr(operand)?;
        self.put(suffix);
        self.put(")");
        Ok(())
    }

    fn quantified(
        &mut self,
        left: &Expr,
        operator: &BinaryOperator,
        quantifier: &str,
        right: &Expr,
    ) -> Result<(), SqlError> {
        self.put("(");
        self.expr(left)?;
        self.put(&format!(" {operator} {quantifier} "));
        let mut right = right;
        while let Expr::Nested(inner) = right {
            right = inner;
        }
        self.expr(right)?;
        self.put(")");
        Ok(())
    }

    /// A chain of operators leans to the left. It is walked by a loop, because it may be long.
    fn chain(&mut self, expr: &Expr) -> Result<(), SqlError> {
        let mut links = Vec::new();
        let mut first = expr;
        while let Expr::BinaryOp { left, op, right } = first {
            links.push((op, &**right));
            first = left;
        }
        links.reverse();
        let is_nested = links.len() <= NESTED_LINKS_MAX;
        // AND and OR need no parentheses among their kind.
        let same = |number: usize| {
            let is_connective = |op: &BinaryOperator| matches!(op, BinaryOperator::And | BinaryOperator::Or);
            number > 0 && is_connective(links[number].0) && links[number].0 == links[number - 1].0
        };
        let closes = |number: usize| {
            let is_last = number + 1 == links.len();
            if is_nested { is_last || !same(number + 1) } else { is_last }
        };
        let opened = (0..links.len()).filter(|number| closes(*number)).count();
        self.put(&"(".repeat(opened));
        self.expr(first)?;
        for (number, (op, right)) in links.iter().enumerate() {
            self.put(&format!(" {} ", operator_text(op)?));
            self.expr(right)?;
            if closes(number) {
                self.put(")");
            }
        }
        Ok(())
    }

    fn unary(&mut self, operator: UnaryOperator, mut operand: &Expr) -> Result<(), SqlError> {
        while let Expr::Nested(inner) = operand {
            operand = inner;
        }
        match operator {
            UnaryOperator::Plus => self.expr(operand),
            UnaryOperator::Minus => {
                // Two signs would begin a comment.
                let is_number = matches!(operand, Expr::Value(_));
                self.put(if is_number { "-" } else { "-(" });
                self.expr(operand)?;
                self.put(if is_number { "" } else { ")" });
                Ok(())
            }
            UnaryOperator::Not | UnaryOperator::BangNot => {
                self.put("(not(");
                self.expr(operand)?;
                self.put("))");
                Ok(())
            }
            UnaryOperator::BitwiseNot => {
                self.put("~(");
                self.expr(operand)?;
                self.put(")");
                Ok(())
            }
            other => Err(missing(&format!("operator {other}"))),
        }
    }

    fn column(&mut self, parts: &[Ident]) -> Result<(), SqlError> {
        let Some(first) = parts.first() else { return Ok(()) };
        if first.quote_style.is_none() && first.value.starts_with('@') {
            return Err(SqlError::new(1351, "View's SELECT contains a variable or parameter"));
        }
        if let Some(known) = self.names.columns.get(&offset_of(first.span.start)) {
            self.full_name(known);
            return Ok(());
        }
        let written: Vec<String> = parts.iter().map(|part| part.value.clone()).collect();
        self.full_name(&written);
        Ok(())
    }

    fn value(&mut self, value: &AstValue) -> Result<(), SqlError> {
        match value {
            AstValue::Number(digits, _) => self.put(digits),
            AstValue::SingleQuotedString(text) => self.put(&text_literal(text)),
            AstValue::HexStringLiteral(digits) => self.put(&format!("0x{digits}")),
            AstValue::Boolean(truth) => self.put(if *truth { "true" } else { "false" }),
            AstValue::Null => self.put("NULL"),
            AstValue::Placeholder(_) => {
                return Err(SqlError::new(1351, "View's SELECT contains a variable or parameter"));
            }
            other => return Err(missing(&format!("literal {other}"))),
        }
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) -> Result<(), SqlError> {
        self.put("interval ");
        self.expr(&interval.value)?;
        let unit = interval.leading_field.as_ref().map(ToString::to_string).unwrap_or_default();
        self.put(&format!(" {}", unit.to_lowercase()));
        Ok(())
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<(), SqlError> {
        self.put("(case");
        if let Some(operand) = operand {
            self.put(" ");
            self.expr(operand)?;
        }
        for when in conditions {
            self.put(" when ");
            self.expr(&when.condition)?;
            self.put(" then ");
            self.expr(&when.result)?;
        }
        if let Some(otherwise) = otherwise {
            self.put(" else ");
            self.expr(otherwise)?;
        }
        self.put(" end)");
        Ok(())
    }

    fn call(&mut self, name: &str, arguments: &[&Expr]) -> Result<(), SqlError> {
        self.put(name);
        self.put("(");
        self.list(arguments, COMMA, |printer, argument| printer.expr(argument))?;
        self.put(")");
        Ok(())
    }

    fn function(&mut self, function: &Function) -> Result<(), SqlError> {
        if function.filter.is_some() || !function.within_group.is_empty() {
            return Err(missing("FILTER and WITHIN GROUP in a view"));
        }
        let name = one_part(&function.name)?.to_lowercase();
        self.put(&name);
        self.put("(");
        match &function.args {
            FunctionArguments::None => {}
            FunctionArguments::Subquery(query) => self.query(query, None)?,
            FunctionArguments::List(list) => {
                if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
                    self.put("distinct ");
                }
                self.list(&list.args, COMMA, |printer, argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => printer.expr(expr),
                    FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {
                        printer.put(if name == "count" { "0" } else { "*" });
                        Ok(())
                    }
                    _ => Err(missing("this argument in a view")),
                })?;
                for clause in &list.clauses {
                    match clause {
                        FunctionArgumentClause::OrderBy(items) => {
                            self.put(" order by ");
                            self.order_items(items)?;
                        }
                        FunctionArgumentClause::Separator(value) => {
                            self.put(" separator ");
                            self.value(&value.value)?;
                        }
                        _ => return Err(missing("this clause of an aggregate in a view")),
                    }
                }
            }
        }
        self.put(")");
        if function.null_treatment == Some(NullTreatment::RespectNulls) {
            self.put(" respect nulls");
        }
        function.over.iter().try_for_each(|over| self.over(over))
    }
}

fn missing(what: &str) -> SqlError {
    SqlError::unsupported(what)
}

fn identifier(part: &ObjectNamePart) -> Option<&Ident> {
    if let ObjectNamePart::Identifier(ident) = part { Some(ident) } else { None }
}

/// A name of one part, or of several with points between.
fn one_part(name: &ObjectName) -> Result<String, SqlError> {
    let parts: Vec<&str> = name.0.iter().filter_map(identifier).map(|ident| ident.value.as_str()).collect();
    match parts.as_slice() {
        [name] => Ok((*name).to_owned()),
        _ => Err(missing(&format!("name {name}"))),
    }
}

/// The links of a chain of operators.
fn chain_length(mut expr: &Expr) -> usize {
    let mut links = 0;
    while let Expr::BinaryOp { left, .. } = expr {
        links += 1;
        expr = left;
    }
    links
}

fn operator_text(operator: &BinaryOperator) -> Result<&'static str, SqlError> {
    Ok(match operator {
        BinaryOperator::Plus => "+",
        BinaryOperator::Minus => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::MyIntegerDivide => "DIV",
        BinaryOperator::Modulo => "%",
        BinaryOperator::Gt => ">",
        BinaryOperator::Lt => "<",
        BinaryOperator::GtEq => ">=",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::Spaceship => "<=>",
        BinaryOperator::And => "and",
        // With PIPES_AS_CONCAT the parser makes a call of CONCAT.
        BinaryOperator::Or | BinaryOperator::StringConcat => "or",
        BinaryOperator::Xor => "xor",
        BinaryOperator::BitwiseOr => "|",
        BinaryOperator::BitwiseAnd => "&",
        BinaryOperator::BitwiseXor => "^",
        BinaryOperator::PGBitwiseShiftLeft => "<<",
        BinaryOperator::PGBitwiseShiftRight => ">>",
        other => return Err(missing(&format!("operator {other} in a view"))),
    })
}

/// A text in quotes, with a backslash before what needs one.
fn text_literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('\'');
    for character in text.chars() {
        match character {
            '\'' => literal.push_str("\\'"),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\0' => literal.push_str("\\0"),
            '\u{1a}' => literal.push_str("\\Z"),
            other => literal.push(other),
        }
    }
    literal.push('\'');
    literal
}

fn type_text(data_type: &DataType) -> String {
    data_type.to_string().to_lowercase()
}
