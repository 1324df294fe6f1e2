//! Equalities: constants spread to columns that are equal to columns that are equal to them, and columns that are equal
//! to the same column are equal to each other.
//!
//! Only equalities that are **exact** take part: of values that hash alike if they are equal, in the same form. There,
//! what is equal to the same value is equal.
//!
//! Invariant: what is added follows from what is there.

use super::{Cluster, Conjunct, Unit};
use crate::algebra::hash_form;
use crate::plan::HashForm;
use expression::{ColumnSlot, Comparison, Expression, Node};

/// Columns of a class, so that few follow from many.
const CLASS_COLUMNS_MAX: usize = 16;

/// Columns that are equal to each other.
struct Class {
    form: HashForm,
    /// Columns, as expressions.
    columns: Vec<Expression>,
    /// An equality with a constant, and the column that it names.
    constant: Option<(ColumnSlot, Expression)>,
}

impl Class {
    fn has(&self, column: &Expression, form: HashForm) -> bool {
        self.form == form && self.columns.iter().any(|known| known.as_column() == column.as_column())
    }
}

/// Adds what follows from the equalities of a cluster.
pub(super) fn spread(cluster: &mut Cluster) {
    let mut classes = classes_of(cluster);
    for class in &mut classes {
        class.constant =
            cluster.units.iter().filter(|unit| unit.left_on.is_none()).find_map(|unit| {
                unit.draft.filters().iter().find_map(|conjunct| constant_of(conjunct, class))
            });
    }
    for conjunct in &mut cluster.conjuncts {
        let equal = equal_columns(&conjunct.expression);
        conjunct.class =
            equal.and_then(|(left, _, form)| classes.iter().position(|class| class.has(left, form)));
    }
    for (number, class) in classes.iter().enumerate() {
        match &class.constant {
            Some((slot, conjunct)) => spread_constant(cluster, class, *slot, conjunct),
            None => add_equalities(cluster, class, number),
        }
    }
    for number in 0..cluster.units.len() {
        spread_to_left(cluster, number);
    }
}

/// Two columns and the form in which they are equal.
fn equal_columns(conjunct: &Expression) -> Option<(&Expression, &Expression, HashForm)> {
    let Node::Compare { operator: Comparison::Equal, domain, left, right } = &conjunct.node else {
        return None;
    };
    let form = exact_form(hash_form(*domain, &left.sql_type, &right.sql_type)?)?;
    let are_columns = left.as_column().is_some() && right.as_column().is_some();
    are_columns.then_some((left, right, form))
}

/// Forms in which what is equal to the same is equal; numbers of all exact kinds are one.
fn exact_form(form: HashForm) -> Option<HashForm> {
    match form {
        HashForm::Integer | HashForm::Exact => Some(HashForm::Exact),
        HashForm::Double => None,
        form @ (HashForm::Text(_) | HashForm::Instant | HashForm::Duration) => Some(form),
    }
}

/// The classes of columns that inner conjuncts make equal.
fn classes_of(cluster: &Cluster) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for conjunct in &cluster.conjuncts {
        let Some((left, right, form)) = equal_columns(&conjunct.expression) else { continue };
        let mut columns = vec![left.clone(), right.clone()];
        let mut rest = Vec::with_capacity(classes.len() + 1);
        for class in classes {
            if class.has(left, form) || class.has(right, form) {
                columns.extend(class.columns);
            } else {
                rest.push(class);
            }
        }
        columns.sort_by_key(Expression::as_column);
        columns.dedup_by_key(|column| column.as_column());
        rest.push(Class { form, columns, constant: None });
        classes = rest;
    }
    classes
}

/// The column of a class that a conjunct compares with a constant.
fn constant_of(conjunct: &Expression, class: &Class) -> Option<(ColumnSlot, Expression)> {
    let (column, constant, form) = column_and_constant(conjunct)?;
    (class.has(column, form) && constant.is_constant())
        .then(|| column.as_column())?
        .map(|slot| (slot, conjunct.clone()))
}

