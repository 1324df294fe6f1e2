//! The log of a node: one line per event, with time, level and node id.
//!
//! ```text
//! 2026-11-21T04:30:12.123456Z  INFO node 2: view 1 installed
//! ```
//! Blocks emit events, the runtime hands them to [`sink`], and `tracing` writes them; nothing below the binary knows
//! what a log line looks like.
//!
//! Invariant: no thread waits for the reader of the log. A line for which there is no room is lost: in a pipe that
//! nobody reads, on a stopped terminal, on a full disk. The next line that is written says how many were.

use crate::command_line::{LogLevel, LogOptions};
use crate::terminal::Failure;
use protocol::{Event, Severity};
use runtime::LogSink;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use tracing::Subscriber;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use types::NodeId;

/// The node of this process; 0 until it is known.
static NODE: AtomicU16 = AtomicU16::new(0);

/// Starts logging; before, log lines go nowhere.
pub(crate) fn start(options: &LogOptions) -> Result<(), Failure> {
    let level = match options.log {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
    };
    // A line that cannot be written is lost: a full disk or a reader that has gone must not end the node.
    let lines = tracing_subscriber::fmt().log_internal_errors(false);
    let lines = lines.with_max_level(level).event_format(Line);
    let output = match &options.log_file {
        None => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        Some(path) => OpenOptions::new().create(true).append(true).open(path),
    };
    let output = output.map_err(|error| {
        let place =
            options.log_file.as_ref().map_or("to standard error".into(), |path| path.to_string_lossy());
        Failure::new(format!("cannot write the log {place}: {error}"))
    })?;
    lines.with_writer(Mutex::new(Lines { output, lost: 0 })).init();
    Ok(())
}

/// Log lines carry this node id from now on.
pub(crate) fn set_node(node: NodeId) {
    NODE.store(node.0, Ordering::Relaxed);
}

/// The sink that the runtime calls for each event.
pub(crate) fn sink() -> LogSink {
    Arc::new(|event: &Event| {
        let message = event.message.as_str();
        match event.severity {
            Severity::Debug => tracing::debug!("{message}"),
            Severity::Info => tracing::info!("{message}"),
            Severity::Warning => tracing::warn!("{message}"),
            Severity::Error => tracing::error!("{message}"),
        }
    })
}

/// Takes a whole line at a time, and waits for nobody.
struct Lines {
    output: File,
    /// Lines that were lost since the last one that was written.
    lost: u64,
}

/// So much can be written to a pipe that takes anything at all (PIPE_BUF).
const WITHOUT_WAITING: usize = 4_096;

impl Lines {
    fn has_room(&self) -> bool {
        let mut output = [PollFd::new(&self.output, PollFlags::OUT)];
        let is_polled = poll(&mut output, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        is_polled.is_ok() && output[0].revents().contains(PollFlags::OUT)
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !self.has_room() {
            self.lost += 1;
            return Ok(line.len());
        }
        let mut text = Vec::with_capacity(line.len());
        if self.lost > 0 {
            let _ = writeln!(text, "({} lines of the log were lost: nobody took them)", self.lost);
        }
        text.extend_from_slice(line);
        if text.len() > WITHOUT_WAITING {
            text.truncate(WITHOUT_WAITING - 1);
            text.push(b'\n');
        }
        let is_written = self.output.write_all(&text).is_ok();
        self.lost = if is_written { 0 } else { self.lost + 1 };
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> fmt::Result {
        SystemTime.format_time(&mut writer)?;
        write!(writer, " {:>5} ", event.metadata().level().as_str())?;
        match NODE.load(Ordering::Relaxed) {
            0 => {}
            node => write!(writer, "node {node}: ")?,
        }
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests;
