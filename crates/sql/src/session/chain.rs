//! Chains of keys: a row of each of a few tables, found one by the other, in the call that decoded the command.
//!
//! Nothing is written to the client before all rows are found. A chain gives way to the general executor when it cannot
//! answer at once. That is so without a replica here, and with own writes in a slot, an undecided row, another version
//! of a table, or a warning.
//!
//! A unique key's entry and its row are read one after the other. A row that does not fit is no answer while the entry
//! may have changed in between, so the entry is read again then (`executor::unique_reader` tells why that suffices).

use super::point::{Answered, Reply};
use crate::environment::Environment;
use crate::key_chain::{KeyChain, Link};
use crate::session_core::SessionCore;
use crate::statement_cache::CachedStatement;
use executor::{Failure, access};
use expression::{Context, Expression, Settings, StoredRow};
use memory::Guard;
use mysql_protocol::result::RowFormat;
use query::{NodeMap, TableAccessInfo};
use storage::{Lookup, Visibility};
use types::{ColumnIndex, TableId, Value, ValueRef};

/// The outcome of the search for a row of the next table.
enum Found {
    /// Its columns, or their NULLs, are behind the row.
    Row,
    /// The chain has no row.
    Nothing,
    /// The general executor must do it.
    Unknown,
}

/// The row that a key finds.
enum Read<'a> {
    Row(&'a [u8]),
    Absent,
    /// The general executor must read it.
    Unknown,
}

/// The means by which a chain reads.
struct Reading<'a, 'c> {
    map: &'a NodeMap,
    guard: &'a Guard,
    core: &'c SessionCore,
    settings: Settings,
}

impl KeyChain {
    /// Runs it.
    pub(super) fn run(
        &self,
        cached: &CachedStatement,
        parameters: &[Value],
        format: RowFormat,
        core: &mut SessionCore,
        env: &mut Environment<'_>,
    ) -> Result<Answered, Failure> {
        let module = &mut *env.module;
        if !module.site.map.may_read(env.now.monotonic) {
            return Ok(Answered::No);
        }
        let settings = core.settings(env.now);
        let mut values: Vec<Value> = Vec::with_capacity(parameters.len() + self.outer_count);
        values.extend_from_slice(parameters);
        values.resize(parameters.len() + self.outer_count, Value::Null);
        let guard = Guard::enter();
        let reading = Reading { map: &module.site.map, guard: &guard, core, settings };
        let mut row: Vec<ValueRef<'_>> = Vec::new();
        let mut is_found = true;
        for link in &self.links {
            match reading.link(link, &mut values, &mut row, &mut module.scratch.key)? {
                Found::Row => {}
                Found::Nothing => {
                    is_found = false;
                    break;
                }
                Found::Unknown => return Ok(Answered::No),
            }
        }
        let value = |item: &usize| row.get(*item).copied().unwrap_or(ValueRef::Null);
        let reply = Reply {
            cached,
            format,
            time_zone: settings.time_zone_offset_seconds,
            buffer: env.outputs.buffer(core.connection),
            scratch: &mut module.scratch.reply,
        };
        reply.write(is_found.then(|| self.items.iter().map(value)), core);
        module.counters.point_selects += 1;
        Ok(Answered::Yes)
    }
}

