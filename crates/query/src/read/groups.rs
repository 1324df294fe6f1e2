//! The groups of a partial aggregate so far, told apart by the exact values of their keys; the session merges groups
//! that are equal by collation.
//!
//! A row of a known group allocates nothing. Its key is written behind those of all groups, and taken back when its
//! group is found.
//!
//! Invariant: between two rows `keys` ends with the key of the last group.

use super::{RowSink, give_row};
use crate::batch::{decode_values, encode_value};
use expression::aggregate::{AggregateCall, AggregateState};
use protocol::SqlError;
use protocol::program::{BATCH_BYTES_MAX, ROW_SIZE_MAX};
use stdx::wire::{Encoder, WIRE_VERSION, Wire};
use stdx::{HashIndex, hash64};
use types::{Value, ValueRef};

/// The bytes of a group besides its key and states.
const GROUP_COST: usize = 128;

/// The groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The values of each group, encoded, one group behind the other.
    keys: Vec<u8>,
    /// Where each group's key ends.
    ends: Vec<usize>,
    /// Groups by the hash of their keys.
    positions: HashIndex,
    /// For each group the states of all calls.
    states: Vec<AggregateState>,
    /// Bytes of all of this, roughly.
    size: usize,
}

impl Groups {
    /// A row comes whose group is not known yet.
    pub(super) fn begin_key(&mut self) {
        self.keys.truncate(self.keys_end());
    }

    /// The next value of the row's key.
    pub(super) fn add_to_key(&mut self, value: ValueRef<'_>) -> Result<(), SqlError> {
        encode_value(value, &mut Encoder { bytes: &mut self.keys, version: WIRE_VERSION });
        let is_too_long = self.keys.len() - self.keys_end() > ROW_SIZE_MAX;
        if is_too_long { Err(SqlError::packet_too_large()) } else { Ok(()) }
    }

    /// The states of the row's group.
    pub(super) fn states(&mut self, calls: &[AggregateCall]) -> &mut [AggregateState] {
        let known = if self.is_keyless() { self.ends.first().map(|_| 0) } else { self.find() };
        let position = known.unwrap_or_else(|| self.begin(calls));
        self.keys.truncate(self.keys_end());
        &mut self.states[position * calls.len()..(position + 1) * calls.len()]
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
        same_hash.map(|position| position as usize).find(|position| self.key(*position) == key)
    }

    /// Begins the group whose key stands behind all keys.
    fn begin(&mut self, calls: &[AggregateCall]) -> usize {
        let key = &self.keys[self.keys_end()..];
        self.size += GROUP_COST + 2 * key.len() + calls.len() * size_of::<AggregateState>();
        if !self.is_keyless() {
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

    /// They must leave before the next row.
    pub(super) fn is_full(&self) -> bool {
        self.size >= BATCH_BYTES_MAX
    }

    /// Gives all groups to the sink: their values, then their encoded states.
    pub(super) fn emit(self, sink: &mut dyn RowSink) {
        let width = self.states.len().checked_div(self.ends.len()).unwrap_or(0);
        let (mut values, mut states, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for position in 0..self.ends.len() {
            decode_values(self.key(position), &mut values);
            states.clear();
            parts.clear();
            for state in &self.states[position * width..(position + 1) * width] {
                let start = states.len();
                state.encode(&mut Encoder { bytes: &mut states, version: WIRE_VERSION });
                parts.push(start..states.len());
            }
            let count = values.len() + parts.len();
            let states = parts.iter().map(|part| ValueRef::Bytes(&states[part.clone()]));
            give_row(sink, (&[], &[]), count, values.iter().map(Value::as_ref).chain(states));
        }
    }
}
