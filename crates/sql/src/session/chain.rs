//! Chains of keys: a row of each of a few tables, found one by the other, in the call that decoded the command.
//!
//! Nothing is written to the client before all rows are found. A chain gives way to the general executor when it cannot
//! answer at once. That is so without a replica here, and with own writes in a slot, an undecided row, another version
//! of a table, or a warning.

use super::point::Answered;
use crate::environment::Environment;
use crate::key_chain::{KeyChain, Link};
use crate::results::RowWriter;
use crate::session_core::SessionCore;
use crate::statement_cache::CachedStatement;
use executor::{Failure, access};
use expression::{Context, Expression, Settings, StoredRow};
use memory::Guard;
use mysql_protocol::PacketWriter;
use mysql_protocol::result::RowFormat;
use query::NodeMap;
use storage::{Lookup, Visibility};
use types::{Value, ValueRef};

/// The outcome of the search for a row of the next table.
enum Found {
    /// Its columns, or their NULLs, are behind the row.
    Row,
    /// The chain has no row.
    Nothing,
    /// The general executor must do it.
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
        let settings = Settings {
            now_us: env.now.wall.0,
            time_zone_offset_seconds: core.variables.time_zone_offset(),
            sql_mode: core.variables.modes.evaluation,
        };
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
        core.client.diagnostics.clear();
        let end = core.end_packet();
        let mut packets = PacketWriter::new(env.outputs.buffer(core.connection), core.sequence);
        packets.append_frames(&cached.column_frames);
        packets.end_of_columns(core.capabilities, end);
        let mut writer = RowWriter {
            packets,
            format,
            columns: &cached.prepared.columns,
            time_zone: settings.time_zone_offset_seconds,
            scratch: &mut module.scratch.reply,
            count: 0,
            skip: 0,
            left: 1,
        };
        if is_found {
            writer.write(self.items.iter().map(|item| row.get(*item).copied().unwrap_or(ValueRef::Null)));
        }
        core.found_rows = writer.count;
        core.row_count = -1;
        writer.packets.end_of_rows(core.capabilities, end);
        core.sequence = writer.packets.sequence();
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
        key.clear();
        let definition = &info.definition;
        let parts = definition.primary_key();
        let is_possible = access::append_key(&link.key, definition, parts, &info.primary_key, &context, key)?;
        let mut found = None;
        if is_possible {
            let slot = info.slot_of_key(key);
            if self.core.client.transaction.has_written(slot) {
                return Ok(Found::Unknown);
            }
            let Some(reader) = self.map.reader(link.table, slot) else { return Ok(Found::Unknown) };
            match reader.get(self.guard, key, Visibility::Committed) {
                Lookup::Found(bytes) => found = Some(bytes),
                Lookup::Absent => {}
                Lookup::Undecided => return Ok(Found::Unknown),
            }
        }
        if let (Some(bytes), Some(filter)) = (found, &link.filter)
            && !filter.is_true(&StoredRow::new(&info.layout, bytes), &context)?
        {
            found = None;
        }
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

    fn context<'v>(&'v self, values: &'v [Value]) -> Context<'v> {
        Context {
            parameters: values,
            connection_id: u64::from(self.core.client.id),
            last_insert_id: self.core.client.last_insert_id,
            database: self.core.database.as_deref(),
            user: &self.core.user,
            ..Context::from_settings(self.settings)
        }
    }
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
