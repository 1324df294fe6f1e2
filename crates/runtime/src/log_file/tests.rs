use super::*;
use std::os::unix::fs::MetadataExt;

/// A directory of this test's own, empty.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("latsdb-log-file-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

fn write(place: LogPlace, byte: u8, size: usize) -> LogWrite {
    LogWrite { ticket: 1, place, bytes: vec![byte; size] }
}

#[test]
fn what_was_written_is_read_again() {
    let directory = directory("again");
    let (mut log, bytes) = LogFile::open(&directory).unwrap();
    assert!(bytes.is_empty());
    assert!(log.write(&write(LogPlace::At(0), 1, 10)).is_err(), "nothing was begun");
    drop(log);
    let (mut log, _) = LogFile::open(&directory).unwrap();
    log.write(&write(LogPlace::NewFile, 1, 4_096)).unwrap();
    log.write(&write(LogPlace::At(4_096), 2, 4_096)).unwrap();
    drop(log);
    let (mut log, bytes) = LogFile::open(&directory).unwrap();
    assert_eq!(bytes.len(), 4_096 + PREALLOCATED_SIZE);
    assert!(
        bytes[..4_096].iter().all(|byte| *byte == 1) && bytes[4_096..8_192].iter().all(|byte| *byte == 2)
    );
    assert!(bytes[8_192..].iter().all(|byte| *byte == 0));
    log.write(&write(LogPlace::NewFile, 3, 8_192)).unwrap();
    drop(log);
    let (_, bytes) = LogFile::open(&directory).unwrap();
    assert!(bytes[..8_192].iter().all(|byte| *byte == 3) && bytes[8_192..].iter().all(|byte| *byte == 0));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_second_process_is_refused() {
    let directory = directory("second");
    let (first, _) = LogFile::open(&directory).unwrap();
    assert_eq!(LogFile::open(&directory).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    drop(first);
    assert!(LogFile::open(&directory).is_ok());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn after_an_error_nothing_is_written() {
    let directory = directory("error");
    let (mut log, _) = LogFile::open(&directory).unwrap();
    assert!(log.write(&write(LogPlace::At(0), 1, 10)).is_err());
    assert!(log.write(&write(LogPlace::NewFile, 1, 10)).is_err(), "the node must die");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_file_that_was_not_finished_does_not_count() {
    let directory = directory("unfinished");
    let (mut log, _) = LogFile::open(&directory).unwrap();
    log.write(&write(LogPlace::NewFile, 1, 4_096)).unwrap();
    drop(log);
    std::fs::write(directory.join(NEW_NAME), b"half").unwrap();
    let (_, bytes) = LogFile::open(&directory).unwrap();
    assert_eq!(bytes[0], 1);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_file_that_is_found_is_written_anew_and_stays_the_same() {
    let directory = directory("anew");
    let (mut log, _) = LogFile::open(&directory).unwrap();
    log.write(&write(LogPlace::NewFile, 1, 4_096)).unwrap();
    drop(log);
    let path = directory.join(NAME);
    let mut expected = std::fs::read(&path).unwrap();
    for round in 2..5 {
        let found = std::fs::metadata(&path).unwrap();
        let (mut log, bytes) = LogFile::open(&directory).unwrap();
        assert!(bytes == expected, "round {round}");
        assert!(std::fs::read(&path).unwrap() == expected, "round {round}");
        let anew = std::fs::metadata(&path).unwrap();
        assert_ne!(anew.ino(), found.ino(), "what was found may not be on disk");
        assert_eq!(anew.mode() & 0o777, 0o600);
        assert!(!directory.join(NEW_NAME).exists());
        // From now on writes go into the file that the next life finds.
        log.write(&write(LogPlace::At(u64::from(round) * 4_096), round, 4_096)).unwrap();
        let start = usize::from(round) * 4_096;
        expected[start..start + 4_096].fill(round);
    }
    let (_, bytes) = LogFile::open(&directory).unwrap();
    assert!(bytes == expected);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_anew_is_not_used_and_not_lost() {
    let directory = directory("in-the-way");
    let (mut log, _) = LogFile::open(&directory).unwrap();
    log.write(&write(LogPlace::NewFile, 1, 4_096)).unwrap();
    drop(log);
    let obstacle = directory.join(NEW_NAME);
    std::fs::create_dir(&obstacle).unwrap();
    let error = LogFile::open(&directory).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("control.log cannot be written anew: "), "{error}");
    std::fs::remove_dir(&obstacle).unwrap();
    let (_, bytes) = LogFile::open(&directory).unwrap();
    assert_eq!((bytes[0], bytes.len()), (1, 4_096 + PREALLOCATED_SIZE));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_file_that_is_thrown_away_is_not_read() {
    let directory = directory("thrown-away");
    std::fs::create_dir(&directory).unwrap();
    let file = File::create(directory.join(NAME)).unwrap();
    file.set_len(FILE_SIZE_MAX + 1).unwrap();
    let error = LogFile::open(&directory).map(drop).unwrap_err().to_string();
    assert_eq!(error, "control.log is too long");
    drop(LogFile::open_anew(&directory).unwrap());
    let (_, bytes) = LogFile::open(&directory).unwrap();
    assert!(bytes.is_empty());
    std::fs::remove_dir_all(&directory).unwrap();
}
