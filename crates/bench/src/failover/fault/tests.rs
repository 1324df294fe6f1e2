use super::*;

#[test]
fn names_are_read_and_written() {
    let cases = [
        ("kill-data", Fault::Kill(Victim::Data)),
        ("kill-management", Fault::Kill(Victim::Management)),
        ("kill-both", Fault::Kill(Victim::Both)),
        ("pause-data-200ms", Fault::Pause(Victim::Data, Duration::from_millis(200))),
        ("cut-3000ms", Fault::Cut(Duration::from_secs(3))),
        ("kill-leader", Fault::Kill(Victim::Leader)),
        ("switchover", Fault::Switchover),
        ("rolling", Fault::Rolling),
        ("nothing", Fault::Nothing),
    ];
    for (text, fault) in cases {
        assert_eq!((text.parse(), fault.to_string()), (Ok(fault), text.to_owned()));
    }
    assert_eq!("pause-both-10s".parse(), Ok(Fault::Pause(Victim::Both, Duration::from_secs(10))));
}

#[test]
fn other_names_are_refused() {
    for text in ["", "kill", "kill-me", "pause-data", "pause-data-1", "cut-1h", "kill-data-1s"] {
        assert!(text.parse::<Fault>().is_err(), "{text:?} was taken for a fault");
    }
}
