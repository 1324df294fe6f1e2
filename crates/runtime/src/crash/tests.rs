use super::{install_crash_handler, note, render_trace};
use protocol::{Address, Envelope, Signal};
use stdx::Instant;
use types::NodeId;

fn envelope(signal: Signal) -> Envelope {
    Envelope::unstamped(Address::main(NodeId(1)), Address::membership(NodeId(2)), signal)
}

#[test]
fn a_trace_is_readable_newest_first_and_without_contents() {
    for number in 0..5000 {
        note(Instant(number * 1000), &envelope(Signal::Continue(number)));
    }
    note(
        Instant(5_000_000),
        &envelope(Signal::StopNode { reason: "row data".to_owned(), exit_code: 0, is_alone: true }),
    );
    stdx::jam!();
    let text = render_trace("ldm0");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "thread ldm0");
    assert_eq!(
        lines[3].split_whitespace().collect::<Vec<_>>(),
        ["5000", "1.main0", "->", "2.membership0", "StopNode"]
    );
    assert_eq!(
        lines[4].split_whitespace().collect::<Vec<_>>(),
        ["4999", "1.main0", "->", "2.membership0", "Continue"]
    );
    assert_eq!(lines.iter().filter(|line| line.ends_with("Continue")).count(), super::TRACE_COUNT - 1);
    assert!(lines[lines.len() - 1].contains("crash/tests.rs:"));
    assert!(!text.contains("row data"));
}

/// The variable that makes [`dies`] die, in the process that [`a_dying_process_leaves_its_traces`] starts.
const VICTIM: &str = "LATSDB_TEST_CRASH_DIRECTORY";

#[test]
fn dies() {
    let Ok(directory) = std::env::var(VICTIM) else { return };
    install_crash_handler("latsdb_9", directory);
    let node = crate::tests::Setup { node: 9, ..Default::default() }.start();
    let mut client = node.client();
    assert_eq!(client.ask("echo alive"), "alive");
    // The toy's next words are not understood by its module, which is a bug of ours and not the client's.
    client.say("flood x");
    client.hear();
}

#[test]
fn a_dying_process_leaves_its_traces() {
    let directory = std::env::temp_dir().join(format!("latsdb-crash-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::tests::dies", "--nocapture"])
        .env(VICTIM, &directory)
        .output()
        .unwrap();
    assert!(!output.status.success());
    let error = std::fs::read_to_string(directory.join("latsdb_9_error.log")).unwrap();
    assert!(error.contains("thread recv0: panicked at") && error.contains("InvalidDigit"), "{error}");
    for thread in ["main", "recv0", "recv1", "membership"] {
        let file = directory.join(format!("latsdb_9_trace_{thread}.log"));
        let trace = std::fs::read_to_string(&file).unwrap();
        assert!(trace.starts_with(&format!("thread {thread}\n")), "{trace}");
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    std::fs::remove_dir_all(directory).unwrap();
}

/// As [`VICTIM`], for [`waits_for_a_signal`].
const WAITER: &str = "LATSDB_TEST_WAITS_FOR_SIGNAL";

#[test]
fn waits_for_a_signal() {
    if std::env::var(WAITER).is_err() {
        return;
    }
    let mut node = crate::tests::Setup::default().start();
    node.runtime().stop_on_signals();
    println!("ready");
    // A toy `main` answers a stop request with this exit code.
    assert_eq!(node.runtime.take().unwrap().wait(), 7);
    println!("stopped");
}

#[test]
fn sigterm_asks_main_to_stop() {
    use std::io::{BufRead, BufReader};
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::tests::waits_for_a_signal", "--nocapture"])
        .env(WAITER, "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "ready"));
    let process = rustix::process::Pid::from_child(&child);
    // A service manager signals the whole group, and the parent passes its signal on: that is one request.
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::TERM, rustix::process::Signal::INT]
    {
        rustix::process::kill_process(process, signal).unwrap();
    }
    assert!(lines.any(|line| line == "stopped"));
    assert!(child.wait().unwrap().success());
}
