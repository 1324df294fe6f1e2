//! Costs of rows: storage alone, in one thread, on a table that the caches hold and on one that they do not.
//!
//! Rows are as long as those of sysbench. Keys are drawn evenly, so in the large table nearly each is a miss.

use super::{Costs, RowCost};
use crate::median;
use memory::quiescence::{ThreadSlot, register_thread};
use memory::{Guard, MemoryConfig, MemoryManager};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdx::{Prng, hash64};
use storage::{
    BatchEnd, Direction, Fragment, FragmentDefinition, KeyBounds, Lookup, MANY_MAX, RowHandle,
    SCAN_BATCH_FIRST, SCAN_BATCH_MAX, ScanBatch, Visibility, Wanted, get_many,
};
use types::{Epoch, TransactionId, ValueRef};

/// Rows of a table that fits into the caches, and of one that does not.
const FEW: usize = 1_000;
const MANY: usize = 500_000;
/// DataMemory of the large table, with room for versions that are not reclaimed yet.
const MEMORY: u64 = 512 << 20;

/// Bytes of a row beside its numbers: `c` and `pad`.
const TEXT_SIZE: usize = 180;

/// Operations between two looks at the clock.
const BATCH: usize = 64;

/// Rows of a range.
const RANGE: usize = 100;

/// Measures each cost on both tables.
pub(super) fn measure(time: Duration, costs: &mut Costs) -> Result<(), String> {
    let quiescence = register_thread();
    let share = time / 10;
    let few = Table::new(FEW)?.costs(share, &quiescence)?;
    let many = Table::new(MANY)?.costs(share, &quiescence)?;
    let row = |index: usize| RowCost { cached: few[index], memory: many[index].max(few[index]) };
    (costs.read, costs.keys, costs.scan) = (row(0), row(1), row(2));
    (costs.stage, costs.apply) = (row(3), row(4));
    Ok(())
}

/// Puts a version on the row of a key.
type Write<E> = fn(&mut Fragment, &[u8], TransactionId, Option<&[u8]>) -> Result<RowHandle, E>;

/// A table with rows, and their keys.
struct Table {
    fragment: Fragment,
    keys: Vec<Vec<u8>>,
    row: Vec<u8>,
    prng: Prng,
    transaction: u64,
}

