//! Scans of several ranges: however small the steps and the batches are, the rows are those of the ranges, each once,
//! in order. Partial aggregates: however much there is to aggregate, it leaves in batches of bounded size, which merge
//! to the whole.

use super::{GroupTable, ReadRun, ReadStep, RowSink, remaining};
use crate::TableAccessInfo;
use crate::batch::{BatchShape, RowBatchReader, RowBatchWriter};
use expression::aggregate::{AggregateCall, AggregateFunction, AggregateState};
use expression::{BinaryOperator, ColumnSlot, Comparison, Context, Expression, Test, TypingContext};
use memory::{MemoryConfig, MemoryManager};
use protocol::program::{
    Access, BATCH_BYTES_MAX, KeyRange, ReadOutput, ReadProgram, StatementContext, TableRef,
};
use protocol::{Budget, SqlError};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use stdx::{IdRange, Prng};
use storage::{Fragment, FragmentDefinition, Visibility};
use types::*;

pub(crate) fn table() -> Arc<TableDefinition> {
    Arc::new(fixtures::table(TableId(1), vec![fixtures::column("id", fixtures::integer())]))
}

struct Few {
    ids: Vec<i64>,
    limit: usize,
}

impl RowSink for Few {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let [ValueRef::Int(id)] = values else { panic!("{values:?}") };
        self.ids.push(*id);
    }
    fn is_full(&self) -> bool {
        self.ids.len() >= self.limit
    }
}

fn key(info: &TableAccessInfo, id: i64) -> Box<[u8]> {
    let mut key = Vec::new();
    info.primary_key.encode_values(&[ValueRef::Int(id)], &mut key);
    key.into()
}

/// A fragment with these ids.
pub(crate) fn filled(
    definition: &Arc<TableDefinition>,
    ids: impl Iterator<Item = i64>,
) -> (TableAccessInfo, Fragment) {
    let info = TableAccessInfo::new(definition, types::SlotTerms::default(), Arc::<IdRange>::default());
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut fragment = Fragment::new(Arc::new(FragmentDefinition::new(definition)), memory);
    for id in ids {
        let mut row = Vec::new();
        info.layout.encode(&[ValueRef::Int(id)], &mut row);
        let handle = fragment.stage(&key(&info, id), TransactionId(1), Some(&row)).unwrap();
        fragment.commit(handle, TransactionId(1), Epoch(1));
    }
    (info, fragment)
}

#[test]
fn ranges_are_read_in_steps_and_batches_of_any_size() {
    let (info, fragment) = filled(&table(), (0..200).filter(|id| id % 3 != 0));
    let program = Arc::new(ReadProgram {
        table: TableRef { id: TableId(1), version: 1 },
        filter: None,
        output: ReadOutput::Columns(vec![ColumnIndex(0)]),
        with_primary_key: false,
        with_index_key: true,
        context: StatementContext::default(),
    });
    let reader = fragment.reader();
    let mut prng = Prng::new(3);
    for trial in 0..200 {
        let descending = prng.chance(1, 2);
        let mut borders: Vec<i64> = (0..12).map(|_| i64::try_from(prng.below(200)).unwrap()).collect();
        borders.sort_unstable();
        borders.dedup();
        let mut ranges: Vec<(i64, i64)> = borders.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let mut expected: Vec<i64> =
            ranges.iter().flat_map(|(from, to)| *from..*to).filter(|id| id % 3 != 0).collect();
        if descending {
            ranges.reverse();
            expected.reverse();
        }
        let limit = prng.chance(1, 2).then(|| prng.below(40));
        expected.truncate(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap()));
        let range_of = |(from, to): &(i64, i64)| KeyRange {
            lower: Bound::Included(key(&info, *from)),
            upper: Bound::Excluded(key(&info, *to)),
        };
        let ranges = Arc::new(ranges.iter().map(range_of).collect());
        let mut access = Access::Scan { index: IndexId(0), ranges, descending, limit };
        let mut found = Vec::new();
        // Half of the time each batch ends its run, and what is left is asked for anew.
        let asks_anew = prng.chance(1, 2);
        'runs: loop {
            let mut run = ReadRun::new(Arc::clone(&program), access.clone());
            loop {
                let mut sink = Few { ids: Vec::new(), limit: 1 + prng.index(20) };
                let mut budget = Budget::of(u32::try_from(1 + prng.below(20)).unwrap());
                let step = run.step(&info, &reader, Visibility::Committed, &mut budget, &mut sink).unwrap();
                let count = sink.ids.len() as u64;
                found.extend(sink.ids);
                match step {
                    ReadStep::End => break 'runs,
                    ReadStep::Full | ReadStep::Spent if asks_anew => {
                        access = remaining(&access, &run.progress(step), count).unwrap();
                        break;
                    }
                    ReadStep::Full | ReadStep::Spent => {}
                    ReadStep::Undecided { .. } => panic!("all is committed"),
                }
            }
        }
        assert_eq!(found, expected, "trial {trial}");
    }
}

