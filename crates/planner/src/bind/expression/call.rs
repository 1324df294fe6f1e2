//! Calls: functions, aggregates, and the forms that only look like calls (VALUES, DEFAULT, TIMESTAMPDIFF's unit).

use super::{Aggregates, Place, WindowPlace, interval_unit};
use crate::algebra::{GROUPING_COUNT_MAX, GROUPING_SLOTS};
use crate::bind::scope::Scope;
use crate::bind::window::is_window_only;
use crate::bind::{Binder, Clause, VolatilePlace, group_concat_size_max};
use crate::limits::exceeds;
use crate::modes::is_function_keyword;
use crate::plan::{SessionValue, UserLockFunction};
use crate::syntax::syntax_error_behind_word;
use expression::aggregate::AggregateOrder;
use expression::{AggregateCall, AggregateFunction, ColumnSlot, Direction, Expression, VolatileFunction};
use protocol::SqlError;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, ObjectNamePart, OrderBySort, Value as AstValue,
};
use types::{Collation, DefaultValue, IntegerWidth, SqlType, Value};

/// Arguments of GROUPING(): bits of its value.
const GROUPING_ARGUMENT_COUNT_MAX: usize = 62;

fn wrong_count(name: &str) -> SqlError {
    SqlError::new(1582, format!("Incorrect parameter count in the call to native function '{name}'"))
}

