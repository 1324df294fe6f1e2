//! Point selects: one row by its full primary key, plain columns, no lock.
//!
//! From the decoded command to the encoded reply nothing is allocated but for string parameters. The key goes into the
//! module's buffer, the row is read in place, its columns go into the connection's send buffer.
//!
//! It gives way to the general executor when it cannot answer at once: no replica here, own writes in the slot, an
//! undecided row, another version of the table.

use crate::environment::Environment;
use crate::point_select::PointSelect;
use crate::results::RowWriter;
use crate::session_core::SessionCore;
use crate::statement_cache::CachedStatement;
use executor::{Failure, access};
use expression::{Context, Settings};
use memory::Guard;
use mysql_protocol::PacketWriter;
use mysql_protocol::result::RowFormat;
use storage::{Lookup, Visibility};
use types::Value;

/// Whether a point select was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answered {
    Yes,
    /// The general executor must do it.
    No,
}

impl PointSelect {
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
        let Some(info) = module.site.map.table(self.table) else { return Ok(Answered::No) };
        if info.definition.version != self.version || !module.site.map.may_read(env.now.monotonic) {
            return Ok(Answered::No);
        }
        let time_zone_offset_seconds = core.variables.time_zone_offset();
        let settings = Settings {
            now_us: env.now.wall.0,
            time_zone_offset_seconds,
            sql_mode: core.variables.modes.evaluation,
        };
        let context = Context {
            parameters,
            connection_id: u64::from(core.client.id),
            last_insert_id: core.client.last_insert_id,
            database: core.database.as_deref(),
            user: &core.user,
            ..Context::from_settings(settings)
        };
        module.scratch.key.clear();
        let definition = &info.definition;
        let is_possible = access::append_key(
            &self.key,
            definition,
            definition.primary_key(),
            &info.primary_key,
            &context,
            &mut module.scratch.key,
        )?;
        if context.warnings.count() > 0 {
            return Ok(Answered::No);
        }
        drop(context);
        let guard = Guard::enter();
        let row = if is_possible {
            let slot = info.slot_of_key(&module.scratch.key);
            if core.client.transaction.has_written(slot) {
                return Ok(Answered::No);
            }
            let Some(reader) = module.site.map.reader(self.table, slot) else { return Ok(Answered::No) };
            match reader.get(&guard, &module.scratch.key, Visibility::Committed) {
                Lookup::Found(row) => Some(row),
                Lookup::Absent => None,
                Lookup::Undecided => return Ok(Answered::No),
            }
        } else {
            None
        };
        core.client.diagnostics.clear();
        let end = core.end_packet();
        let mut packets = PacketWriter::new(env.outputs.buffer(core.connection), core.sequence);
        packets.append_frames(&cached.column_frames);
        packets.end_of_columns(core.capabilities, end);
        let mut writer = RowWriter {
            packets,
            format,
            columns: &cached.prepared.columns,
            time_zone: time_zone_offset_seconds,
            scratch: &mut module.scratch.reply,
            count: 0,
            skip: 0,
            left: 1,
        };
        if let Some(row) = row {
            writer.write(self.columns.iter().map(|column| info.layout.column(row, *column)));
        }
        core.found_rows = writer.count;
        core.row_count = -1;
        writer.packets.end_of_rows(core.capabilities, end);
        core.sequence = writer.packets.sequence();
        module.counters.point_selects += 1;
        Ok(Answered::Yes)
    }
}
