//! The groups of a partial aggregate so far, told apart by the exact values of their keys; the session merges groups
//! that are equal by collation.
//!
//! A row of a known group allocates nothing. Its key is written behind those of all groups, and taken back when its
//! group is found.
//!
//! Where the session itself takes the rows, and the first of them hardly repeat a group, grouping them here saves
//! nothing. The groups so far go to the session's table then, and each further row is taken into account there
//! ([`Aggregation::is_direct`]).
//!
//! Invariant: between two rows `keys` ends with the key of the last group.

use super::vectors::Vectors;
use super::{RowSink, give_row, with_values};
use crate::batch::{decode_values, encode_value};
use expression::Evaluated;
use expression::aggregate::{AggregateCall, AggregateState};
use protocol::SqlError;
use protocol::program::{BATCH_BYTES_MAX, ROW_SIZE_MAX};
use std::ops::Range;
use stdx::wire::{Encoder, WIRE_VERSION, Wire};
use stdx::{HashIndex, hash64};
use types::ValueRef;

/// The bytes of a group besides its key and states.
pub(super) const GROUP_COST: usize = 128;
/// So many rows show whether rows share groups; where rows come in batches, those of the batch too that has the last.
const PROBED_ROWS: usize = 128;

/// The groups that a sink has itself: they take partial aggregates, and rows, without a message's form in between.
pub trait GroupTable {
    /// The states of the group with these values, one for each call.
    fn states(&mut self, values: &[ValueRef<'_>]) -> &mut [AggregateState];
    /// States have grown by so many bytes.
    fn add_size(&mut self, bytes: usize);
    /// Takes over a group that was made elsewhere.
    fn merge(&mut self, values: &[ValueRef<'_>], partials: &mut dyn Iterator<Item = AggregateState>);
}

/// Where the rows of an aggregate go.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    /// None before the first row.
    groups: Option<Box<Groups>>,
    /// The groups of batches that needed no evaluation; the outer None before the first batch, the inner one if there
    /// is none of these.
    vectors: Option<Option<Box<Vectors>>>,
    /// The sink of this step has groups of its own.
    has_table: bool,
    /// The first groups have shown whether rows go straight there.
    is_probed: bool,
    /// They do.
    is_direct: bool,
}

impl Aggregation {
    /// A step begins that gives to this sink.
    pub(super) fn begin_step(&mut self, sink: &mut dyn RowSink) {
        self.has_table = sink.groups().is_some();
    }

    /// The groups of the sink, if rows go straight into them.
    #[inline]
    pub(super) fn direct<'s>(&self, sink: &'s mut dyn RowSink) -> Option<&'s mut dyn GroupTable> {
        if self.is_direct { sink.groups() } else { None }
    }

    /// The vectors, if this read has some and rows do not go straight to the sink.
    #[inline]
    pub(super) fn vectors(&mut self, make: impl FnOnce() -> Option<Box<Vectors>>) -> Option<&mut Vectors> {
        if self.is_direct {
            return None;
        }
        self.vectors.get_or_insert_with(make).as_deref_mut()
    }

    /// The groups so far.
    pub(super) fn groups(&mut self) -> &mut Groups {
        self.groups.get_or_insert_default()
    }

    /// The groups must leave before the next row.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        if self.groups.is_none() && self.vectors.is_none() {
            return false;
        }
        let vectors = self.vectors.as_ref().and_then(Option::as_ref);
        let is_probe = self.has_table && !self.is_probed;
        let rows = self.groups.as_ref().map_or(0, |groups| groups.rows)
            + vectors.map_or(0, |vectors| vectors.rows());
        self.groups.as_ref().is_some_and(|groups| groups.size >= BATCH_BYTES_MAX)
            || vectors.is_some_and(|vectors| vectors.is_full())
            || (is_probe && rows >= PROBED_ROWS)
    }

    /// Gives all groups to the sink; it may go on with none.
    pub(super) fn emit(&mut self, calls: &[AggregateCall], sink: &mut dyn RowSink) {
        let mut vectors = self.vectors.as_mut().and_then(Option::as_mut).filter(|vectors| vectors.rows() > 0);
        let groups = self.groups.take();
        if sink.groups().is_some() && (groups.is_some() || vectors.is_some()) {
            let (kept, rows) = groups.as_ref().map_or((0, 0), |groups| (groups.kept(calls), groups.rows));
            let kept = kept + vectors.as_ref().map_or(0, |vectors| vectors.group_count());
            let rows = rows + vectors.as_ref().map_or(0, |vectors| vectors.rows());
            // Of eight rows, seven began a group or were kept in a state.
            self.is_direct |= !self.is_probed && kept * 8 >= rows * 7;
            self.is_probed = true;
        }
        if let Some(groups) = groups {
            match sink.groups() {
                Some(table) => groups.merge_into(table),
                None => groups.emit(sink),
            }
        }
        if let Some(vectors) = &mut vectors {
            vectors.emit(sink);
        }
    }
}

/// The groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The values of each group, encoded, one group behind the other.
    keys: Vec<u8>,
    /// Where each group's key ends.
    ends: Vec<usize>,
    /// Groups by the hash of their keys, unless rows come in the order of their groups.
    positions: HashIndex,
    /// For each group the states of all calls.
    states: Vec<AggregateState>,
    /// Bytes of all of this, roughly.
    size: usize,
    /// Rows that were taken into account.
    rows: usize,
}

