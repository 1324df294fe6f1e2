//! Dying well: what a node leaves behind when an invariant breaks, a thread panics, or the machine sends a fatal
//! signal.
//!
//! ```text
//! the thread that broke                          all other threads
//! links of the node are closed at once           see the flag at their next signal or wake,
//!   (peers notice within microseconds)             write their own trace, and stop for ever
//! latsdb_<node>_error.log gets an entry
//! its own trace is written
//! waits for the others, at most TRACE_TIMEOUT
//! aborts
//! ```
//! Each thread keeps the places where its code was (`stdx::jam`) and the heads of its last [`TRACE_COUNT`] signals,
//! never their contents: a trace holds no row data. Each thread writes its own file, so nobody reads another's memory;
//! a thread that is stuck in one handler for longer than the timeout leaves none, which says enough.
//!
//! The only farewell is the closing of all links: a peer hears that sooner than it could read a message, and needs no
//! new frame for it.
//!
//! Invariant: once dying has begun, no thread handles another signal.

use crate::process::{Process, unpoisoned};
use protocol::{Address, Envelope};
use rustix::fs::{Mode, OFlags};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, Weak};
use stdx::{Duration, Instant};

#[cfg(test)]
mod tests;

/// How many signals each thread remembers.
pub const TRACE_COUNT: usize = 4096;
/// How long the dying process waits for the other threads' traces.
const TRACE_TIMEOUT: Duration = Duration::from_millis(200);

static DYING: AtomicBool = AtomicBool::new(false);
static CRASH: OnceLock<Crash> = OnceLock::new();

struct Crash {
    name: String,
    directory: PathBuf,
    processes: Mutex<Vec<Weak<Process>>>,
    traces_written: AtomicUsize,
}

/// From now on a panic or a fatal signal anywhere in this process writes `<directory>/<name>_error.log` and a trace
/// file per thread (`<name>_trace_<thread>.log`, mode 0600). Then it closes the links of all runtimes of the process,
/// and aborts. Call once, before runtimes are started; `name` is `latsdb_<node>`.
pub fn install_crash_handler(name: impl Into<String>, directory: impl Into<PathBuf>) {
    let crash = Crash {
        name: name.into(),
        directory: directory.into(),
        processes: Mutex::new(Vec::new()),
        traces_written: AtomicUsize::new(0),
    };
    if CRASH.set(crash).is_err() {
        return;
    }
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        previous(panic);
        die(&panic.to_string());
    }));
    for signal in FATAL_SIGNALS {
        #[expect(unsafe_code, reason = "signal handlers are not in rustix")]
        // SAFETY: `on_fatal_signal` has the signature of a handler and never returns. It allocates, which a handler
        // should not: the process is lost anyway, and `alarm` ends it should the allocator be locked.
        unsafe {
            signal_(signal, on_fatal_signal as *const () as usize);
        }
    }
}

/// SIGILL, SIGBUS, SIGFPE, SIGSEGV.
const FATAL_SIGNALS: [i32; 4] = [4, 7, 8, 11];
const DEFAULT_ACTION: usize = 0;

extern "C" fn on_fatal_signal(number: i32) {
    #[expect(unsafe_code, reason = "signal handlers are not in rustix")]
    // SAFETY: both calls are async-signal-safe. A second fatal signal, or two seconds, end the process in any case.
    unsafe {
        signal_(number, DEFAULT_ACTION);
        alarm(2);
    }
    die(&format!("fatal signal {number}"));
}

#[expect(unsafe_code, reason = "declares functions of the C library that std links anyway")]
unsafe extern "C" {
    #[link_name = "signal"]
    fn signal_(number: i32, handler: usize) -> usize;
    fn alarm(seconds: u32) -> u32;
}

/// Lets a dying process close this runtime's links and park its threads.
pub(crate) fn register(process: &std::sync::Arc<Process>) {
    if let Some(crash) = CRASH.get() {
        let mut processes = unpoisoned(&crash.processes);
        processes.retain(|other| other.strong_count() > 0);
        processes.push(std::sync::Arc::downgrade(process));
    }
}

/// The process is dying: write the trace and handle nothing more.
#[inline]
pub(crate) fn is_dying() -> bool {
    DYING.load(Ordering::Relaxed)
}

