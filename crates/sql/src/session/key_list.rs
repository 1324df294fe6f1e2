//! Lists of keys: the rows of many primary keys of one table, in the call that decoded the command.
//!
//! Keys are encoded behind each other in the module's buffer, sorted, looked up in batches, and their columns go
//! straight into the connection's send buffer. Nothing is allocated.
//!
//! A list gives way to the general executor when it cannot be answered at once. That is so without a replica here, and
//! with own writes in a slot, an undecided row, another version of the table, or a warning. It also does if it is
//! longer than the rest of the slice, or its rows are more than a send buffer should hold. Rows that were written by
//! then are taken back.

use super::point::{Answered, Reply};
use crate::encoded_keys::{EncodedKeys, Place};
use crate::environment::Environment;
use crate::key_list::{KeyList, keys_of};
use crate::results::RowWriter;
use crate::session_core::SessionCore;
use crate::statement_cache::CachedStatement;
use executor::Failure;
use memory::Guard;
use mysql_protocol::result::RowFormat;
use planner::plan::ScanDirection;
use protocol::module::SEND_BUFFER_HIGH;
use query::{NodeMap, TableAccessInfo};
use stdx::hash64;
use storage::{Lookup, MANY_MAX, Visibility, Wanted, get_many};
use types::Value;

/// The means by which a list reads.
struct Reading<'a> {
    map: &'a NodeMap,
    info: &'a TableAccessInfo,
    list: &'a KeyList,
    core: &'a SessionCore,
}

impl KeyList {
    /// Runs it.
    pub(super) fn run(
        &self,
        cached: &CachedStatement,
        parameters: &[Value],
        format: RowFormat,
        core: &mut SessionCore,
        env: &mut Environment<'_>,
    ) -> Result<Answered, Failure> {
        let templates = keys_of(&cached.prepared).unwrap_or_default();
        let is_limited = core.variables.limits.select != u64::MAX;
        if is_limited || templates.len() > env.budget.rows as usize || env.is_congested(core.connection) {
            return Ok(Answered::No);
        }
        let module = &mut *env.module;
        let Some(info) = module.site.map.table(self.table) else { return Ok(Answered::No) };
        if info.definition.version != self.version || !module.site.map.may_read(env.now.monotonic) {
            return Ok(Answered::No);
        }
        let settings = core.settings(env.now);
        let context = core.context(settings, parameters);
        let keys = &mut module.scratch.keys;
        keys.fill(templates, info, &context)?;
        if context.warnings.count() > 0 {
            return Ok(Answered::No);
        }
        drop(context);
        keys.sort();
        if self.direction == ScanDirection::Backward {
            keys.reverse();
        }
        let buffer = env.outputs.buffer(core.connection);
        let size_before = buffer.len();
        let reply = Reply {
            cached,
            format,
            time_zone: settings.time_zone_offset_seconds,
            buffer: &mut *buffer,
            scratch: &mut module.scratch.reply,
        };
        let mut writer = reply.begin(core);
        let reading = Reading { map: &module.site.map, info, list: self, core };
        match reading.write(keys, &mut writer) {
            Answered::Yes => Reply::end(writer, core),
            Answered::No => {
                buffer.truncate(size_before);
                return Ok(Answered::No);
            }
        }
        env.budget.spend(u32::try_from(templates.len()).unwrap_or(u32::MAX));
        module.counters.point_selects += 1;
        Ok(Answered::Yes)
    }
}

impl<'a> Reading<'a> {
    /// Writes the rows of keys, until one cannot be answered at once.
    fn write(&self, keys: &EncodedKeys, writer: &mut RowWriter<'_>) -> Answered {
        let guard = Guard::enter();
        let mut found = [Lookup::Absent; MANY_MAX];
        for batch in keys.batches(MANY_MAX) {
            if self.look_up(keys, batch, &guard, &mut found).is_none() {
                return Answered::No;
            }
            for found in &found[..batch.len()] {
                match *found {
                    Lookup::Absent => {}
                    Lookup::Found(row) if writer.packets.buffer_size() < SEND_BUFFER_HIGH => {
                        writer.write(self.info.layout.pick(row, &self.list.columns));
                    }
                    Lookup::Found(_) | Lookup::Undecided => return Answered::No,
                }
            }
        }
        Answered::Yes
    }

    /// Looks up a batch of keys; None if one has its row elsewhere.
    fn look_up<'g>(
        &'g self,
        keys: &EncodedKeys,
        batch: &[Place],
        guard: &'g Guard,
        found: &mut [Lookup<'g>; MANY_MAX],
    ) -> Option<()> {
        let wanted = |place: &Place| self.wanted(keys.key(*place));
        let mut all = [wanted(batch.first()?)?; MANY_MAX];
        for (one, place) in all.iter_mut().zip(batch).skip(1) {
            *one = wanted(place)?;
        }
        get_many(guard, &all[..batch.len()], Visibility::Committed, found);
        Some(())
    }

    /// Where the row of a key is read; None if that is not here.
    fn wanted<'k>(&self, key: &'k [u8]) -> Option<Wanted<'a, 'k>> {
        let hash = hash64(key);
        let slot = self.info.slot_of_hash(hash);
        if self.core.client.transaction.has_written(slot) {
            return None;
        }
        let reader = self.map.reader(self.list.table, slot)?;
        Some(Wanted { reader, key, hash })
    }
}