#[test]
fn keys_are_read_in_steps_of_any_size_and_an_undecided_row_stops_them() {
    let (info, mut fragment) = filled(&table(), (0..200).filter(|id| id % 3 != 0));
    let undecided = [20, 21, 110];
    for id in undecided {
        let handle = fragment.stage(&key(&info, id), TransactionId(9), None).unwrap();
        fragment.prepare(handle, TransactionId(9));
    }
    let program = Arc::new(ReadProgram {
        table: TableRef { id: TableId(1), version: 1 },
        filter: None,
        output: ReadOutput::Columns(vec![ColumnIndex(0)]),
        with_primary_key: false,
        with_index_key: false,
        context: StatementContext::default(),
    });
    let reader = fragment.reader();
    let mut prng = Prng::new(4);
    for trial in 0..200 {
        let ids: Vec<i64> = (0..prng.index(60)).map(|_| i64::try_from(prng.below(210)).unwrap()).collect();
        let keys = ids.iter().map(|id| key(&info, *id)).collect();
        let is_there = |id: &i64| *id < 200 && id % 3 != 0;
        let expected: Vec<i64> =
            ids.iter().copied().filter(|id| undecided.contains(id) || is_there(id)).collect();
        let mut run = ReadRun::new(Arc::clone(&program), Access::Keys(keys));
        let mut found = Vec::new();
        loop {
            let mut sink = Few { ids: Vec::new(), limit: 1 + prng.index(40) };
            let mut budget = Budget::of(u32::try_from(prng.below(40)).unwrap());
            let step = run.step(&info, &reader, Visibility::Committed, &mut budget, &mut sink).unwrap();
            found.extend(sink.ids);
            match step {
                ReadStep::End => break,
                ReadStep::Full | ReadStep::Spent => {}
                ReadStep::Undecided { primary_key, .. } => {
                    let id = undecided.into_iter().find(|id| key(&info, *id) == primary_key).unwrap();
                    found.push(id);
                }
            }
        }
        assert_eq!(found, expected, "trial {trial}");
    }
}

/// Merged states by the group's encoded values.
type Merged = BTreeMap<Vec<u8>, Vec<AggregateState>>;

/// All groups of the table with ids below `rows`, read in batches as a peer would read them; with the size of the
/// largest batch.
fn aggregate(
    rows: i64,
    group_by: Vec<Expression>,
    calls: &[AggregateCall],
) -> Result<(Merged, usize), SqlError> {
    let (info, fragment) = filled(&table(), 0..rows);
    let width = group_by.len();
    let program = Arc::new(ReadProgram {
        table: TableRef { id: TableId(1), version: 1 },
        filter: None,
        output: ReadOutput::Aggregate { group_by, calls: calls.to_vec() },
        with_primary_key: false,
        with_index_key: false,
        context: StatementContext::default(),
    });
    let reader = fragment.reader();
    let ranges = Arc::new(vec![KeyRange::all()]);
    let mut access = Access::Scan { index: IndexId(0), ranges, descending: false, limit: None };
    let (mut groups, mut largest) = (Merged::new(), 0);
    loop {
        let mut run = ReadRun::new(Arc::clone(&program), access.clone());
        let mut writer = RowBatchWriter::new(BatchShape::of(&program));
        let mut budget = Budget::of(u32::MAX);
        let step = run.step(&info, &reader, Visibility::Committed, &mut budget, &mut writer)?;
        largest = largest.max(writer.size());
        let batch = writer.finish();
        for row in RowBatchReader::new(BatchShape::of(&program), &batch) {
            let values = row.unwrap().values;
            let (group, states) = values.split_at(width);
            let known = groups.entry(stdx::wire::to_bytes(&group.to_vec()));
            let known = known.or_insert_with(|| calls.iter().map(AggregateCall::initial_state).collect());
            for ((known, state), call) in known.iter_mut().zip(states).zip(calls) {
                let Value::Bytes(bytes) = state else { panic!("{state:?}") };
                let partial: AggregateState = stdx::wire::from_bytes(bytes).unwrap();
                known.merge(call, partial).unwrap();
            }
        }
        match remaining(&access, &run.progress(step), u64::from(batch.count)) {
            Some(rest) => access = rest,
            None => return Ok((groups, largest)),
        }
    }
}