/// The end of a thread of the runtime once [`is_dying`]: it leaves its trace and stops.
#[cold]
pub(crate) fn leave_trace_and_stop() -> ! {
    if let Some(crash) = CRASH.get() {
        write_trace(crash);
        crash.traces_written.fetch_add(1, Ordering::Release);
    }
    loop {
        std::thread::park();
    }
}

fn die(message: &str) -> ! {
    if DYING.swap(true, Ordering::SeqCst) {
        leave_trace_and_stop();
    }
    if let Some(crash) = CRASH.get() {
        let processes: Vec<_> = match crash.processes.try_lock() {
            Ok(processes) => processes.iter().filter_map(Weak::upgrade).collect(),
            Err(_) => Vec::new(),
        };
        let mut threads = 0;
        for process in &processes {
            process.close_all_links();
            process.ring_all();
            threads += process.threads.len();
        }
        write_error_log(crash, message);
        write_trace(crash);
        let start = crate::clock::monotonic();
        let is_worker =
            TRACE.try_with(|trace| trace.try_borrow().is_ok_and(|trace| trace.is_worker)).unwrap_or(false);
        let others = threads.saturating_sub(usize::from(is_worker));
        while crash.traces_written.load(Ordering::Acquire) < others
            && crate::clock::monotonic().since(start) < TRACE_TIMEOUT
        {
            std::thread::yield_now();
        }
    }
    std::process::abort();
}

fn write_error_log(crash: &Crash, message: &str) {
    let thread = std::thread::current();
    let wall = crate::clock::now().wall;
    let entry = format!(
        "{}.{:06} UTC seconds since 1970, thread {}: {message}\n",
        wall.0 / 1_000_000,
        wall.0 % 1_000_000,
        thread.name().unwrap_or("?"),
    );
    append(&crash.directory.join(format!("{}_error.log", crash.name)), OFlags::APPEND, &entry);
}

fn write_trace(crash: &Crash) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let file = crash.directory.join(format!("{}_trace_{name}.log", crash.name));
    append(&file, OFlags::TRUNC, &render_trace(name));
}

/// Best effort: a full disk must not keep a dying process alive.
fn append(path: &Path, how: OFlags, text: &str) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | how;
    if let Ok(file) = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        let _ = std::fs::File::from(file).write_all(text.as_bytes());
    }
}

/// The calling thread's trace, newest first.
fn render_trace(name: &str) -> String {
    let mut text = format!("thread {name}\n\nsignals, newest first (time in µs of the monotonic clock)\n");
    let rendered = TRACE.try_with(|trace| {
        // The thread may have died while it noted a signal.
        let Ok(trace) = trace.try_borrow() else { return };
        for head in trace.newest_first() {
            let Head { at, from, to, signal } = head;
            let _ = writeln!(text, "{:>14} {from:>14} -> {to:<14} {signal}", at.0 / 1000);
        }
    });
    if rendered.is_err() {
        text.push_str("(the thread is gone)\n");
    }
    text.push_str("\nplaces, newest first\n");
    for place in stdx::jam::places().iter().rev() {
        let _ = writeln!(text, "{}:{}", place.file, place.line);
    }
    text
}

/// The head of a signal that a thread handled.
#[derive(Clone, Copy)]
struct Head {
    at: Instant,
    from: Address,
    to: Address,
    signal: &'static str,
}

#[derive(Default)]
struct Trace {
    heads: Vec<Head>,
    next: usize,
    is_worker: bool,
}

impl Trace {
    fn newest_first(&self) -> impl Iterator<Item = &Head> {
        let (newer, older) = self.heads.split_at(self.next.min(self.heads.len()));
        newer.iter().rev().chain(older.iter().rev())
    }
}

thread_local! {
    static TRACE: RefCell<Trace> = RefCell::new(Trace::default());
}

/// The calling thread belongs to a runtime.
pub(crate) fn begin_trace() {
    TRACE.with_borrow_mut(|trace| {
        trace.is_worker = true;
        trace.heads.reserve_exact(TRACE_COUNT);
    });
}

/// Remembers that this thread is about to handle a signal.
#[inline]
pub(crate) fn note(at: Instant, envelope: &Envelope) {
    TRACE.with_borrow_mut(|trace| {
        let head = Head { at, from: envelope.from, to: envelope.to, signal: envelope.signal.name() };
        if trace.heads.len() < TRACE_COUNT {
            trace.heads.push(head);
        } else {
            trace.heads[trace.next] = head;
        }
        trace.next = (trace.next + 1) % TRACE_COUNT;
    });
}
