//! The steps of a SELECT with the rows of its source: sorting, DISTINCT, where its LIMIT counts, and the parts that are
//! evaluated in the session.
//!
//! It is decided here, once per plan; the executor runs it and EXPLAIN shows it.
//!
//! Invariant: behind the projection (behind the window functions, if there are any) a row holds the items, then the
//! values of `sort` that are no items. Items that use variables are computed behind the sort: then the row before it
//! holds what they read, then the values of `sort`.

use crate::plan::{Equals, Evaluation, Narrow, SelectPlan, Sort, SortColumn, SortKey, Source, Steps};
use expression::{ColumnSlot, Expression};
use stdx::{FixedMap, FixedSet};
use types::ColumnIndex;

/// The steps of a plan; it `is_volatile` if it calls RAND() or its like.
pub(crate) fn steps_of(plan: &SelectPlan, is_volatile: bool) -> Steps {
    let places = ItemPlaces::of(plan);
    let columns = sort_columns(plan, &places);
    let drops_equals = plan.distinct && sorts_by_all_items(plan, &columns);
    let distinct = (plan.distinct && !drops_equals)
        .then(|| plan.projection.iter().map(|item| item.sql_type.clone()).collect());
    let equals = if drops_equals { Equals::Dropped } else { Equals::Kept };
    let sorted = if is_deferred(plan) { Some(sorted_values(plan)) } else { None };
    let (shown, columns, deferred) = match sorted {
        Some(Sorted { output, columns, items }) => (output, columns, Some(items)),
        None => (output_of(plan, &places), columns, None),
    };
    let sort = needs_sort(plan).then_some(Sort { columns, equals });
    let (output, windowed) = match &plan.windows {
        Some(windows) => (windows.input.clone(), Some(shown)),
        None => (shown, None),
    };
    let narrow = match &plan.source {
        Source::Table(table) if is_volatile => Some(Box::new(narrow(plan, table.filter.clone(), &output))),
        Source::Table(_) | Source::Nothing | Source::Joined { .. } => None,
    };
    let limits_locks = plan.grouping.is_none() && !plan.distinct && plan.windows.is_none();
    Steps {
        evaluation: if is_volatile { Evaluation::RowByRow } else { Evaluation::Flowing },
        narrow,
        output_columns: as_columns(&output),
        output,
        windowed,
        distinct,
        limits_source: limits_locks && sort.is_none(),
        limits_locks,
        sort,
        deferred,
    }
}

/// Whether items are computed behind the sort: those that count rows in a user variable are to count them in the order
/// that is shown. Nothing that is sorted by, or told apart by DISTINCT, may depend on them.
fn is_deferred(plan: &SelectPlan) -> bool {
    needs_sort(plan)
        && !plan.distinct
        && plan.projection.iter().any(Expression::uses_variables)
        && !plan.order_by.iter().any(|key| key.expression.is_volatile())
}

/// Rows that are sorted before the items are computed.
struct Sorted {
    /// The columns that items read, then the values that are sorted by.
    output: Vec<Expression>,
    columns: Vec<SortColumn>,
    /// Over the sorted rows.
    items: Vec<Expression>,
}

fn sorted_values(plan: &SelectPlan) -> Sorted {
    let mut read: Vec<Expression> = Vec::new();
    let mut positions: FixedMap<ColumnSlot, u16> = FixedMap::default();
    for item in &plan.projection {
        item.visit(&mut |part| {
            if let Some(slot) = part.as_column() {
                positions.entry(slot).or_insert_with(|| {
                    read.push(part.clone());
                    u16::try_from(read.len() - 1).unwrap_or(u16::MAX)
                });
            }
        });
    }
    let mut items = plan.projection.clone();
    for item in &mut items {
        item.map_columns(&mut |slot| ColumnSlot(positions.get(&slot).copied().unwrap_or(u16::MAX)));
    }
    let columns = (read.len()..).zip(&plan.order_by).map(|(position, key)| SortColumn {
        position,
        sql_type: key.expression.sql_type.clone(),
        descending: key.descending,
    });
    let columns = columns.collect();
    let keys = plan.order_by.iter().map(|key| key.expression.clone());
    let output = read.into_iter().chain(keys).collect();
    Sorted { output, columns, items }
}

fn needs_sort(plan: &SelectPlan) -> bool {
    !plan.order_by.is_empty() && plan.order_by_index.is_none()
}

/// Where the values of sort keys are that are items, too.
struct ItemPlaces<'p> {
    plan: &'p SelectPlan,
    /// The first item that is this column.
    columns: FixedMap<ColumnSlot, usize>,
    /// Volatile items by their fingerprints.
    volatile: FixedMap<u64, Vec<usize>>,
}

impl<'p> ItemPlaces<'p> {
    fn of(plan: &'p SelectPlan) -> Self {
        let mut places = Self { plan, columns: FixedMap::default(), volatile: FixedMap::default() };
        let has_volatile = needs_sort(plan) && plan.order_by.iter().any(|key| key.expression.is_volatile());
        let items = if needs_sort(plan) { plan.projection.as_slice() } else { &[] };
        for (position, item) in items.iter().enumerate() {
            if let Some(slot) = item.as_column() {
                places.columns.entry(slot).or_insert(position);
            } else if has_volatile {
                places.volatile.entry(item.fingerprint()).or_default().push(position);
            }
        }
        places
    }