/// Takes all rows.
#[derive(Default)]
struct All(Vec<Vec<Value>>);

impl RowSink for All {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        self.0.push(values.iter().map(|value| value.to_value()).collect());
    }
    fn is_full(&self) -> bool {
        false
    }
}

/// Two columns of integers, the second of them unsigned, a text, a decimal and a date; some NULLs.
fn mixed_table() -> Arc<TableDefinition> {
    let unsigned = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
    let text = SqlType::VarChar { length: 20, collation: Collation::Utf8mb40900AiCi };
    let nullable = |name: &str, sql_type| {
        let mut column = fixtures::column(name, sql_type);
        column.flags.nullable = true;
        column
    };
    let columns = vec![
        fixtures::column("id", fixtures::integer()),
        nullable("n", SqlType::Integer { width: IntegerWidth::Medium, unsigned: false }),
        nullable("u", unsigned),
        nullable("t", text),
        nullable("d", SqlType::Decimal { precision: 9, scale: 2, unsigned: false }),
        nullable("day", SqlType::Date),
    ];
    Arc::new(fixtures::table(TableId(1), columns))
}

/// Some rows are wide, in their second half: their columns do not lie where a kernel expects them. Some others are
/// undecided.
fn mixed_rows(info: &TableAccessInfo, rows: i64, prng: &mut Prng) -> Fragment {
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut fragment = Fragment::new(Arc::new(FragmentDefinition::new(&info.definition)), memory);
    let long = vec![b'x'; 70_000];
    for id in 0..rows {
        let n = i64::try_from(prng.below(9)).unwrap() - 4;
        let value = |value: ValueRef<'static>, prng: &mut Prng| {
            if prng.chance(1, 6) { ValueRef::Null } else { value }
        };
        let n = value(ValueRef::Int(n), prng);
        let large = if prng.chance(1, 200) { 1 << 63 } else { 0 };
        let u = value(ValueRef::UInt(large + prng.below(5)), prng);
        let decimal = Decimal::from_parts(i128::from(prng.below(7)) - 3, 2).unwrap();
        let decimal =
            if prng.chance(1, 6) { ValueRef::Null } else { ValueRef::Decimal(decimal.as_decimal_ref()) };
        let day = u32::try_from(prng.below(4)).unwrap() + (2_024 << 9) + (5 << 5);
        let day = value(ValueRef::Date(Date::from_packed(day).unwrap()), prng);
        let texts = ["a", "A", "ab", "b", "", "\u{e4}b"];
        let short = value(ValueRef::Bytes(texts[prng.index(texts.len())].as_bytes()), prng);
        // Some batches of these are all short.
        let is_long = id >= rows / 2 && prng.chance(1, 200);
        let text = if is_long { ValueRef::Bytes(&long) } else { short };
        let mut row = Vec::new();
        info.layout.encode(&[ValueRef::Int(id), n, u, text, decimal, day], &mut row);
        let handle = fragment.stage(&key(info, id), TransactionId(1), Some(&row)).unwrap();
        fragment.commit(handle, TransactionId(1), Epoch(1));
        if prng.chance(1, 60) {
            fragment.apply_prepared(&key(info, id), TransactionId(2), Some(&row)).unwrap();
        }
    }
    fragment
}

