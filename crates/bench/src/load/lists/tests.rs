use super::*;

/// Final lists as a server would show them.
struct Lists(Vec<(u64, &'static str)>);

impl Tables for Lists {
    fn rows(&mut self, _query: &str) -> Result<Vec<TextRow>, String> {
        Ok(self.0.iter().map(|(id, text)| vec![Some(id.to_string()), Some((*text).to_owned())]).collect())
    }
}

/// Outcome, begin, end and steps of each transaction; the lists; faults and stale reads.
fn judge(history: &[(Outcome, u64, u64, &str)], lists: &[(u64, &'static str)]) -> (String, u64) {
    let records: Vec<Record> = history
        .iter()
        .map(|(outcome, from, until, detail)| Record {
            outcome: *outcome,
            from: *from,
            until: *until,
            detail: (*detail).to_owned(),
        })
        .collect();
    let mut stale = 0;
    let faults = check(&records, &mut Lists(lists.to_vec()), &mut stale).unwrap();
    (faults.join("\n"), stale)
}

use Outcome::{Acknowledged, Refused, Unknown};

fn fault_of(history: &[(Outcome, u64, u64, &str)], lists: &[(u64, &'static str)]) -> String {
    judge(history, lists).0
}

#[test]
fn a_history_that_is_right() {
    let history = [
        (Acknowledged, 1, 2, "a:1:11 a:2:12"),
        (Acknowledged, 3, 4, "r:1:11 a:1:13 r:1:11,13"),
        (Unknown, 5, 6, "a:1:14"),
        (Unknown, 5, 6, "a:1:15"),
        (Refused, 5, 6, "a:2:16 r:2:12"),
        (Acknowledged, 7, 8, "r:1:11,13,15 r:3:"),
    ];
    assert_eq!(judge(&history, &[(1, ",11,13,15"), (2, ",12")]), (String::new(), 0));
}

#[test]
fn lost_doubled_and_invented_appends() {
    assert!(fault_of(&[(Acknowledged, 1, 2, "a:1:11")], &[]).contains("is lost"));
    assert!(fault_of(&[(Acknowledged, 1, 2, "a:1:11")], &[(1, ",11,11")]).contains("twice"));
    assert!(fault_of(&[(Refused, 1, 2, "a:1:11")], &[(1, ",11")]).contains("refused append"));
    assert!(fault_of(&[], &[(1, ",11")]).contains("nobody appended"));
    assert!(fault_of(&[(Unknown, 1, 2, "a:1:11 a:2:12")], &[(1, ",11")]).contains("in part"));
}

#[test]
fn reads_of_what_never_was() {
    let writer = (Acknowledged, 1, 2, "a:1:11 a:1:12");
    let read = |steps| fault_of(&[writer, (Acknowledged, 3, 4, steps)], &[(1, ",11,12")]);
    assert_eq!(read("r:1:11,12"), "");
    assert!(read("r:1:12").contains("no prefix"));
    assert!(read("r:1:11").contains("intermediate"));
    assert!(fault_of(&[(Acknowledged, 1, 2, "a:1:11 r:1:")], &[(1, ",11")]).contains("own append"));
}

#[test]
fn a_cycle_of_writes_is_found() {
    let history = [(Acknowledged, 1, 9, "a:1:11 a:2:12"), (Acknowledged, 1, 9, "a:1:21 a:2:22")];
    assert!(fault_of(&history, &[(1, ",11,21"), (2, ",22,12")]).contains("a cycle"));
    assert_eq!(fault_of(&history, &[(1, ",11,21"), (2, ",12,22")]), "");
}

#[test]
fn a_cycle_of_reads_is_found() {
    let history = [(Acknowledged, 1, 9, "a:1:11 r:2:22"), (Acknowledged, 1, 9, "a:2:22 r:1:11")];
    assert!(fault_of(&history, &[(1, ",11"), (2, ",22")]).contains("a cycle"));
}

#[test]
fn a_read_that_misses_what_was_acknowledged_before_is_stale() {
    let history = |from| [(Acknowledged, 1, 5, "a:1:11"), (Acknowledged, from, 9, "r:1:")];
    assert_eq!(judge(&history(6), &[(1, ",11")]), (String::new(), 1));
    assert_eq!(judge(&history(4), &[(1, ",11")]), (String::new(), 0));
}
