//! A result that is on its way to the client: its column definitions, then its rows.
//!
//! Rows go from the operators straight into the connection's send buffer. Those of a cursor are kept instead.
//!
//! Invariant: nothing is sent before the first row or the end is known, so an early error is a plain error packet.

use crate::cursor::Cursor;
use crate::results::{RowWriter, TranscodingWriter};
use crate::statement::Cx;
use crate::statement_cache::CachedStatement;
use executor::select::{SelectRun, Window};
use executor::table_reader::Pump;
use executor::{Completion, Failure, Progress};
use mysql_protocol::PacketWriter;
use mysql_protocol::result::RowFormat;
use protocol::module::SEND_BUFFER_HIGH;
use query::RowSink;
use types::ValueRef;

/// A SELECT or SHOW that runs.
pub(crate) struct ResultSet {
    run: SelectRun,
    is_header_sent: bool,
    row_count: u64,
    /// Rows that were found and not sent, where they are counted.
    unsent: u64,
    /// They are kept here, and nothing is sent.
    cursor: Option<Cursor>,
}

/// Counts rows that nobody wants.
struct Counter(u64);

impl RowSink for Counter {
    fn row(&mut self, _: &[u8], _: &[u8], _: &[ValueRef<'_>]) {
        self.0 += 1;
    }

    fn is_full(&self) -> bool {
        self.0 >= COUNTED_AT_ONCE
    }
}

/// Rows that are counted before the budget is looked at.
const COUNTED_AT_ONCE: u64 = 1_024;

impl ResultSet {
    pub(crate) fn new(run: SelectRun) -> Self {
        let unsent = if run.counts_found { run.window.skip } else { 0 };
        Self { run, is_header_sent: false, row_count: 0, unsent, cursor: None }
    }

    /// Keeps the rows for a cursor.
    pub(crate) fn keep(&mut self) {
        self.cursor = Some(Cursor::default());
    }

    /// The rows that were kept.
    pub(crate) fn take_cursor(&mut self) -> Option<Cursor> {
        self.cursor.take()
    }

    /// True once the client has got a part of the result.
    pub(crate) fn has_answered(&self) -> bool {
        self.is_header_sent
    }

    /// Produces rows until the end, the budget, the client or a missing answer stops it.
    pub(crate) fn step(
        &mut self,
        cached: &CachedStatement,
        format: RowFormat,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Progress, Failure> {
        if self.cursor.is_some() {
            return self.step_kept(cached, format, cx);
        }
        let connection = cx.core.connection;
        loop {
            if cx.env.is_congested(connection) {
                return Ok(Progress::Wait);
            }
            // The writer needs the buffer while operators use everything else of the handler call.
            let mut buffer = std::mem::take(cx.env.outputs.buffer(connection));
            let mut scratch = std::mem::take(&mut cx.env.module.scratch.reply);
            let written = self.write_rows(cached, format, cx, (&mut buffer, &mut scratch));
            cx.env.module.scratch.reply = scratch;
            *cx.env.outputs.buffer(connection) = buffer;
            match written? {
                Pump::Rows => {}
                Pump::Wait => return Ok(Progress::Wait),
                Pump::Spent => return Ok(Progress::Spent),
                Pump::End => return Ok(Progress::Done(self.completion())),
            }
        }
    }

    fn completion(&self) -> Completion {
        let not_skipped = if self.run.counts_found { self.run.window.skip } else { 0 };
        let row_count = self.row_count + self.unsent.saturating_sub(not_skipped);
        Completion { is_result_set: true, row_count, ..Completion::default() }
    }

    /// The same where rows are kept: the client neither waits for them nor holds them up.
    fn step_kept(
        &mut self,
        cached: &CachedStatement,
        format: RowFormat,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Progress, Failure> {
        loop {
            let mut buffer = Vec::new();
            let mut scratch = std::mem::take(&mut cx.env.module.scratch.reply);
            let mut writer = self.writer(cached, format, cx, (&mut buffer, &mut scratch));
            let pump = self.pump(cached, cx, &mut writer);
            let (written, window) = (writer.count, Window { skip: writer.skip, count: writer.left });
            self.run.window = window;
            self.row_count += written;
            cx.env.module.scratch.reply = scratch;
            let pump = pump?;
            let size = self.cursor.as_mut().map_or(0, |cursor| cursor.keep(buffer));
            cx.core.client.memory.charge(size)?;
            match pump {
                Pump::Rows => {}
                Pump::Wait => return Ok(Progress::Wait),
                Pump::Spent => return Ok(Progress::Spent),
                Pump::End => return Ok(Progress::Done(self.completion())),
            }
        }
    }

    fn writer<'a>(
        &self,
        cached: &'a CachedStatement,
        format: RowFormat,
        cx: &Cx<'_, '_>,
        (buffer, scratch): (&'a mut Vec<u8>, &'a mut Vec<u8>),
    ) -> RowWriter<'a> {
        RowWriter {
            packets: PacketWriter::new(buffer, 0),
            format,
            columns: &cached.prepared.columns,
            time_zone: cx.statement.settings.time_zone_offset_seconds,
            scratch,
            count: 0,
            skip: self.run.window.skip,
            left: self.run.window.count,
        }
    }

