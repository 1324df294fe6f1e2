//! Orders of joins: the plan that is chosen gives the rows of the draft as written.
//!
//! A random FROM and WHERE over small tables is a draft. Its rows are made by nested loops, straight from the meaning
//! of joins. The draft that rules and search make of it must give the same bag, whatever is known of counts.

use super::counts::Counts;
use crate::algebra::{Draft, JoinHint};
use crate::alternatives;
use crate::join_order::{TableOrder, ordered};
use crate::nulls;
use crate::plan::JoinKind;
use crate::statistics::Counts as Known;
use crate::statistics::Statistics;
use expression::{ColumnSlot, Comparison, Context, Expression, Node};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{
    Collation, ColumnIndex, Decimal, IndexDefinition, IndexId, IndexKind, IndexState, IntegerWidth, KeyPart,
    SqlType, TableDefinition, TableId, Value,
};

/// Columns of each table: a key, an integer with an index, a decimal, a text.
const WIDTH: u16 = 4;

fn types() -> [SqlType; 4] {
    let integer = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    let text = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
    [integer.clone(), integer, SqlType::Decimal { precision: 5, scale: 1, unsigned: false }, text]
}

fn table(number: u16) -> Arc<TableDefinition> {
    let columns = ["id", "k", "d", "s"].into_iter().zip(types());
    let columns = columns.map(|(name, sql_type)| fixtures::column(name, sql_type)).collect();
    let mut table = fixtures::table(TableId(u32::from(number) + 1), columns);
    table.name = format!("t{number}");
    table.columns[1..].iter_mut().for_each(|column| column.flags.nullable = true);
    let part = |column| KeyPart { column: ColumnIndex(column), prefix_length: None, descending: false };
    let index = |id, kind, column| IndexDefinition {
        id: IndexId(id),
        name: format!("i{id}"),
        kind,
        parts: vec![part(column)],
        state: IndexState::Public,
    };
    table.indexes = vec![index(0, IndexKind::Primary, 0), index(1, IndexKind::Ordered, 1)];
    Arc::new(table)
}

/// A value of a column's type; the key is never NULL.
fn value(column: u16, number: i64, is_null: bool) -> Value {
    match column {
        0 => Value::Int(number),
        _ if is_null => Value::Null,
        1 => Value::Int(number),
        2 => Value::Decimal(Box::new(Decimal::from(number))),
        _ => Value::text(["a", "A", "b", "c"][usize::try_from(number).unwrap_or(0) % 4]),
    }
}

fn column(slot: u16) -> Expression {
    Expression::column(ColumnSlot(slot), types()[usize::from(slot % WIDTH)].clone(), true)
}

fn constant(column: u16, number: i64) -> Expression {
    Expression::literal(value(column, number, false), types()[usize::from(column)].clone())
}

/// Numbers that shapes are made of.
type Seeds = Vec<u32>;

struct Maker {
    seeds: std::vec::IntoIter<u32>,
    tables: u16,
}

impl Maker {
    fn number(&mut self, below: u32) -> u32 {
        self.seeds.next().unwrap_or(0) % below
    }

    fn small(&mut self, below: u16) -> u16 {
        u16::try_from(self.number(u32::from(below))).expect("a small number")
    }

    /// A column of one of the tables.
    fn slot(&mut self, tables: &[u16], column: u16) -> u16 {
        let position = self.number(u32::try_from(tables.len()).expect("few tables"));
        tables[position as usize] * WIDTH + column
    }