impl Binder<'_> {
    /// A call of a function by name.
    pub(crate) fn call(&mut self, name: &str, arguments: Vec<Expression>) -> Result<Expression, SqlError> {
        let called = Expression::call(name, arguments, &self.context.typing);
        let called = self.typed(called)?;
        self.work.patterns = self.work.patterns.saturating_add(called.pattern_work());
        exceeds("pattern_work_max", self.work.patterns, self.context.limits.pattern_work_max)?;
        Ok(called)
    }

    /// With PAD_CHAR_TO_FULL_LENGTH the value of a CHAR column has the spaces that it was padded with.
    pub(crate) fn padded(&mut self, column: Expression) -> Result<Expression, SqlError> {
        match (column.as_column(), &column.sql_type) {
            (Some(_), SqlType::Char { length, collation }) if self.context.modes.pad_char_to_full_length => {
                let length = Expression::unsigned((*length).into());
                let space = Expression::text(b" ", *collation);
                self.call("RPAD", vec![column, length, space])
            }
            _ => Ok(column),
        }
    }

    pub(super) fn function(
        &mut self,
        function: &Function,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let Function { name, uses_odbc_syntax, parameters, args, within_group, filter, null_treatment, over } =
            function;
        if *uses_odbc_syntax
            || *parameters != FunctionArguments::None
            || !within_group.is_empty()
            || filter.is_some()
            || null_treatment.is_some()
        {
            return Err(SqlError::unsupported("this form of a function call"));
        }
        let name = match name.0.as_slice() {
            [ObjectNamePart::Identifier(name)] => name,
            [ObjectNamePart::Identifier(database), ObjectNamePart::Identifier(name)] => {
                let count = if let FunctionArguments::List(list) = args { list.args.len() } else { 0 };
                return self.qualified_function(&database.value, &name.value, count, place);
            }
            _ => return Err(syntax_error_behind_word(self.text, "SELECT")),
        };
        if name.quote_style.is_some() && is_function_keyword(&name.value) {
            let Some(database) = self.context.database else {
                return Err(SqlError::new(1046, "No database selected"));
            };
            let message = format!(
                "FUNCTION {database}.{} does not exist. Check the 'Function Name Parsing and Resolution' section in the Reference Manual",
                name.value
            );
            return Err(SqlError::new(1630, message));
        }
        let name = name.value.as_str();
        let list = match args {
            FunctionArguments::None => None,
            FunctionArguments::List(list) => Some(list),
            FunctionArguments::Subquery(_) => return Err(SqlError::unsupported("subqueries")),
        };
        let upper = name.to_ascii_uppercase();
        match (over, list) {
            (Some(over), Some(list)) => return self.window_function(&upper, list, over, place),
            (None, _) if !is_window_only(&upper) => {}
            _ => return Err(syntax_error_behind_word(self.text, name)),
        }
        if let (Some(function), Some(list)) = (AggregateFunction::by_name(&upper), list) {
            return self.aggregate(function, list, place);
        }
        let arguments = plain_arguments(list)?;
        if upper == "GROUPING" {
            return self.grouping_call(&arguments, place);
        }
        if let Some(special) = self.special(&upper, &arguments, place)? {
            return Ok(special);
        }
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            bound.push(self.full(argument, place)?);
        }
        if let Some(function) = VolatileFunction::by_name(&upper) {
            return self.volatile(function, bound);
        }
        self.call(name, bound)
    }

    /// A call whose value is another one each time. The others are told apart by their numbers.
    fn volatile(
        &mut self,
        function: VolatileFunction,
        arguments: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        let is_possible = match (self.volatile.place, function) {
            (VolatilePlace::Session, _) => true,
            (VolatilePlace::Restless, function) => function != VolatileFunction::Sleep,
            (VolatilePlace::Rows, VolatileFunction::Uuid) => true,
            (VolatilePlace::Rows, VolatileFunction::Random) => {
                arguments.iter().all(|seed| !seed.is_constant())
            }
            (VolatilePlace::Rows, VolatileFunction::UuidShort | VolatileFunction::Sleep) => false,
        };
        if !is_possible {
            let seed = if arguments.is_empty() { "" } else { "n" };
            return Err(SqlError::unsupported(&format!("{}({seed}) here", function.name())));
        }
        let call = self.volatile.calls;
        self.volatile.calls = call
            .checked_add(1)
            .ok_or_else(|| SqlError::unsupported("so many calls of RAND() and its like"))?;
        let called = Expression::volatile(function, arguments, call);
        self.typed(called)
    }

    /// Calls whose arguments are not all expressions; None for the rest.
    fn special(
        &mut self,
        name: &str,
        arguments: &[&Expr],
        place: &mut Place<'_>,
    ) -> Result<Option<Expression>, SqlError> {
        Ok(Some(match (name, arguments) {
            ("VERSION", []) => Expression::version(self.context.surroundings.version()),
            ("LAST_INSERT_ID", []) => return self.assigned_last_insert_id(),
            ("LAST_INSERT_ID", [value]) => {
                let value = self.bound(value, place)?;
                self.assign_last_insert_id(value)?
            }
            ("ROW_COUNT", []) => self.session_value(SessionValue::RowCount, "row_count")?,
            ("FOUND_ROWS", []) => self.session_value(SessionValue::FoundRows, "found_rows")?,
            ("CURRENT_ROLE", []) => self.session_value(SessionValue::CurrentRole, "current_role")?,
            ("CURRENT_USER", []) => self.session_value(SessionValue::CurrentUser, "current_user")?,
            ("GET_LOCK", [_, _]) => self.user_lock(UserLockFunction::Get, arguments, place)?,
            ("RELEASE_LOCK", [_]) => self.user_lock(UserLockFunction::Release, arguments, place)?,
            ("RELEASE_ALL_LOCKS", []) => self.user_lock(UserLockFunction::ReleaseAll, arguments, place)?,
            ("IS_FREE_LOCK", [_]) => self.user_lock(UserLockFunction::IsFree, arguments, place)?,
            ("IS_USED_LOCK", [_]) => self.user_lock(UserLockFunction::IsUsed, arguments, place)?,
            ("GET_LOCK" | "RELEASE_LOCK" | "RELEASE_ALL_LOCKS" | "IS_FREE_LOCK" | "IS_USED_LOCK", _) => {
                return Err(wrong_count(name));
            }
            ("VALUES", [argument]) => self.values_of(argument, place)?,
            // MySQL's mysqldump asks so for histograms. There are none, and so no row has this value.
            ("JSON_EXTRACT", [_, _]) if is_column_statistics(place.scope) => Expression::null(),
            ("DEFAULT", [argument]) => self.default_of(argument, place)?,
            ("DATE_ADD" | "ADDDATE" | "DATE_SUB" | "SUBDATE", [date, Expr::Interval(interval)]) => {
                let direction = if name.ends_with("SUB") || name.starts_with("SUB") {
                    Direction::Subtract
                } else {
                    Direction::Add
                };
                let date = self.bound(date, place)?;
                self.interval(date, interval, direction, place)?
            }
            ("DATE_ADD" | "DATE_SUB", [_, _]) => {
                return Err(SqlError::unsupported("DATE_ADD without INTERVAL"));
            }
            ("TIMESTAMPADD", [unit, amount, date]) => {
                let unit = interval_unit(unit_name(unit)?)?;
                let (amount, date) = (self.bound(amount, place)?, self.bound(date, place)?);
                self.typed(Expression::interval(date, amount, unit, Direction::Add, &self.context.typing))?
            }
            ("TIMESTAMPDIFF", [unit, from, to]) => {
                let unit = interval_unit(unit_name(unit)?)?;
                let (from, to) = (self.bound(from, place)?, self.bound(to, place)?);
                self.typed(Expression::timestamp_difference(unit, from, to))?
            }
            ("GET_FORMAT", [Expr::Identifier(kind), style]) => {
                // DATE, TIME, DATETIME are words here.
                let kind = Expression::text(kind.value.as_bytes(), Collation::Utf8mb40900AiCi);
                let style = self.bound(style, place)?;
                self.call("GET_FORMAT", vec![kind, style])?
            }
            _ => return Ok(None),
        }))
    }

    /// GROUPING(): what it means is known when GROUP BY is.
    fn grouping_call(&mut self, arguments: &[&Expr], place: &mut Place<'_>) -> Result<Expression, SqlError> {
        let invalid_use = || SqlError::new(1111, "Invalid use of group function");
        let Some(aggregates) = place.aggregates.take() else { return Err(invalid_use()) };
        let bound: Result<Vec<Expression>, SqlError> =
            arguments.iter().map(|argument| self.bound(argument, place)).collect();
        let mut placed = |bound: Vec<Expression>| {
            if bound.is_empty() || bound.len() > GROUPING_ARGUMENT_COUNT_MAX {
                return Err(SqlError::new(
                    1582,
                    "Incorrect parameter count in the call to native function 'grouping'",
                ));
            }
            aggregates.groupings.push(bound);
            let number = u16::try_from(aggregates.groupings.len() - 1).unwrap_or(u16::MAX);
            if number >= GROUPING_COUNT_MAX {
                return Err(SqlError::unsupported("so many calls of GROUPING()"));
            }
            let integer = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
            Ok(Expression::column(ColumnSlot(GROUPING_SLOTS + number), integer, false))
        };
        let placed = bound.and_then(&mut placed);
        place.aggregates = Some(aggregates);
        placed
    }

    /// GET_LOCK and its kin: their values are known before the statement runs.
    fn user_lock(
        &mut self,
        function: UserLockFunction,
        arguments: &[&Expr],
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let mut bound = Vec::with_capacity(arguments.len());
        for (position, argument) in arguments.iter().enumerate() {
            let argument = self.bound(argument, place)?;
            bound.push(if position == 0 {
                self.call("CONCAT", vec![argument])?
            } else {
                let integer = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
                self.typed(Expression::cast(argument, integer))?
            });
        }
        if !bound.iter().all(Expression::is_constant) {
            return Err(crate::bind::user_lock_in_table());
        }
        self.user_lock_call(function, bound)
    }

    /// VALUES(column) in ON DUPLICATE KEY UPDATE: the column of the new row. Elsewhere it is NULL, as in MySQL.
    fn values_of(&mut self, argument: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        if place.new_row.is_none()
            && let Some(column) = self.value_of_new_row(argument)?
        {
            return Ok(column);
        }
        // The value that INSERT gives a column is no value of the table.
        let reads = std::mem::take(&mut self.reads);
        let column = self.bound(argument, place);
        self.reads = reads;
        let mut column = column?;
        let Some(slot) = column.as_column() else {
            return Err(syntax_error_behind_word(self.text, "VALUES"));
        };
        match place.new_row {
            Some(first) if slot.0 < first => {
                column = Expression::column(
                    expression::ColumnSlot(first + slot.0),
                    column.sql_type,
                    column.nullable,
                );
                Ok(column)
            }
            Some(_) => Ok(column),
            None => Ok(Expression::literal(Value::Null, column.sql_type)),
        }
    }

    /// DEFAULT(column).
    fn default_of(&mut self, argument: &Expr, place: &mut Place<'_>) -> Result<Expression, SqlError> {
        let column = self.bound(argument, place)?;
        let Some(slot) = column.as_column() else {
            return Err(syntax_error_behind_word(self.text, "DEFAULT"));
        };
        let Some((table, index)) = place.scope.table_of(slot).filter(|(table, _)| table.is_table) else {
            return Err(SqlError::unsupported("DEFAULT() of the new row or of a derived table"));
        };
        let definition = table.definition.column_at(index);
        match &definition.default {
            DefaultValue::Literal(value) => {
                Ok(Expression::literal(value.clone(), definition.sql_type.clone()))
            }
            DefaultValue::CurrentTimestamp => self.call("NOW", Vec::new()),
            DefaultValue::Missing if definition.flags.nullable => {
                Ok(Expression::literal(Value::Null, definition.sql_type.clone()))
            }
            DefaultValue::Missing => {
                Err(SqlError::new(1364, format!("Field '{}' doesn't have a default value", definition.name)))
            }
            DefaultValue::AutoIncrement => Ok(Expression::integer(0)),
            DefaultValue::Expression { .. } | DefaultValue::Generated { .. } => {
                Err(SqlError::unsupported("DEFAULT() of an expression default"))
            }
        }
    }

    fn aggregate(
        &mut self,
        function: AggregateFunction,
        list: &FunctionArgumentList,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let invalid_use = || SqlError::new(1111, "Invalid use of group function");
        // Taken out while the arguments are bound: aggregates do not nest.
        let aggregates = place.aggregates.take();
        if aggregates.is_none() && self.outward.blocks.iter().all(|block| block.calls.is_none()) {
            return Err(invalid_use());
        }
        let outer_columns = self.outward.columns.len();
        let items = place.items.take();
        let windows = std::mem::replace(&mut place.windows, WindowPlace::Nowhere);
        let volatile_place = std::mem::replace(&mut self.volatile.place, VolatilePlace::Restless);
        let call = self.aggregate_call(function, list, place);
        self.volatile.place = volatile_place;
        (place.items, place.windows) = (items, windows);
        place.aggregates = aggregates;
        let call = call?;
        if let Some(of_outer) = self.aggregate_of_outer(&call, outer_columns)? {
            return Ok(of_outer);
        }
        placed_call(place.aggregates.as_deref_mut().ok_or_else(invalid_use)?, call)
    }

    /// The call of an aggregate whose arguments are bound here.
    pub(in crate::bind) fn aggregate_call(
        &mut self,
        function: AggregateFunction,
        list: &FunctionArgumentList,
        place: &mut Place<'_>,
    ) -> Result<AggregateCall, SqlError> {
        let FunctionArgumentList { duplicate_treatment, args, clauses } = list;
        let distinct = *duplicate_treatment == Some(DuplicateTreatment::Distinct);
        if let [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] = args.as_slice() {
            if function == AggregateFunction::Count && !distinct && clauses.is_empty() {
                return Ok(AggregateCall::count_rows());
            }
            return Err(syntax_error_behind_word(self.text, function.name()));
        }
        let mut arguments = Vec::with_capacity(args.len());
        for argument in args {
            arguments.push(self.full(plain_argument(argument)?, place)?);
        }
        if function != AggregateFunction::GroupConcat {
            if !clauses.is_empty() {
                return Err(SqlError::unsupported("this clause in an aggregate"));
            }
            return self.typed(AggregateCall::new(function, arguments, distinct));
        }
        let mut order_by = Vec::new();
        let mut separator = b",".to_vec();
        for clause in clauses {
            match clause {
                FunctionArgumentClause::OrderBy(items) => {
                    for item in items {
                        let descending = matches!(item.options.sort, Some(OrderBySort::Desc));
                        let expression = self.group_concat_order(&item.expr, &arguments, place)?;
                        order_by.push(AggregateOrder { expression, descending });
                    }
                }
                FunctionArgumentClause::Separator(value) => match &value.value {
                    AstValue::SingleQuotedString(text) => separator = text.clone().into_bytes(),
                    _ => return Err(SqlError::unsupported("this SEPARATOR")),
                },
                FunctionArgumentClause::IgnoreOrRespectNulls(_)
                | FunctionArgumentClause::Where(_)
                | FunctionArgumentClause::Limit(_)
                | FunctionArgumentClause::OnOverflow(_)
                | FunctionArgumentClause::Having(_)
                | FunctionArgumentClause::JsonNullClause(_)
                | FunctionArgumentClause::JsonReturningClause(_) => {
                    return Err(SqlError::unsupported("this clause in GROUP_CONCAT"));
                }
            }
        }
        let size_max = group_concat_size_max(self.context);
        self.typed(AggregateCall::group_concat(arguments, distinct, order_by, separator, size_max))
    }

    /// An ORDER BY item of GROUP_CONCAT: an ordinal means an argument.
    fn group_concat_order(
        &mut self,
        expr: &Expr,
        arguments: &[Expression],
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        if let Expr::Value(value) = expr
            && let AstValue::Number(digits, _) = &value.value
        {
            let argument =
                digits.parse::<usize>().ok().and_then(|ordinal| arguments.get(ordinal.checked_sub(1)?));
            return argument.cloned().ok_or_else(|| {
                SqlError::new(1054, format!("Unknown column '{digits}' in '{}'", Clause::OrderBy.text()))
            });
        }
        self.bound(expr, place)
    }
}