fn column_and_constant(conjunct: &Expression) -> Option<(&Expression, &Expression, HashForm)> {
    let Node::Compare { operator: Comparison::Equal, domain, left, right } = &conjunct.node else {
        return None;
    };
    let (column, constant) = if left.as_column().is_some() { (left, right) } else { (right, left) };
    column.as_column()?;
    let form = exact_form(hash_form(*domain, &column.sql_type, &constant.sql_type)?)?;
    (constant.is_constant() && !constant.is_volatile()).then_some((&**column, &**constant, form))
}

/// The conjunct with another column in the place of its own.
fn of_column(conjunct: &Expression, slot: ColumnSlot, column: &Expression) -> Expression {
    let mut made = conjunct.clone();
    for operand in made.operands_mut() {
        if operand.as_column() == Some(slot) {
            *operand = column.clone();
        }
    }
    made
}

/// Tests a class's constant on all its columns.
fn spread_constant(cluster: &mut Cluster, class: &Class, slot: ColumnSlot, conjunct: &Expression) {
    for column in &class.columns {
        let Some(own) = column.as_column().filter(|own| *own != slot) else { continue };
        let inner = |unit: &&mut Unit| unit.left_on.is_none() && unit.draft.has(own);
        if let Some(unit) = cluster.units.iter_mut().find(inner) {
            let has_constant = unit.draft.filters().iter().any(|known| {
                column_and_constant(known).is_some_and(|(known, _, _)| known.as_column() == Some(own))
            });
            if !has_constant {
                let left_over = unit.draft.push(of_column(conjunct, slot, column));
                stdx::require!(left_over.is_none(), "a table or query takes every condition over it");
            }
        }
    }
}

/// Makes each two columns of a class equal, where nothing says so yet.
fn add_equalities(cluster: &mut Cluster, class: &Class, number: usize) {
    if class.columns.len() > CLASS_COLUMNS_MAX {
        return;
    }
    for (position, left) in class.columns.iter().enumerate() {
        for right in &class.columns[position + 1..] {
            let slots: Vec<ColumnSlot> = left.as_column().into_iter().chain(right.as_column()).collect();
            let units = cluster.units_of(&slots);
            let is_there = cluster.conjuncts.iter().any(|known| {
                let columns = known.expression.columns();
                known.class == Some(number) && slots.iter().all(|slot| columns.contains(slot))
            });
            if is_there || units.count_ones() != 2 {
                continue;
            }
            let Ok(expression) = Expression::compare(Comparison::Equal, left.clone(), right.clone()) else {
                continue;
            };
            let is_same = equal_columns(&expression).is_some_and(|(_, _, form)| form == class.form);
            if is_same {
                cluster.conjuncts.push(Conjunct { expression, units, class: Some(number), is_derived: true });
            }
        }
    }
}

/// Constants of the left side of a LEFT JOIN go through its ON to the right side.
fn spread_to_left(cluster: &mut Cluster, number: usize) {
    let Some(on) = &cluster.units[number].left_on else { return };
    let mut made = Vec::new();
    for conjunct in on {
        let Some((left, right, form)) = equal_columns(conjunct) else { continue };
        let is_own = |column: &Expression| {
            column.as_column().is_some_and(|slot| cluster.units[number].draft.has(slot))
        };
        let (outer, own) = match (is_own(left), is_own(right)) {
            (false, true) => (left, right),
            (true, false) => (right, left),
            _ => continue,
        };
        let class = Class { form, columns: vec![outer.clone()], constant: None };
        let inner = cluster.units.iter().filter(|unit| unit.left_on.is_none());
        let constant =
            inner.flat_map(|unit| unit.draft.filters()).find_map(|known| constant_of(known, &class));
        made.extend(constant.map(|(slot, constant)| of_column(&constant, slot, own)));
    }
    let unit = &mut cluster.units[number];
    for conjunct in made {
        let left_over = unit.draft.push(conjunct);
        unit.left_on.iter_mut().for_each(|on| on.extend(left_over.clone()));
    }
}