#[test]
pub(crate) fn a_scan_with_a_kernel_gives_what_keys_give_without() {
    let definition = mixed_table();
    let info = TableAccessInfo::new(&definition, types::SlotTerms::default(), Arc::<IdRange>::default());
    let mut prng = Prng::new(5);
    let fragment = mixed_rows(&info, 900, &mut prng);
    let reader = fragment.reader();
    let columns: Vec<Expression> = definition.columns.iter().zip(0..).map(column_of).collect();
    let keys = Access::Keys((0..900).map(|id| key(&info, id)).collect());
    for trial in 0..300 {
        let program = Arc::new(ReadProgram {
            table: TableRef { id: TableId(1), version: 1 },
            filter: prng.chance(3, 4).then(|| drawn_filter(&columns, &mut prng)),
            output: drawn_output(&columns, &mut prng),
            with_primary_key: false,
            with_index_key: false,
            context: StatementContext { parameters: vec![Value::Int(1)], ..StatementContext::default() },
        });
        let mut everything = |access: Access, slice: u32, by_batches: [Option<u16>; 2]| {
            let mut run = ReadRun::new(Arc::clone(&program), access);
            let (mut rows, mut undecided) = (All::default(), 0);
            loop {
                let batches_after = by_batches[prng.index(2)];
                let mut budget = Budget { batches_after, ..Budget::of(slice) };
                match run.step(&info, &reader, Visibility::Committed, &mut budget, &mut rows)? {
                    ReadStep::End => return Ok::<_, SqlError>((merged(&program, &rows.0), undecided)),
                    ReadStep::Undecided { .. } => undecided += 1,
                    ReadStep::Spent | ReadStep::Full => {}
                }
            }
        };
        let ranges = Arc::new(vec![KeyRange::all()]);
        let scan = Access::Scan { index: IndexId(0), ranges, descending: false, limit: None };
        let expected = everything(keys.clone(), 2_000, [None; 2]);
        for by_batches in [[None; 2], [Some(0); 2], [Some(64); 2], [None, Some(0)]] {
            for slice in [7, 100, 2_000] {
                let found = everything(scan.clone(), slice, by_batches);
                assert!(found == expected, "trial {trial}, {slice} {by_batches:?}: {program:?}");
            }
        }
    }
}

/// The results by group of rows with partial aggregates, merged in their order.
fn merged(program: &ReadProgram, rows: &[Vec<Value>]) -> BTreeMap<Vec<u8>, Vec<Value>> {
    let ReadOutput::Aggregate { group_by, calls } = &program.output else { panic!("it aggregates") };
    let mut table = Table { calls: calls.clone(), ..Table::default() };
    for row in rows {
        let (values, states) = row.split_at(group_by.len());
        let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
        let decode = |state: &Value| {
            let Value::Bytes(bytes) = state else { panic!("{state:?}") };
            stdx::wire::from_bytes(bytes).unwrap()
        };
        table.merge(&values, &mut states.iter().map(decode));
    }
    let results = table.results().into_iter();
    results.map(|row| (stdx::wire::to_bytes(&row[..group_by.len()].to_vec()), row)).collect()
}

/// Groups of a sink: by encoded values, in the order in which they came.
#[derive(Default)]
struct Table {
    calls: Vec<AggregateCall>,
    positions: BTreeMap<Vec<u8>, usize>,
    groups: Vec<(Vec<Value>, Vec<AggregateState>)>,
    /// Rows that were not aggregated before.
    direct: usize,
    limit: usize,
}