    fn condition(&mut self, tables: &[u16]) -> Expression {
        let of = [0, 0, 1, 1, 2, 3][self.number(6) as usize];
        let left = column(self.slot(tables, of));
        // Integers and decimals compare exactly; texts with their kind.
        let other = if of == 3 { 3 } else { self.small(3) };
        let comparisons = [
            Comparison::Equal,
            Comparison::Equal,
            Comparison::Equal,
            Comparison::NullSafeEqual,
            Comparison::Less,
            Comparison::NotEqual,
        ];
        let comparison = comparisons[self.number(6) as usize];
        let right = if self.number(3) == 0 {
            constant(other, i64::from(self.number(4)))
        } else {
            column(self.slot(tables, other))
        };
        let compared = Expression::compare(comparison, left, right).expect("comparable");
        match self.number(9) {
            8 => {
                // A condition that stands in both branches.
                let (one, other) = (self.condition(tables), self.condition(tables));
                let branches = [one, other].map(|more| Expression::and(vec![more, compared.clone()]));
                Expression::or(branches.into())
            }
            0 => Expression {
                node: Node::Is {
                    test: expression::Test::Null,
                    operand: Box::new(column(self.slot(tables, of))),
                },
                ..compared
            },
            1 => {
                let more = self.condition(tables);
                Expression {
                    node: Node::Or([compared, more].into_iter().collect::<Vec<_>>().into()),
                    ..constant(0, 0)
                }
            }
            _ => compared,
        }
    }

    /// A tree of so many tables, and which.
    fn tree(&mut self, count: u16) -> (Draft, Vec<u16>) {
        if count == 1 {
            let number = self.tables;
            self.tables += 1;
            let (table, alias) = (table(number), format!("t{number}"));
            return (
                Draft::Table { table, alias, first_slot: number * WIDTH, filter: Vec::new() },
                vec![number],
            );
        }
        let left_count = 1 + self.small(count - 1);
        let (left, mut tables) = self.tree(left_count);
        let (right, more) = self.tree(count - left_count);
        let left_tables = tables.clone();
        tables.extend(more);
        let kinds = [
            JoinKind::Inner,
            JoinKind::Inner,
            JoinKind::Inner,
            JoinKind::Inner,
            JoinKind::Left,
            JoinKind::Left,
            JoinKind::Semi,
            JoinKind::Anti,
        ];
        let kind = kinds[self.number(8) as usize];
        let on: Vec<Expression> = (0..self.number(3)).map(|_| self.condition(&tables)).collect();
        if kind.is_filter() {
            // Nothing above it sees its right side.
            tables = left_tables;
        }
        let hint =
            if kind == JoinKind::Inner && self.number(6) == 0 { JoinHint::Straight } else { JoinHint::Free };
        // As the binder makes them: without the rules that move conditions the text is its own meaning.
        (Draft::Join { kind, left: Box::new(left), right: Box::new(right), on, hint }, tables)
    }
}

type Row = BTreeMap<u16, Value>;
type Rows = Vec<Vec<Vec<Value>>>;

fn is_true(condition: &Expression, row: &Row) -> bool {
    let width = row.keys().max().map_or(0, |slot| usize::from(*slot) + 1);
    let values: Vec<Value> = (0..width)
        .map(|slot| row.get(&u16::try_from(slot).expect("a slot")).cloned().unwrap_or(Value::Null))
        .collect();
    let values: Vec<types::ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
    condition.is_true(&values.as_slice(), &Context::default()).expect("no error")
}

/// The rows of a draft, by nested loops.
fn rows_of(draft: &Draft, rows: &Rows) -> Vec<Row> {
    match draft {
        Draft::Table { first_slot, filter, .. } => {
            let own = rows[usize::from(*first_slot / WIDTH)].iter();
            let row = |values: &Vec<Value>| (*first_slot..).zip(values.iter().cloned()).collect::<Row>();
            own.map(row).filter(|row| filter.iter().all(|conjunct| is_true(conjunct, row))).collect()
        }
        Draft::Join { kind, left, right, on, .. } => {
            let right = rows_of(right, rows);
            let mut joined = Vec::new();
            for left in rows_of(left, rows) {
                let pairs = right.iter().map(|right| {
                    left.iter().chain(right).map(|(slot, value)| (*slot, value.clone())).collect::<Row>()
                });
                let matches: Vec<Row> =
                    pairs.filter(|pair| on.iter().all(|conjunct| is_true(conjunct, pair))).collect();
                let is_alone = match kind {
                    JoinKind::Left | JoinKind::Anti => matches.is_empty(),
                    JoinKind::Semi => !matches.is_empty(),
                    JoinKind::Inner | JoinKind::Mark | JoinKind::Single => false,
                };
                if !kind.is_filter() {
                    joined.extend(matches);
                }
                if is_alone {
                    joined.push(left);
                }
            }
            joined
        }
        Draft::One | Draft::Query { .. } => panic!("there are only tables"),
    }
}

