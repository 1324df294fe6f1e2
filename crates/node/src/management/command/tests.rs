use super::{Command, Need, Refusal, Report};

#[test]
fn what_changes_something_needs_authority() {
    for line in [
        "check",
        "2 stop",
        "3 restart",
        "shutdown",
        "shutdown shop",
        "shutdown shop now",
        "all stop",
        "all restart",
        "recover voters",
        "recover voters shop without 1,3",
        "start shop with data loss",
        "start shop with data loss without 3, 4",
    ] {
        assert_eq!(Command::parse(line).map(Command::need), Some(Need::Authority), "{line}");
    }
    for line in [
        "",
        "help",
        "show",
        "all status",
        "2 status",
        "get config",
        "get status",
        "authenticate",
        "authenticate 00",
    ] {
        assert_eq!(Command::parse(line).map(Command::need), Some(Need::Nothing), "{line}");
    }
}

#[test]
fn options_of_ndb_are_refused_by_name() {
    assert_eq!(Command::parse("2 restart -i"), Some(Command::Refused(Refusal::Option("-i"))));
    assert_eq!(Command::parse("2 3 stop"), Some(Command::Refused(Refusal::Several)));
}

#[test]
fn words_of_ndb_mgm() {
    for (line, command) in [
        ("?", Command::Help("")),
        ("help report  memory", Command::Help("report  memory")),
        ("all report memory", Command::Report("all", Report::MemoryUsage)),
        ("2  3 rep m", Command::Report("2  3", Report::MemoryUsage)),
        ("all dump 1000", Command::Report("all", Report::MemoryUsage)),
        ("2 report backupstatus", Command::Report("2", Report::BackupStatus)),
        ("2 3 status", Command::Status("2 3")),
        ("all report disks", Command::Elsewhere),
        ("start backup", Command::Elsewhere),
        ("clusterlog filter info", Command::Elsewhere),
    ] {
        assert_eq!(Command::parse(line), Some(command), "{line}");
    }
}

#[test]
fn other_lines_are_no_commands() {
    for line in [
        "post / http/1.1",
        "get / http/1.1",
        "get /show http/1.0",
        "host: 127.0.0.1:1186",
        "options * http/1.1",
        "content-length: 12",
        "all",
        "x stop",
        "2",
        "2 dance",
        "-2 stop",
        "shwo",
        "\u{16}\u{3}\u{1}",
        "authenticate a b",
    ] {
        assert_eq!(Command::parse(line), None, "{line}");
    }
}