    /// The position of the item that a sort key is. One with a volatile call is evaluated once: what is ordered by is
    /// what is shown.
    fn item(&self, key: &SortKey) -> Option<usize> {
        if let Some(slot) = key.expression.as_column() {
            return self.columns.get(&slot).copied();
        }
        if !key.expression.is_volatile() {
            return None;
        }
        let positions = self.volatile.get(&key.expression.fingerprint())?;
        positions.iter().copied().find(|position| self.plan.projection[*position] == key.expression)
    }
}

/// The sort columns: an item, or one of the values that stand behind the items.
fn sort_columns(plan: &SelectPlan, places: &ItemPlaces<'_>) -> Vec<SortColumn> {
    let mut behind = plan.projection.len()..;
    let column = |key: &SortKey| SortColumn {
        position: places.item(key).or_else(|| behind.next()).unwrap_or(usize::MAX),
        sql_type: key.expression.sql_type.clone(),
        descending: key.descending,
    };
    if needs_sort(plan) { plan.order_by.iter().map(column).collect() } else { Vec::new() }
}

/// True if rows that are equal in all sort columns are equal in all items, and the other way round.
fn sorts_by_all_items(plan: &SelectPlan, columns: &[SortColumn]) -> bool {
    let items = 0..plan.projection.len();
    let sorted: FixedSet<usize> = columns.iter().map(|column| column.position).collect();
    columns.iter().all(|column| items.contains(&column.position)) && items.len() == sorted.len()
}

/// The items, then what else is sorted by.
fn output_of(plan: &SelectPlan, places: &ItemPlaces<'_>) -> Vec<Expression> {
    let mut expressions = plan.projection.clone();
    if needs_sort(plan) {
        let others = plan.order_by.iter().filter(|key| places.item(key).is_none());
        expressions.extend(others.map(|key| key.expression.clone()));
    }
    expressions
}

/// The columns, if all expressions are plain ones.
fn as_columns(expressions: &[Expression]) -> Option<Vec<ColumnIndex>> {
    expressions.iter().map(|expression| expression.as_column().map(|slot| ColumnIndex(slot.0))).collect()
}

/// The work that is left to do here where rows bring only the columns that are read here.
fn narrow(plan: &SelectPlan, filter: Option<Expression>, output: &[Expression]) -> Narrow {
    let conjuncts = filter.map(Expression::into_conjuncts).unwrap_or_default();
    let (mut conditions, pushed): (Vec<_>, Vec<_>) =
        conjuncts.into_iter().partition(|conjunct| conjunct.is_volatile());
    let columns = source_columns(plan, &conditions, output);
    let mut slot_of = |slot: ColumnSlot| position_in(&columns, slot);
    for condition in &mut conditions {
        condition.map_columns(&mut slot_of);
    }
    let (mut grouping, mut having, mut output) =
        (plan.grouping.clone(), plan.having.clone(), output.to_vec());
    match &mut grouping {
        // HAVING and the items are over the groups.
        Some(grouping) => {
            for expression in &mut grouping.group_by {
                expression.map_columns(&mut slot_of);
            }
            for call in &mut grouping.calls {
                for argument in &mut call.arguments {
                    argument.map_columns(&mut slot_of);
                }
                for order in &mut call.order_by {
                    order.expression.map_columns(&mut slot_of);
                }
            }
        }
        None => {
            for expression in output.iter_mut().chain(&mut having) {
                expression.map_columns(&mut slot_of);
            }
        }
    }
    let columns = columns.iter().map(|slot| ColumnIndex(slot.0)).collect();
    Narrow { columns, pushed, conditions, grouping, having, output }
}

/// The columns that a plan's expressions read of the source, ascending.
fn source_columns(plan: &SelectPlan, conditions: &[Expression], output: &[Expression]) -> Vec<ColumnSlot> {
    let mut columns: Vec<ColumnSlot> = conditions.iter().flat_map(Expression::columns).collect();
    match &plan.grouping {
        Some(grouping) => {
            columns.extend(grouping.group_by.iter().flat_map(Expression::columns));
            for call in &grouping.calls {
                columns.extend(call.arguments.iter().flat_map(Expression::columns));
                columns.extend(call.order_by.iter().flat_map(|order| order.expression.columns()));
            }
        }
        None => {
            columns.extend(plan.having.iter().flat_map(Expression::columns));
            columns.extend(output.iter().flat_map(Expression::columns));
        }
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Where a column is in rows that have only these.
fn position_in(columns: &[ColumnSlot], slot: ColumnSlot) -> ColumnSlot {
    let position = columns.binary_search(&slot).ok().and_then(|position| u16::try_from(position).ok());
    ColumnSlot(position.unwrap_or(u16::MAX))
}
