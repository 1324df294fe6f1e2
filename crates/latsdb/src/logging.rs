//! The log of a node: one line per event, with time, level and node id.
//!
//! ```text
//! 2026-11-21T04:30:12.123456Z  INFO node 2: view 1 installed
//! ```
//! Blocks emit events, the runtime hands them to [`sink`], and `tracing` writes them; nothing below the binary knows
//! what a log line looks like.

use crate::command_line::{LogLevel, LogOptions};
use crate::terminal::Failure;
use protocol::{Event, Severity};
use runtime::LogSink;
use std::fmt;
use std::fs::OpenOptions;
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
    match &options.log_file {
        None => lines.with_writer(std::io::stderr).init(),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let file = file
                .map_err(|error| Failure::new(format!("cannot write the log {}: {error}", path.display())))?;
            lines.with_writer(Mutex::new(file)).init();
        }
    }
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