impl Table {
    fn new(rows: usize) -> Result<Self, String> {
        let definition = Arc::new(FragmentDefinition::new(&Arc::new(crate::tables::definition())));
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(MEMORY));
        let text = vec![b'x'; TEXT_SIZE];
        let mut row = Vec::new();
        definition.layout().encode(&[ValueRef::Int(1), ValueRef::Int(1), ValueRef::Bytes(&text)], &mut row);
        let keys = (0_i64..).take(rows).map(|id| {
            let mut key = Vec::new();
            definition.primary_key().encode_values(&[ValueRef::Int(id)], &mut key);
            key
        });
        let keys = keys.collect();
        let fragment = Fragment::new(Arc::clone(&definition), memory);
        let mut table = Self { fragment, keys, row, prng: Prng::new(1), transaction: 1 };
        for place in 0..rows {
            let handle = table.fragment.stage(&table.keys[place], TransactionId(1), Some(&table.row));
            let handle = handle.map_err(|_| "too little memory for a table".to_owned())?;
            table.fragment.commit(handle, TransactionId(1), Epoch(1));
        }
        Ok(table)
    }

    /// Read, keys, scan, stage and apply, for each row.
    fn costs(&mut self, time: Duration, quiescence: &ThreadSlot) -> Result<[f64; 5], String> {
        let reads = [Self::read, Self::read_many, Self::scan].map(|batch: fn(&mut Self) -> usize| {
            per_row(time, || {
                quiescence.announce();
                let begun = Instant::now();
                let rows = batch(self);
                (begun.elapsed(), rows)
            })
        });
        let stage = self.write_for(time, quiescence, Fragment::stage)?;
        let apply = self.write_for(time, quiescence, Fragment::apply_prepared)?;
        Ok([reads[0], reads[1], reads[2], stage, apply])
    }

    fn read(&mut self) -> usize {
        let (reader, guard) = (self.fragment.reader(), Guard::enter());
        let mut found = 0;
        for _ in 0..BATCH {
            let key = &self.keys[self.prng.index(self.keys.len())];
            found += length(reader.get(&guard, key, Visibility::Committed));
        }
        std::hint::black_box(found);
        BATCH
    }

    fn read_many(&mut self) -> usize {
        let (reader, guard) = (self.fragment.reader(), Guard::enter());
        let mut total = 0;
        for _ in 0..BATCH / MANY_MAX {
            let keys: Vec<&[u8]> =
                (0..MANY_MAX).map(|_| self.keys[self.prng.index(self.keys.len())].as_slice()).collect();
            let wanted: Vec<Wanted<'_, '_>> =
                keys.iter().map(|key| Wanted { reader: &reader, key, hash: hash64(key) }).collect();
            let mut found = [Lookup::Absent; MANY_MAX];
            get_many(&guard, &wanted, Visibility::Committed, &mut found);
            total += found.into_iter().map(length).sum::<usize>();
        }
        std::hint::black_box(total);
        BATCH
    }

    fn scan(&mut self) -> usize {
        let (reader, guard) = (self.fragment.reader(), Guard::enter());
        let first = self.prng.index(self.keys.len() - RANGE);
        let bounds = KeyBounds {
            lower: Bound::Included(self.keys[first].as_slice()),
            upper: Bound::Excluded(self.keys[first + RANGE].as_slice()),
        };
        let index = self.fragment.definition().primary_id();
        let mut total = 0;
        if let Ok(mut cursor) = reader.cursor(&guard, index, Direction::Forward, Visibility::Committed) {
            cursor.seek(bounds);
            let (mut batch, mut rows_max) = (ScanBatch::default(), SCAN_BATCH_FIRST);
            loop {
                let end = cursor.next_batch(rows_max, &mut batch);
                total += batch.rows().iter().map(|row| length(Lookup::Found(row.bytes()))).sum::<usize>();
                if end != BatchEnd::More {
                    break;
                }
                rows_max = (2 * rows_max).min(SCAN_BATCH_MAX);
            }
        }
        std::hint::black_box(total);
        RANGE
    }

    /// Writes and commits; what is freed by that is reclaimed outside of the time.
    fn write_for<E>(
        &mut self,
        time: Duration,
        quiescence: &ThreadSlot,
        write: Write<E>,
    ) -> Result<f64, String> {
        let mut is_full = false;
        let cost = per_row(time, || {
            self.transaction += 1;
            let transaction = TransactionId(self.transaction);
            let begun = Instant::now();
            for _ in 0..BATCH {
                let key = &self.keys[self.prng.index(self.keys.len())];
                match write(&mut self.fragment, key, transaction, Some(&self.row)) {
                    Ok(handle) => self.fragment.commit(handle, transaction, Epoch(self.transaction)),
                    Err(_) => is_full = true,
                }
            }
            let took = begun.elapsed();
            quiescence.announce();
            self.fragment.reclaim(u32::MAX);
            (took, BATCH)
        });
        if is_full { Err("too little memory for versions".to_owned()) } else { Ok(cost) }
    }
}

/// A byte of the row is looked at, as whoever asks for it does.
fn length(lookup: Lookup<'_>) -> usize {
    match lookup {
        Lookup::Found(row) => usize::from(row[row.len() / 2]),
        Lookup::Absent | Lookup::Undecided => 0,
    }
}

/// The median over batches of nanoseconds for each row: a batch that something interrupts does not count.
fn per_row(time: Duration, mut batch: impl FnMut() -> (Duration, usize)) -> f64 {
    let (begun, mut values) = (Instant::now(), Vec::new());
    while begun.elapsed() < time || values.len() < 10 {
        let (took, rows) = batch();
        let rows = f64::from(u32::try_from(rows.max(1)).unwrap_or(u32::MAX));
        values.push(took.as_secs_f64() * 1e9 / rows);
    }
    median(values)
}