/// The call's column in the mixed space; equal calls share one.
pub(in crate::bind) fn placed_call(
    aggregates: &mut Aggregates,
    call: AggregateCall,
) -> Result<Expression, SqlError> {
    let position = aggregates.calls.place(call);
    let call = &aggregates.calls.things()[position];
    let slot = u16::try_from(position).ok().and_then(|position| aggregates.first_slot.checked_add(position));
    let slot = slot.filter(|slot| *slot < crate::algebra::LEVEL_SLOT);
    let slot = slot.ok_or_else(|| SqlError::new(1117, "Too many columns"))?;
    Ok(call.as_column(expression::ColumnSlot(slot)))
}

fn plain_argument(argument: &FunctionArg) -> Result<&Expr, SqlError> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
        _ => Err(SqlError::unsupported("named arguments and wildcards")),
    }
}

fn is_column_statistics(scope: &Scope) -> bool {
    let is_it = |name: &str, known: &str| name.eq_ignore_ascii_case(known);
    scope.table().is_some_and(|table| {
        is_it(&table.definition.database, "information_schema")
            && is_it(&table.definition.name, "COLUMN_STATISTICS")
    })
}

fn plain_arguments(list: Option<&FunctionArgumentList>) -> Result<Vec<&Expr>, SqlError> {
    let Some(FunctionArgumentList { duplicate_treatment, args, clauses }) = list else {
        return Ok(Vec::new());
    };
    if duplicate_treatment.is_some() || !clauses.is_empty() {
        return Err(SqlError::unsupported("DISTINCT and other clauses in a function call"));
    }
    args.iter().map(plain_argument).collect()
}

fn unit_name(unit: &Expr) -> Result<&str, SqlError> {
    match unit {
        Expr::Identifier(ident) => Ok(&ident.value),
        _ => Err(wrong_count("TIMESTAMPDIFF")),
    }
}