impl Groups {
    /// A row comes whose group is not known yet.
    pub(super) fn begin_key(&mut self) {
        self.rows += 1;
        self.keys.truncate(self.keys_end());
    }

    /// The next value of the row's key.
    pub(super) fn add_to_key(&mut self, value: ValueRef<'_>) -> Result<(), SqlError> {
        encode_value(value, &mut Encoder { bytes: &mut self.keys, version: WIRE_VERSION });
        let is_too_long = self.keys.len() - self.keys_end() > ROW_SIZE_MAX;
        if is_too_long { Err(SqlError::packet_too_large()) } else { Ok(()) }
    }

    /// The states of the row's group. Where rows come in the order of their groups, that is the last one or a new one.
    pub(super) fn states(&mut self, calls: &[AggregateCall], is_ordered: bool) -> &mut [AggregateState] {
        let known = match (self.is_keyless(), is_ordered) {
            (true, _) => self.ends.first().map(|_| 0),
            (false, true) => self.ends.len().checked_sub(1).filter(|last| self.is_of(*last)),
            (false, false) => self.find(),
        };
        let position = known.unwrap_or_else(|| self.begin(calls, is_ordered));
        self.keys.truncate(self.keys_end());
        &mut self.states[position * calls.len()..(position + 1) * calls.len()]
    }

    /// The key that stands behind all keys is that of a group.
    fn is_of(&self, position: usize) -> bool {
        self.key(position) == &self.keys[self.keys_end()..]
    }

    /// Without GROUP BY all rows are one group.
    fn is_keyless(&self) -> bool {
        self.keys.is_empty()
    }

    fn keys_end(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn key(&self, position: usize) -> &[u8] {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start..self.ends[position]]
    }

    /// The group whose key stands behind all keys.
    fn find(&self) -> Option<usize> {
        let key = &self.keys[self.keys_end()..];
        let first = self.positions.first(hash64(key));
        let same_hash = std::iter::successors(first, |position| self.positions.next(*position));
        same_hash.map(|position| position as usize).find(|position| self.is_of(*position))
    }

    /// Begins the group whose key stands behind all keys.
    fn begin(&mut self, calls: &[AggregateCall], is_ordered: bool) -> usize {
        let key = &self.keys[self.keys_end()..];
        self.size += GROUP_COST + 2 * key.len() + calls.len() * size_of::<AggregateState>();
        if !self.is_keyless() && !is_ordered {
            self.positions.push(hash64(key));
        }
        self.ends.push(self.keys.len());
        self.states.extend(calls.iter().map(AggregateCall::initial_state));
        self.ends.len() - 1
    }

    /// A state has grown by so many bytes.
    pub(super) fn add_size(&mut self, bytes: usize) {
        self.size += bytes;
    }

    /// Rows that began a group or were kept in a state.
    fn kept(&self, calls: &[AggregateCall]) -> usize {
        let of_call = |(number, call): (usize, &AggregateCall)| -> usize {
            self.states.iter().skip(number).step_by(calls.len()).map(|state| state.row_count(call)).sum()
        };
        calls.iter().enumerate().map(of_call).max().unwrap_or(0).max(self.ends.len())
    }

    /// Gives all groups to another table.
    fn merge_into(self, table: &mut dyn GroupTable) {
        let width = self.width();
        let mut values = Vec::new();
        let mut states = self.states.into_iter();
        let mut start = 0;
        for end in self.ends {
            decode_values(&self.keys[start..end], &mut values);
            start = end;
            with_values(values.len(), values.iter().map(Evaluated::as_ref), |values| {
                table.merge(values, &mut states.by_ref().take(width));
            });
        }
    }

    /// The states of a group.
    fn width(&self) -> usize {
        self.states.len().checked_div(self.ends.len()).unwrap_or(0)
    }

    /// Gives all groups to the sink: their values, then their encoded states.
    pub(super) fn emit(self, sink: &mut dyn RowSink) {
        let width = self.width();
        let (mut values, mut writer) = (Vec::new(), GroupWriter::default());
        for position in 0..self.ends.len() {
            decode_values(self.key(position), &mut values);
            writer.give(&values, &self.states[position * width..(position + 1) * width], sink);
        }
    }
}

/// Makes rows of groups: their values, then their encoded states.
#[derive(Default)]
pub(super) struct GroupWriter {
    states: Vec<u8>,
    /// Where each state is.
    parts: Vec<Range<usize>>,
}

impl GroupWriter {
    /// Gives a group to a sink.
    pub(super) fn give(
        &mut self,
        values: &[Evaluated<'_>],
        states: &[AggregateState],
        sink: &mut dyn RowSink,
    ) {
        self.states.clear();
        self.parts.clear();
        for state in states {
            let start = self.states.len();
            state.encode(&mut Encoder { bytes: &mut self.states, version: WIRE_VERSION });
            self.parts.push(start..self.states.len());
        }
        let count = values.len() + self.parts.len();
        let states = self.parts.iter().map(|part| ValueRef::Bytes(&self.states[part.clone()]));
        give_row(sink, (&[], &[]), count, values.iter().map(Evaluated::as_ref).chain(states));
    }
}
