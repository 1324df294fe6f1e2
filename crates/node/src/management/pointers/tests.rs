use super::{answer, verbs};

fn said(line: &str) -> Option<String> {
    answer(&line.split_whitespace().collect::<Vec<_>>())
}

/// Words that users of ndb_mgm type are answered by one line, which says ERROR where nothing was done.
#[test]
fn words_of_ndb_are_pointed_to_their_place() {
    for (line, beginning) in [
        ("start backup", "ERROR: there are no backups yet"),
        ("start backup 3 wait completed", "ERROR: there are no backups yet"),
        ("abort backup 3", "ERROR: there are no backups yet"),
        ("enter single user mode 4", "ERROR: there is no single user mode"),
        ("exit single user mode", "ERROR: there is no single user mode"),
        ("create nodegroup 3,4", "ERROR: node groups follow from"),
        ("drop nodegroup 1", "ERROR: node groups follow from"),
        ("2 start", "ERROR: a node is started where it runs"),
        ("all start", "ERROR: a node is started where it runs"),
        ("purge stale sessions", "nothing to purge"),
        ("clusterlog info", "there is no cluster log: each node writes its own"),
        ("clusterlog on", "ERROR: there is no cluster log"),
        ("clusterlog off", "ERROR: there is no cluster log"),
        ("clusterlog filter info", "ERROR: there is no cluster log"),
        ("clusterlog toggle debug alert", "ERROR: there is no cluster log"),
        ("all clusterlog startup=7", "ERROR: there is no cluster log"),
        ("2 clusterlog startup = 7 info=0", "ERROR: there is no cluster log"),
        ("2 loglevel connection=8", "ERROR: there is no cluster log"),
        ("2 nodelog debug on", "ERROR: there is no cluster log"),
        ("node log level", "ERROR: there is no cluster log"),
        ("all report eventlog", "ERROR: events are lines of each node's log"),
        ("2 log dbtc=on", "ERROR: log is for NDB's developers"),
        ("2 error 5000", "ERROR: error is for NDB's developers"),
        ("show config", "ERROR: show takes nothing behind it"),
        ("prompt mine", "ERROR: prompt is a command of `latsdb mgm` itself"),
        ("report memory", "ERROR: report takes nodes in front of it"),
        ("dump 1000", "ERROR: dump takes nodes in front of it"),
    ] {
        let text = said(line).unwrap_or_else(|| panic!("{line}: no answer"));
        assert!(text.starts_with(beginning), "{line}: {text}");
        assert_eq!(text.matches('\n').count(), 1, "{line}: {text}");
    }
}

#[test]
fn what_ndb_would_refuse_is_refused_by_name() {
    for (line, answer) in [
        (
            "clusterlog filter loud",
            "ERROR: 'loud' is no severity; there are ALL, ALERT, CRITICAL, ERROR, WARNING, INFO, DEBUG\n",
        ),
        (
            "clusterlog toggle",
            "ERROR: clusterlog toggle takes ALL, ALERT, CRITICAL, ERROR, WARNING, INFO, DEBUG\n",
        ),
        (
            "clusterlog",
            "ERROR: clusterlog takes ON, OFF, INFO, FILTER or TOGGLE, or nodes in front of it: all clusterlog STARTUP=7\n",
        ),
        ("all clusterlog startup=16", "ERROR: startup=16: a level is 0 to 15\n"),
        ("all clusterlog startup", "ERROR: startup=: a level is 0 to 15\n"),
        ("2 nodelog trace", "ERROR: nodelog takes DEBUG ON or DEBUG OFF\n"),
        (
            "all report disks",
            "ERROR: 'disks' is no report; report takes MemoryUsage, BackupStatus or EventLog\n",
        ),
        ("all report", "ERROR: report takes MemoryUsage, BackupStatus or EventLog\n"),
        (
            "all dump 2305",
            "ERROR: dump 2305 is not known here; 1000 reports memory, and ndbinfo tells the rest\n",
        ),
        ("all dump", "ERROR: dump takes a number: 1000 reports memory\n"),
    ] {
        assert_eq!(said(line).as_deref(), Some(answer), "{line}");
    }
    let text = said("all clusterlog disks=7").unwrap();
    assert!(text.starts_with("ERROR: 'disks' is no category; there are STARTUP, SHUTDOWN, "), "{text}");
}

#[test]
fn other_lines_are_not_answered_here() {
    for line in ["", "2", "all", "2 dance", "dance", "post / http/1.1", "host: here", "show"] {
        assert_eq!(said(line), None, "{line}");
    }
    assert!(verbs(&["2", "dance"]).is_some() && verbs(&["all"]).is_some());
    assert_eq!(verbs(&["dance"]), None);
}
