use super::*;

#[test]
fn ends_are_described() {
    let check = |raw: i32, text: &str, code: u8| {
        let status = ExitStatus::from_raw(raw);
        assert!(describe(status).starts_with(text), "{}", describe(status));
        assert_eq!(exit_code(status), code);
    };
    check(0, "has stopped", 0);
    check(3 << 8, "has ended to be started again (exit code 3)", 3);
    check(2 << 8, "exited with code 2", 2);
    check(9, "was killed by signal 9 (SIGKILL", 137);
    check(6, "was killed by signal 6 (SIGABRT", 134);
}

/// The one test that starts a `StopSignal`: it is once per process.
#[test]
fn waiting_sees_the_end_of_each_child_and_reaps_it() {
    let mut stop = StopSignal::listen().unwrap();
    let run = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]);
        NodeProcess::start(shell).unwrap()
    };
    let (mut first, mut second) = (run("exit 3"), run("exec sleep 60"));
    let happening = wait(&mut stop, &mut [&mut first, &mut second], None).unwrap();
    assert!(matches!(happening, Happening::Ended(0, status) if status.code() == Some(3)), "{happening:?}");
    let none = wait(&mut stop, &mut [&mut first], Some(Duration::from_millis(1))).unwrap();
    assert_eq!(none, Happening::TimedOut);
    second.stop();
    let happening = wait(&mut stop, &mut [&mut first, &mut second], Some(Duration::from_secs(20))).unwrap();
    assert!(matches!(happening, Happening::Ended(1, _)), "{happening:?}");
    assert!(second.status().is_some());
}
