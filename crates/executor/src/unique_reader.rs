//! Rows by unique key: the hidden table gives primary keys, these give the rows.
//!
//! ```text
//! Entries --primary keys--> Rows --each key's row came--> Give
//!    ^                       | fewer rows came, or nobody can count them
//!    +------- again ---------+        (the same entries as before: --> Give)
//! ```
//! The entry and its row are read one after the other. A row whose primary key was changed in between is not where the
//! entry said, though it had the unique key at every moment. So where a row is missing the entries are read again, and
//! the rows too if they say something else now. A row that the filter drops looks alike and costs one more read.
//!
//! Invariant: a row that has one of the keys throughout the read, and passes the filter, is given out once.

use crate::cx::Cx;
use crate::outcome::Failure;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::table_reader::{Order, Pump, TableReader, Target, malformed};
use protocol::SqlError;
use protocol::program::{ReadOutput, ReadProgram};
use query::{RowSink, TableAccessInfo};
use std::sync::Arc;
use types::{ColumnIndex, IndexId, IndexKind, ValueRef};

/// How often rows may move while they are read.
const TRIES_MAX: u32 = 100;

enum Stage {
    Entries {
        reader: TableReader,
        found: Vec<Box<[u8]>>,
        /// The primary keys that the entries said before, and the rows that were read then.
        before: Option<(Vec<Box<[u8]>>, RowBuffer)>,
    },
    Rows {
        reader: TableReader,
        primary_keys: Vec<Box<[u8]>>,
        kept: RowBuffer,
    },
    Give {
        kept: RowBuffer,
        next: RowAt,
        left: usize,
    },
}

/// The reader.
pub struct UniqueReader {
    info: Arc<TableAccessInfo>,
    hidden: Arc<TableAccessInfo>,
    /// Columns of the unique key; the primary key's stand behind them in an entry.
    parts: usize,
    keys: Vec<Box<[u8]>>,
    program: ReadProgram,
    order: Order,
    stage: Stage,
    tries: u32,
    /// Bytes of kept rows that are paid for.
    charged: usize,
}

impl UniqueReader {
    /// Reads the rows that have `keys` in a unique index.
    pub fn new(
        info: &Arc<TableAccessInfo>,
        index: IndexId,
        keys: Vec<Box<[u8]>>,
        program: ReadProgram,
        order: Order,
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let definition = info.definition.index(index).ok_or(Failure::WrongSchema)?;
        let IndexKind::Unique { table } = definition.kind else { return Err(Failure::WrongSchema) };
        let hidden = cx.hidden_info(table)?;
        let parts = definition.parts.len();
        let stage = entries_of((info, &hidden, parts), &keys, None, cx);
        Ok(Self { info: Arc::clone(info), hidden, parts, keys, program, order, stage, tries: 0, charged: 0 })
    }

    /// As `Operator::pump`.
    pub fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            let pump = match &mut self.stage {
                Stage::Entries { reader, found, .. } => {
                    let mut sink = EntrySink { info: &self.info, keys: found, is_malformed: false };
                    let pump = reader.pump(cx, &mut sink)?;
                    if sink.is_malformed {
                        return Err(malformed());
                    }
                    pump
                }
                Stage::Rows { reader, kept, .. } => {
                    let pump = reader.pump(cx, &mut KeepingSink(kept))?;
                    let size = kept.size();
                    cx.client.memory.charge(size.saturating_sub(self.charged))?;
                    self.charged = self.charged.max(size);
                    pump
                }
                Stage::Give { kept, next, left } => {
                    while *left > 0 && !sink.is_full() {
                        kept.lend(*next, |values| sink.row(&[], &[], values));
                        // Rows without values are all in one place.
                        *next = kept.behind(*next).unwrap_or(*next);
                        *left -= 1;
                    }
                    return Ok(if *left > 0 { Pump::Rows } else { Pump::End });
                }
            };
            match pump {
                Pump::Rows => {}
                Pump::Wait | Pump::Spent => return Ok(pump),
                Pump::End => self.next_stage(cx)?,
            }
        }
    }

    /// A stage has all that it reads.
    fn next_stage(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let give = |kept: RowBuffer| Stage::Give { left: kept.len(), next: RowAt::default(), kept };
        self.stage = match std::mem::replace(&mut self.stage, give(RowBuffer::default())) {
            Stage::Entries { mut found, before, .. } => {
                found.sort_unstable();
                match before {
                    Some((before, kept)) if before == found => give(kept),
                    _ => {
                        self.tries += 1;
                        if self.tries > TRIES_MAX {
                            let moved = "a row changed its primary key again and again while it was read";
                            return Err(Failure::Error(SqlError::deadlock(moved)));
                        }
                        let target = Target::Keys(found.clone());
                        let program = self.program.clone();
                        let reader = TableReader::new(&self.info, program, target, self.order, None);
                        Stage::Rows { reader, primary_keys: found, kept: RowBuffer::default() }
                    }
                }
            }
            Stage::Rows { primary_keys, kept, .. } => {
                // Rows that were aggregated where they are cannot be counted.
                let is_counted = !matches!(self.program.output, ReadOutput::Aggregate { .. });
                if primary_keys.is_empty() || (is_counted && kept.len() == primary_keys.len()) {
                    give(kept)
                } else {
                    let before = Some((primary_keys, kept));
                    entries_of((&self.info, &self.hidden, self.parts), &self.keys, before, cx)
                }
            }
            given @ Stage::Give { .. } => given,
        };
        Ok(())
    }

    /// Nobody wants the rest.
    pub fn close(&mut self, cx: &mut Cx<'_>) {
        match &mut self.stage {
            Stage::Entries { reader, .. } | Stage::Rows { reader, .. } => reader.close(cx),
            Stage::Give { .. } => {}
        }
    }
}

/// Begins to read the entries of `keys`, which have so many parts.
fn entries_of(
    (info, hidden, parts): (&TableAccessInfo, &Arc<TableAccessInfo>, usize),
    keys: &[Box<[u8]>],
    before: Option<(Vec<Box<[u8]>>, RowBuffer)>,
    cx: &mut Cx<'_>,
) -> Stage {
    let columns = (parts..parts + info.definition.primary_key().len())
        .map(|column| ColumnIndex(u16::try_from(column).unwrap_or(u16::MAX)));
    let program = TableReader::program(hidden, None, ReadOutput::Columns(columns.collect()), cx.statement);
    let reader = TableReader::new(hidden, program, Target::Keys(keys.to_vec()), Order::Any, None);
    Stage::Entries { reader, found: Vec::new(), before }
}

/// Makes primary keys of the columns that entries of a unique index hold; there is at most one for each key that was
/// asked for.
struct EntrySink<'a> {
    info: &'a TableAccessInfo,
    keys: &'a mut Vec<Box<[u8]>>,
    is_malformed: bool,
}

impl RowSink for EntrySink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.info.primary_key.accepts(values) {
            let mut key = Vec::new();
            self.info.primary_key.encode_values(values, &mut key);
            self.keys.push(key.into());
        } else {
            self.is_malformed = true;
        }
    }

    fn is_full(&self) -> bool {
        self.is_malformed
    }
}

/// Keeps what comes.
struct KeepingSink<'a>(&'a mut RowBuffer);

impl RowSink for KeepingSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        self.0.push(values.iter().copied());
    }

    fn is_full(&self) -> bool {
        false
    }
}