    fn write_rows(
        &mut self,
        cached: &CachedStatement,
        format: RowFormat,
        cx: &mut Cx<'_, '_>,
        (buffer, scratch): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<Pump, Failure> {
        let before = (buffer.len(), cx.core.sequence);
        let mut packets = PacketWriter::new(buffer, cx.core.sequence);
        if !self.is_header_sent {
            packets.append_frames(&cached.column_frames);
            packets.end_of_columns(cx.core.capabilities, cx.core.end_packet());
        }
        let mut writer = RowWriter {
            packets,
            format,
            columns: &cached.prepared.columns,
            time_zone: cx.statement.settings.time_zone_offset_seconds,
            scratch,
            count: 0,
            skip: self.run.window.skip,
            left: self.run.window.count,
        };
        let pump = self.pump(cached, cx, &mut writer);
        let (written, sequence) = (writer.count, writer.packets.sequence());
        self.run.window = Window { skip: writer.skip, count: writer.left };
        // The definitions alone may fill the buffer: then they go first, or this would begin with them for ever.
        let is_answered = written > 0 || matches!(pump, Ok(Pump::End | Pump::Rows));
        if self.is_header_sent || is_answered {
            self.is_header_sent = true;
            self.row_count += written;
            cx.core.sequence = sequence;
        } else {
            // Nothing to show yet: the client hears nothing, so that an error may still stand alone.
            buffer.truncate(before.0);
            cx.core.sequence = before.1;
        }
        pump
    }

    /// SQL_CALC_FOUND_ROWS: counts the rows behind LIMIT.
    fn count_rest(&mut self, cx: &mut Cx<'_, '_>) -> Result<Pump, Failure> {
        loop {
            let mut counter = Counter(0);
            let pump = self.run.pump(&mut cx.executor(), &mut counter)?;
            self.unsent += counter.0;
            match pump {
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                Pump::Rows => {}
                pump @ (Pump::Wait | Pump::Spent | Pump::End) => return Ok(pump),
            }
        }
    }

    fn pump(
        &mut self,
        cached: &CachedStatement,
        cx: &mut Cx<'_, '_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<Pump, Failure> {
        loop {
            if writer.left == 0 && self.run.counts_found {
                return self.count_rest(cx);
            }
            if writer.left == 0 {
                self.run.close(&mut cx.executor());
                return Ok(Pump::End);
            }
            if writer.packets.buffer_size() >= SEND_BUFFER_HIGH {
                return Ok(Pump::Rows);
            }
            let pump = match cached.results {
                None => self.run.pump(&mut cx.executor(), writer)?,
                Some(set) => self.run.pump(&mut cx.executor(), &mut TranscodingWriter { writer, set })?,
            };
            match pump {
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                Pump::Rows => {}
                pump @ (Pump::Wait | Pump::Spent | Pump::End) => return Ok(pump),
            }
        }
    }
}
