use super::*;

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