impl<'a> Reading<'a, '_> {
    /// Finds the row of the next table and adds its columns.
    fn link(
        &self,
        link: &Link,
        values: &mut [Value],
        row: &mut Vec<ValueRef<'a>>,
        key: &mut Vec<u8>,
    ) -> Result<Found, Failure> {
        let Some(info) = self.map.table(link.table).filter(|info| info.definition.version == link.version)
        else {
            return Ok(Found::Unknown);
        };
        for binding in &link.bindings {
            let value = row.get(binding.position).map_or(Value::Null, |value| value.to_value());
            if let Some(place) = values.get_mut(usize::from(binding.parameter)) {
                *place = value;
            }
        }
        let context = self.context(values);
        let mut found = match self.row(link, info, &context, key)? {
            Read::Row(bytes) => Some(bytes),
            Read::Absent => None,
            Read::Unknown => return Ok(Found::Unknown),
        };
        let width = row.len();
        if let Some(bytes) = found {
            row.extend(link.columns.iter().map(|column| info.layout.column(bytes, *column)));
            if !all_true(&link.condition, row, &context)? {
                row.truncate(width);
                found = None;
            }
        }
        if found.is_none() && link.is_optional {
            row.resize(width + link.columns.len(), ValueRef::Null);
        }
        let is_row = (found.is_some() || link.is_optional) && all_true(&link.above, row, &context)?;
        if context.warnings.count() > 0 {
            return Ok(Found::Unknown);
        }
        Ok(if is_row { Found::Row } else { Found::Nothing })
    }

    /// The row that has a link's key, and passes its filter.
    fn row(
        &self,
        link: &Link,
        info: &TableAccessInfo,
        context: &Context<'_>,
        key: &mut Vec<u8>,
    ) -> Result<Read<'a>, Failure> {
        let definition = &info.definition;
        key.clear();
        let Some((index, hidden)) = link.unique else {
            let parts = definition.primary_key();
            let is_possible =
                access::append_key(&link.key, definition, parts, &info.primary_key, context, key)?;
            return if is_possible { self.filtered(link, info, context, key) } else { Ok(Read::Absent) };
        };
        let (Some(unique), Some(encoder)) = (definition.index(index), info.index(index)) else {
            return Ok(Read::Unknown);
        };
        if !access::append_key(&link.key, definition, &unique.parts, encoder, context, key)? {
            return Ok(Read::Absent);
        }
        let Some(hidden_info) = self.map.table(hidden) else { return Ok(Read::Unknown) };
        let entry = match self.get(hidden, hidden_info, key) {
            Read::Row(entry) => entry,
            other @ (Read::Absent | Read::Unknown) => return Ok(other),
        };
        let mut primary_key = Vec::new();
        let values = entry_values(info, hidden_info, unique.parts.len(), entry);
        if !info.primary_key.accepts(&values) {
            return Ok(Read::Unknown);
        }
        info.primary_key.encode_values(&values, &mut primary_key);
        let read = self.filtered(link, info, context, &primary_key)?;
        let is_settled = match read {
            Read::Absent => matches!(self.get(hidden, hidden_info, key), Read::Row(again) if again == entry),
            Read::Row(_) | Read::Unknown => true,
        };
        Ok(if is_settled { read } else { Read::Unknown })
    }

    /// The row of this primary key, if it passes the link's filter.
    fn filtered(
        &self,
        link: &Link,
        info: &TableAccessInfo,
        context: &Context<'_>,
        key: &[u8],
    ) -> Result<Read<'a>, Failure> {
        let read = self.get(link.table, info, key);
        if let (Read::Row(bytes), Some(filter)) = (&read, &link.filter)
            && !filter.is_true(&StoredRow::new(&info.layout, bytes), context)?
        {
            return Ok(Read::Absent);
        }
        Ok(read)
    }

    /// The committed row of a key.
    fn get(&self, table: TableId, info: &TableAccessInfo, key: &[u8]) -> Read<'a> {
        let slot = info.slot_of_key(key);
        if self.core.client.transaction.has_written(slot) {
            return Read::Unknown;
        }
        let Some(reader) = self.map.reader(table, slot) else { return Read::Unknown };
        match reader.get(self.guard, key, Visibility::Committed) {
            Lookup::Found(bytes) => Read::Row(bytes),
            Lookup::Absent => Read::Absent,
            Lookup::Undecided => Read::Unknown,
        }
    }

    fn context<'v>(&'v self, values: &'v [Value]) -> Context<'v> {
        self.core.context(self.settings, values)
    }
}

/// The primary key's values in an entry of a unique index, behind those of the unique key.
fn entry_values<'a>(
    info: &TableAccessInfo,
    hidden: &'a TableAccessInfo,
    parts: usize,
    entry: &'a [u8],
) -> Vec<ValueRef<'a>> {
    let columns = parts..parts + info.definition.primary_key().len();
    let column = |column: usize| ColumnIndex(u16::try_from(column).unwrap_or(u16::MAX));
    columns.map(|number| hidden.layout.column(entry, column(number))).collect()
}

fn all_true<'e>(
    conditions: impl IntoIterator<Item = &'e Expression>,
    row: &[ValueRef<'_>],
    context: &Context<'_>,
) -> Result<bool, Failure> {
    for condition in conditions {
        if !condition.is_true(&row, context)? {
            return Ok(false);
        }
    }
    Ok(true)
}
