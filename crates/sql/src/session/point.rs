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
use memory::Guard;
use mysql_protocol::PacketWriter;
use mysql_protocol::result::RowFormat;
use storage::{Lookup, Visibility};
use types::{Value, ValueRef};

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
        let settings = core.settings(env.now);
        let context = core.context(settings, parameters);
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
        let reply = Reply {
            cached,
            format,
            time_zone: settings.time_zone_offset_seconds,
            buffer: env.outputs.buffer(core.connection),
            scratch: &mut module.scratch.reply,
        };
        let values = row.map(|row| info.layout.pick(row, &self.columns));
        reply.write(values, core);
        module.counters.point_selects += 1;
        Ok(Answered::Yes)
    }
}

/// Where the result of a SELECT goes that is answered in the call that decoded it.
pub(super) struct Reply<'a> {
    pub(super) cached: &'a CachedStatement,
    pub(super) format: RowFormat,
    /// Offset in seconds.
    pub(super) time_zone: i32,
    pub(super) buffer: &'a mut Vec<u8>,
    pub(super) scratch: &'a mut Vec<u8>,
}

impl<'a> Reply<'a> {
    /// Writes the whole result, of one row at most.
    #[inline(always)]
    pub(super) fn write<'v>(
        self,
        row: Option<impl ExactSizeIterator<Item = ValueRef<'v>>>,
        core: &mut SessionCore,
    ) {
        let mut writer = self.begin(core);
        if let Some(row) = row {
            writer.write(row);
        }
        Self::end(writer, core);
    }

    /// Writes the column definitions; any number of rows may follow.
    #[inline(always)]
    pub(super) fn begin(self, core: &mut SessionCore) -> RowWriter<'a> {
        core.client.diagnostics.clear();
        let mut packets = PacketWriter::new(self.buffer, core.sequence);
        packets.append_frames(&self.cached.column_frames);
        packets.end_of_columns(core.capabilities, core.end_packet());
        RowWriter {
            packets,
            format: self.format,
            columns: &self.cached.prepared.columns,
            time_zone: self.time_zone,
            scratch: self.scratch,
            count: 0,
            skip: 0,
            left: u64::MAX,
        }
    }

    /// Writes the end behind the rows.
    #[inline(always)]
    pub(super) fn end(mut writer: RowWriter<'_>, core: &mut SessionCore) {
        core.found_rows = writer.count;
        core.row_count = -1;
        writer.packets.end_of_rows(core.capabilities, core.end_packet());
        core.sequence = writer.packets.sequence();
    }
}