/// Rows without NULLs, sorted: a column of a missing row is as good as one that is NULL.
fn bag(rows: Vec<Row>, above: &[Expression]) -> Vec<String> {
    let kept = rows.into_iter().filter(|row| above.iter().all(|conjunct| is_true(conjunct, row)));
    let shown =
        kept.map(|row| format!("{:?}", row.iter().filter(|(_, value)| !value.is_null()).collect::<Vec<_>>()));
    let mut bag: Vec<String> = shown.collect();
    bag.sort();
    bag
}

/// The draft as the binder makes it of the same text, with WHERE.
fn bound(draft: Draft, conditions: &[Expression]) -> (Draft, Vec<Expression>) {
    let conditions = alternatives::factored(conditions.to_vec());
    let needed = conditions.iter().flat_map(nulls::rejected).collect();
    let mut draft = pushed(draft).without_needless_outer(&needed);
    let above = conditions.iter().filter_map(|condition| draft.push(condition.clone())).collect();
    (draft, above)
}

fn pushed(draft: Draft) -> Draft {
    match draft {
        Draft::Join { kind, left, right, on, hint } => {
            Draft::join(kind, pushed(*left), pushed(*right), alternatives::factored(on)).with_hint(hint)
        }
        Draft::One | Draft::Table { .. } | Draft::Query { .. } => draft,
    }
}

fn rebuilt(seeds: &Seeds, count: u16) -> (Draft, Vec<Expression>) {
    let mut maker = Maker { seeds: seeds.clone().into_iter(), tables: 0 };
    let (draft, tables) = maker.tree(count);
    let conditions = (0..maker.number(4)).map(|_| maker.condition(&tables)).collect();
    (draft, conditions)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn an_order_gives_the_rows_of_the_text(
        seeds in prop::collection::vec(any::<u32>(), 40..120),
        count in 2_u16..6,
        rows in prop::collection::vec(prop::collection::vec((0_i64..4, any::<[u8; 3]>()), 0..4), 6),
        counts in prop::collection::vec(prop::option::of(prop::sample::select(vec![0_u64, 3, 40, 1_000, 1_000_000])), 6),
    ) {
        let made: Rows = rows.iter().map(|rows| {
            let mut ids: Vec<i64> = Vec::new();
            let mut made = Vec::new();
            for (id, others) in rows {
                if !ids.contains(id) {
                    ids.push(*id);
                    let others = (1..).zip(others).map(|(column, byte)| value(column, i64::from(byte % 4), byte / 4 % 3 == 0));
                    made.push(std::iter::once(Value::Int(*id)).chain(others).collect());
                }
            }
            made
        }).collect();
        let known: BTreeMap<String, u64> = (0..).zip(&counts).filter_map(|(number, count): (u16, _)| Some((format!("t{number}"), (*count)?))).collect();
        let (written, conditions) = rebuilt(&seeds, count);
        let expected = bag(rows_of(&written, &made), &conditions);
        let (draft, above) = bound(rebuilt(&seeds, count).0, &conditions);
        prop_assert_eq!(&bag(rows_of(&draft, &made), &above), &expected, "moved: {:?}", draft);
        let shown = format!("{draft:?}");
        let statistics: &dyn Statistics = &Counts(known);
        for order in [TableOrder::Free, TableOrder::Written] {
            let (draft, mut above) = bound(rebuilt(&seeds, count).0, &conditions);
            let mut bands = Vec::new();
            let (draft, more) = ordered(draft, order, &mut Known::new(statistics, &mut bands));
            above.extend(more);
            prop_assert_eq!(&bag(rows_of(&draft, &made), &above), &expected, "{}\n{:?}: {:?}", shown, order, draft);
        }
    }
}
