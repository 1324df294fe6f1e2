//! Scans of several ranges: however small the steps and the batches are, the rows are those of the ranges, each once, in order.

use super::{ReadRun, ReadStep, RowSink, remaining};
use crate::TableAccessInfo;
use memory::{MemoryConfig, MemoryManager};
use protocol::Budget;
use protocol::program::{Access, KeyRange, ReadOutput, ReadProgram, StatementContext, TableRef};
use std::ops::Bound;
use std::sync::Arc;
use stdx::{IdRange, Prng};
use storage::{Fragment, FragmentDefinition, Visibility};
use types::*;

fn table() -> Arc<TableDefinition> {
    let parts = vec![KeyPart { column: ColumnIndex(0), prefix_length: None, descending: false }];
    Arc::new(TableDefinition {
        id: TableId(1),
        version: 1,
        database: "test".into(),
        name: "t".into(),
        kind: TableKind::User,
        columns: vec![ColumnDefinition {
            name: "id".into(),
            sql_type: SqlType::Integer { width: IntegerWidth::Normal, unsigned: false },
            default: DefaultValue::Missing,
            flags: ColumnFlags::default(),
            comment: String::new(),
        }],
        indexes: vec![IndexDefinition {
            id: IndexId(0),
            name: "PRIMARY".into(),
            kind: IndexKind::Primary,
            parts,
            state: IndexState::Public,
        }],
        auto_increment: None,
        comment: String::new(),
        collation: Collation::Binary,
    })
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

#[test]
fn ranges_are_read_in_steps_and_batches_of_any_size() {
    let definition = table();
    let info = TableAccessInfo::new(&definition, Arc::<IdRange>::default());
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
    let mut fragment = Fragment::new(Arc::new(FragmentDefinition::new(&definition)), memory);
    for id in (0..200).filter(|id| id % 3 != 0) {
        let mut row = Vec::new();
        info.layout.encode(&[ValueRef::Int(id)], &mut row);
        let handle = fragment.stage(&key(&info, id), TransactionId(1), Some(&row)).unwrap();
        fragment.commit(handle, TransactionId(1), Epoch(1));
    }
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
                let mut budget = Budget { rows: u32::try_from(1 + prng.below(20)).unwrap() };
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
