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
use std::collections::BTreeMap;
use stdx::{FixedMap, FixedSet};

/// Columns of a class, so that few follow from many.
const CLASS_COLUMNS_MAX: usize = 16;

/// Columns that are equal to each other.
struct Class {
    form: HashForm,
    /// Columns, as expressions, by their slots.
    columns: BTreeMap<ColumnSlot, Expression>,
    /// An equality with a constant, and the column that it names.
    constant: Option<(ColumnSlot, Expression)>,
    /// The position of the last conjunct that it follows from: classes are in this order.
    last: usize,
}

/// Classes, and which columns are in which.
struct Classes {
    classes: Vec<Class>,
    of_columns: FixedMap<(ColumnSlot, HashForm), usize>,
}

impl Classes {
    fn of(&self, column: &Expression, form: HashForm) -> Option<usize> {
        self.of_columns.get(&(column.as_column()?, form)).copied()
    }
}

/// Adds what follows from the equalities of a cluster.
pub(super) fn spread(cluster: &mut Cluster) {
    let mut classes = classes_of(cluster);
    let mut constant: FixedSet<ColumnSlot> = FixedSet::default();
    for conjunct in cluster.units.iter().filter(|unit| unit.left_on.is_none()).flat_map(filters_of) {
        let Some((column, _, form)) = column_and_constant(conjunct) else { continue };
        constant.extend(column.as_column());
        if let (Some(class), Some(slot)) = (classes.of(column, form), column.as_column()) {
            classes.classes[class].constant.get_or_insert_with(|| (slot, conjunct.clone()));
        }
    }
    let mut of_class: Vec<FixedSet<[ColumnSlot; 2]>> = Vec::new();
    of_class.resize_with(classes.classes.len(), FixedSet::default);
    for conjunct in &mut cluster.conjuncts {
        let Some((left, right, form)) = equal_columns(&conjunct.expression) else { continue };
        conjunct.class = classes.of(left, form);
        if let (Some(class), Some(left), Some(right)) = (conjunct.class, left.as_column(), right.as_column())
        {
            of_class[class].extend([[left, right], [right, left]]);
        }
    }
    for (number, class) in classes.classes.iter().enumerate() {
        match &class.constant {
            Some((slot, conjunct)) => spread_constant(cluster, class, (*slot, conjunct), &mut constant),
            None => add_equalities(cluster, class, number, &of_class[number]),
        }
    }
    for number in 0..cluster.units.len() {
        spread_to_left(cluster, number);
    }
}

fn filters_of(unit: &Unit) -> &[Expression] {
    unit.draft.filters()
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
fn classes_of(cluster: &Cluster) -> Classes {
    let mut classes: Vec<Class> = Vec::new();
    let mut of_columns: FixedMap<(ColumnSlot, HashForm), usize> = FixedMap::default();
    for (last, conjunct) in cluster.conjuncts.iter().enumerate() {
        let Some((left, right, form)) = equal_columns(&conjunct.expression) else { continue };
        let mut own = [left, right].map(|column| {
            let slot = column.as_column().unwrap_or_default();
            *of_columns.entry((slot, form)).or_insert_with(|| {
                let columns = BTreeMap::from([(slot, column.clone())]);
                classes.push(Class { form, columns, constant: None, last });
                classes.len() - 1
            })
        });
        // The smaller one goes into the larger one: few columns move.
        own.sort_by_key(|class| classes[*class].columns.len());
        let [smaller, larger] = own;
        if smaller != larger {
            let columns = std::mem::take(&mut classes[smaller].columns);
            of_columns.extend(columns.keys().map(|slot| ((*slot, form), larger)));
            classes[larger].columns.extend(columns);
        }
        classes[larger].last = last;
    }
    classes.retain(|class| !class.columns.is_empty());
    classes.sort_by_key(|class| class.last);
    for (number, class) in classes.iter().enumerate() {
        of_columns.extend(class.columns.keys().map(|slot| ((*slot, class.form), number)));
    }
    Classes { classes, of_columns }
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

/// Tests a class's constant on all its columns; `constant` are the columns that a condition compares with constants.
fn spread_constant(
    cluster: &mut Cluster,
    class: &Class,
    (slot, conjunct): (ColumnSlot, &Expression),
    constant: &mut FixedSet<ColumnSlot>,
) {
    for (own, column) in class.columns.iter().filter(|(own, _)| **own != slot) {
        let inner = |unit: &&mut Unit| unit.left_on.is_none() && unit.draft.has(*own);
        if let Some(unit) = cluster.units.iter_mut().find(inner)
            && !constant.contains(own)
        {
            let made = of_column(conjunct, slot, column);
            constant.extend(column_and_constant(&made).and_then(|(column, _, _)| column.as_column()));
            let left_over = unit.draft.push(made);
            stdx::require!(left_over.is_none(), "a table or query takes every condition over it");
        }
    }
}

/// Makes each two columns of a class equal, where nothing says so yet.
fn add_equalities(cluster: &mut Cluster, class: &Class, number: usize, known: &FixedSet<[ColumnSlot; 2]>) {
    if class.columns.len() > CLASS_COLUMNS_MAX {
        return;
    }
    for (position, (left_slot, left)) in class.columns.iter().enumerate() {
        for (right_slot, right) in class.columns.iter().skip(position + 1) {
            let units = cluster.units_of(&[*left_slot, *right_slot]);
            if known.contains(&[*left_slot, *right_slot]) || units.count_ones() != 2 {
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

/// The first conjunct of inner units that compares a column with a constant.
fn constants_of(cluster: &Cluster) -> FixedMap<(ColumnSlot, HashForm), &Expression> {
    let mut constants = FixedMap::default();
    for conjunct in cluster.units.iter().filter(|unit| unit.left_on.is_none()).flat_map(filters_of) {
        if let Some((column, _, form)) = column_and_constant(conjunct)
            && let Some(slot) = column.as_column()
        {
            constants.entry((slot, form)).or_insert(conjunct);
        }
    }
    constants
}

/// Constants of the left side of a LEFT JOIN go through its ON to the right side.
fn spread_to_left(cluster: &mut Cluster, number: usize) {
    let Some(on) = &cluster.units[number].left_on else { return };
    let constants = constants_of(cluster);
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
        let constant = outer.as_column().and_then(|slot| constants.get(&(slot, form)));
        made.extend(constant.and_then(|constant| Some(of_column(constant, outer.as_column()?, own))));
    }
    let unit = &mut cluster.units[number];
    for conjunct in made {
        let left_over = unit.draft.push(conjunct);
        unit.left_on.iter_mut().for_each(|on| on.extend(left_over.clone()));
    }
}