impl Table {
    fn group(&mut self, values: &[ValueRef<'_>]) -> &mut Vec<AggregateState> {
        let values: Vec<Value> = values.iter().map(|value| value.to_value()).collect();
        let next = self.groups.len();
        let position = *self.positions.entry(stdx::wire::to_bytes(&values)).or_insert(next);
        if position == next {
            self.groups.push((values, self.calls.iter().map(AggregateCall::initial_state).collect()));
        }
        &mut self.groups[position].1
    }

    fn results(&self) -> Vec<Vec<Value>> {
        let row = |(values, states): &(Vec<Value>, Vec<AggregateState>)| {
            let results = states.iter().zip(&self.calls);
            let results = results.map(|(state, call)| state.finish(call, &Context::default()).unwrap());
            values.iter().cloned().chain(results).collect()
        };
        self.groups.iter().map(row).collect()
    }
}

impl RowSink for Table {
    fn row(&mut self, _: &[u8], _: &[u8], _: &[ValueRef<'_>]) {
        panic!("it takes groups");
    }
    fn is_full(&self) -> bool {
        self.direct >= self.limit
    }
    fn groups(&mut self) -> Option<&mut dyn GroupTable> {
        Some(self)
    }
}

impl GroupTable for Table {
    fn states(&mut self, values: &[ValueRef<'_>]) -> &mut [AggregateState] {
        self.direct += 1;
        self.group(values)
    }
    fn add_size(&mut self, _: usize) {}
    fn merge(&mut self, values: &[ValueRef<'_>], partials: &mut dyn Iterator<Item = AggregateState>) {
        let calls = self.calls.clone();
        for ((state, call), partial) in self.group(values).iter_mut().zip(&calls).zip(partials) {
            state.merge(call, partial).unwrap();
        }
    }
}

#[test]
fn groups_of_the_sink_become_what_groups_in_messages_become() {
    let definition = mixed_table();
    let info = TableAccessInfo::new(&definition, types::SlotTerms::default(), Arc::<IdRange>::default());
    let mut prng = Prng::new(6);
    let fragment = mixed_rows(&info, 400, &mut prng);
    let reader = fragment.reader();
    let columns: Vec<Expression> = definition.columns.iter().zip(0..).map(column_of).collect();
    let mut direct_runs = 0;
    for trial in 0..150 {
        let ReadOutput::Aggregate { mut group_by, calls } = drawn_output(&columns, &mut prng) else {
            panic!("it aggregates");
        };
        match prng.below(3) {
            0 => group_by.push(columns[0].clone()),
            1 => group_by.insert(
                0,
                Expression::binary(BinaryOperator::Add, columns[0].clone(), Expression::integer(1)).unwrap(),
            ),
            _ => {}
        }
        let program = Arc::new(ReadProgram {
            table: TableRef { id: TableId(1), version: 1 },
            filter: prng.chance(1, 3).then(|| drawn_filter(&columns, &mut prng)),
            output: ReadOutput::Aggregate { group_by: group_by.clone(), calls: calls.clone() },
            with_primary_key: false,
            with_index_key: false,
            context: StatementContext::default(),
        });
        let ranges = Arc::new(vec![KeyRange::all()]);
        let scan = Access::Scan { index: IndexId(0), ranges, descending: false, limit: None };
        let slice = 1 + u32::try_from(prng.below(300)).unwrap();
        let table = || Table { calls: calls.clone(), limit: usize::MAX, ..Table::default() };
        let step = |run: &mut ReadRun, sink: &mut dyn RowSink| {
            let batches_after = [None, Some(0), Some(64)][trial % 3];
            let mut budget = Budget { batches_after, ..Budget::of(slice) };
            run.step(&info, &reader, Visibility::Committed, &mut budget, sink)
        };
        let (mut own, mut rows) = (table(), All::default());
        let mut run = ReadRun::new(Arc::clone(&program), scan.clone());
        let own_end = loop {
            own.limit = own.direct + 1 + prng.index(50);
            match step(&mut run, &mut own) {
                Ok(ReadStep::End) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        let mut run = ReadRun::new(Arc::clone(&program), scan);
        let sent = loop {
            match step(&mut run, &mut rows) {
                Ok(ReadStep::End) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        assert_eq!(own_end, sent, "trial {trial}: {program:?}");
        if sent.is_ok() {
            let own = own.results().into_iter();
            let own = own.map(|row| (stdx::wire::to_bytes(&row[..group_by.len()].to_vec()), row));
            assert!(
                own.collect::<BTreeMap<_, _>>() == merged(&program, &rows.0),
                "trial {trial}: {program:?}"
            );
        }
        direct_runs += usize::from(own.direct > 100);
    }
    assert!(direct_runs > 20, "{direct_runs}");
}

fn column_of((column, number): (&ColumnDefinition, u16)) -> Expression {
    Expression::column(ColumnSlot(number), column.sql_type.clone(), column.flags.nullable)
}

/// Some conditions: what a kernel takes, what it does not, and what raises an error.
fn drawn_filter(columns: &[Expression], prng: &mut Prng) -> Expression {
    let operators = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::GreaterOrEqual,
        Comparison::NullSafeEqual,
    ];
    let mut drawn = || {
        let column = columns[prng.index(3)].clone();
        let number = Expression::integer(i64::try_from(prng.below(7)).unwrap() - 3);
        match prng.below(10) {
            0 => Expression::is(Test::NotNull, columns[prng.index(columns.len())].clone()),
            8 => Expression::is(Test::Null, column),
            7 => {
                let texts = ["a%", "B", "%", "ab", "A"];
                let text = Expression::text(texts[prng.index(5)], Collation::Utf8mb40900AiCi);
                match (columns.get(3).cloned(), prng.chance(1, 2)) {
                    (None, _) => Expression::is(Test::NotNull, column),
                    (Some(column), true) => {
                        let escape = [Some('\\'), Some('%'), Some('a'), None][prng.index(4)];
                        Expression::like(column, text, escape, prng.chance(1, 2)).unwrap()
                    }
                    (Some(column), false) => {
                        Expression::compare(operators[prng.index(5)], column, text).unwrap()
                    }
                }
            }
            9 => {
                let numbers = (0..prng.index(4)).map(|number| Expression::integer(number as i64)).collect();
                Expression::in_list(column, numbers, prng.chance(1, 2)).unwrap()
            }
            1 => {
                let product =
                    Expression::binary(BinaryOperator::Multiply, column, Expression::integer(i64::MAX / 3));
                Expression::compare(Comparison::NotEqual, product.unwrap(), number).unwrap()
            }
            3 => {
                let divisor = Expression::integer(i64::try_from(prng.below(5)).unwrap());
                let remainder = Expression::binary(BinaryOperator::Modulo, column, divisor).unwrap();
                Expression::compare(operators[prng.index(5)], remainder, number).unwrap()
            }
            2 => {
                let low = Expression::integer(i64::try_from(prng.below(7)).unwrap() - 4);
                Expression::between(column, low, number, prng.chance(1, 2)).unwrap()
            }
            _ => Expression::compare(operators[prng.index(5)], column, number).unwrap(),
        }
    };
    Expression::and((0..3).map(|_| drawn()).collect())
}

fn drawn_output(columns: &[Expression], prng: &mut Prng) -> ReadOutput {
    let functions = [
        AggregateFunction::Count,
        AggregateFunction::Sum,
        AggregateFunction::Minimum,
        AggregateFunction::Maximum,
        AggregateFunction::AnyValue,
        AggregateFunction::BitOr,
    ];
    let mut calls = vec![AggregateCall::count_rows()];
    for _ in 0..prng.index(4) {
        let arguments = vec![columns[prng.index(columns.len())].clone()];
        let (function, distinct) = (functions[prng.index(6)], prng.chance(1, 4));
        calls.push(AggregateCall::new(function, arguments, distinct).unwrap());
    }
    let key_count = prng.index(3);
    let mut key = || {
        let column = columns[1 + prng.index(columns.len() - 1)].clone();
        let is_divided = prng.chance(1, 4);
        let remainder =
            Expression::binary(BinaryOperator::Modulo, columns[0].clone(), Expression::integer(7));
        if is_divided { remainder.unwrap() } else { column }
    };
    let group_by = (0..key_count).map(|_| key()).collect();
    ReadOutput::Aggregate { group_by, calls }
}

fn id_column() -> Expression {
    let sql_type = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    Expression::column(ColumnSlot(0), sql_type, false)
}

/// REPEAT(id, count).
fn repeated(count: i64) -> Expression {
    let arguments = vec![id_column(), Expression::integer(count)];
    Expression::call("REPEAT", arguments, &TypingContext::default()).unwrap()
}

#[test]
fn many_groups_leave_in_bounded_batches() {
    let (groups, largest) = aggregate(20_000, vec![id_column()], &[AggregateCall::count_rows()]).unwrap();
    assert_eq!(groups.len(), 20_000);
    assert!(groups.values().all(|states| states == &[AggregateState::Count(1)]));
    assert!(largest < 2 * BATCH_BYTES_MAX, "{largest}");
}

#[test]
fn the_rows_of_distinct_leave_in_bounded_batches() {
    let call = AggregateCall::new(AggregateFunction::Count, vec![repeated(50_000)], true).unwrap();
    let (groups, largest) = aggregate(20, Vec::new(), std::slice::from_ref(&call)).unwrap();
    let state = &groups.values().next().unwrap()[0];
    assert_eq!(state.finish(&call, &Context::default()).unwrap(), Value::Int(20));
    assert!(largest < 2 * BATCH_BYTES_MAX, "{largest}");
}

#[test]
fn what_one_row_gives_is_limited() {
    let large = AggregateCall::new(AggregateFunction::Maximum, vec![repeated(50 << 20)], false).unwrap();
    let error = aggregate(2, Vec::new(), &[large.clone(), large.clone(), large]).unwrap_err();
    assert_eq!(error.code, 1153);
}

#[test]
fn long_texts_use_up_the_slice_and_those_of_one_row_have_a_limit() {
    let (info, fragment) = filled(&table(), 0..9);
    let reader = fragment.reader();
    let ranges = Arc::new(vec![KeyRange::all()]);
    let rows_of_a_slice = |texts: usize, size: i64| {
        let length = Expression::call("LENGTH", vec![repeated(size)], &TypingContext::default()).unwrap();
        let program = Arc::new(ReadProgram {
            table: TableRef { id: TableId(1), version: 1 },
            filter: None,
            output: ReadOutput::Expressions(vec![length; texts]),
            with_primary_key: false,
            with_index_key: false,
            context: StatementContext::default(),
        });
        let access =
            Access::Scan { index: IndexId(0), ranges: Arc::clone(&ranges), descending: false, limit: None };
        let mut writer = RowBatchWriter::new(BatchShape::of(&program));
        let mut run = ReadRun::new(Arc::clone(&program), access);
        let mut budget = Budget::of(1_000);
        let step = run.step(&info, &reader, Visibility::Committed, &mut budget, &mut writer);
        step.map(|step| (step, writer.count()))
    };
    assert_eq!(rows_of_a_slice(1, 10), Ok((ReadStep::End, 9)));
    assert_eq!(rows_of_a_slice(1, 16 << 20), Ok((ReadStep::Spent, 1)));
    assert_eq!(rows_of_a_slice(4, 60 << 20).unwrap_err().code, 1041);
}

#[test]
fn groups_in_the_order_of_an_index_are_as_by_hash() {
    let mut definition = fixtures::table(
        TableId(1),
        vec![fixtures::column("id", fixtures::integer()), fixtures::column("g", fixtures::integer())],
    );
    let part = |column| KeyPart { column: ColumnIndex(column), prefix_length: None, descending: false };
    definition.indexes[0].parts = vec![part(1), part(0)];
    let definition = Arc::new(definition);
    let info = TableAccessInfo::new(&definition, types::SlotTerms::default(), Arc::<IdRange>::default());
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut fragment = Fragment::new(Arc::new(FragmentDefinition::new(&definition)), memory);
    let mut prng = Prng::new(7);
    let mut keys = Vec::new();
    for id in 0..500 {
        let group = i64::try_from(prng.below(60)).unwrap() - 30;
        let (mut key, mut row) = (Vec::new(), Vec::new());
        info.primary_key.encode_values(&[ValueRef::Int(group), ValueRef::Int(id)], &mut key);
        info.layout.encode(&[ValueRef::Int(id), ValueRef::Int(group)], &mut row);
        let handle = fragment.stage(&key, TransactionId(1), Some(&row)).unwrap();
        fragment.commit(handle, TransactionId(1), Epoch(1));
        keys.push(key.into_boxed_slice());
    }
    let reader = fragment.reader();
    let columns: Vec<Expression> = definition.columns.iter().zip(0..).map(column_of).collect();
    for (trial, descending) in [false, true].into_iter().cycle().take(40).enumerate() {
        let group_by = if prng.chance(3, 4) { vec![columns[1].clone()] } else { columns.clone() };
        let ReadOutput::Aggregate { calls, .. } = drawn_output(&columns, &mut prng) else {
            panic!("it aggregates");
        };
        let program = Arc::new(ReadProgram {
            table: TableRef { id: TableId(1), version: 1 },
            filter: None,
            output: ReadOutput::Aggregate { group_by, calls },
            with_primary_key: false,
            with_index_key: false,
            context: StatementContext::default(),
        });
        let everything = |access: Access, slice: u32| {
            let mut run = ReadRun::new(Arc::clone(&program), access);
            let mut rows = All::default();
            let batches_after = [None, Some(0), Some(64)][trial % 3];
            let mut budget = Budget { batches_after, ..Budget::of(slice) };
            while run.step(&info, &reader, Visibility::Committed, &mut budget, &mut rows).unwrap()
                != ReadStep::End
            {
                budget.rows = slice;
            }
            merged(&program, &rows.0)
        };
        let ranges = Arc::new(vec![KeyRange::all()]);
        let scan = Access::Scan { index: IndexId(0), ranges, descending, limit: None };
        let slice = 1 + u32::try_from(prng.below(50)).unwrap();
        keys.sort_unstable();
        if descending {
            keys.reverse();
        }
        assert_eq!(everything(scan, slice), everything(Access::Keys(keys.clone()), 1_000), "trial {trial}");
    }
}
