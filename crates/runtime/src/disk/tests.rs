use super::*;
use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

const LOG: FileName = FileName::ControlLog;
const REDO: FileName = FileName::Redo(1);

/// A directory of this test's own, empty.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("latsdb-disk-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

/// A lane of a folder of this test's own.
fn lane(name: &str) -> (PathBuf, Lane) {
    let directory = directory(name);
    std::fs::create_dir(&directory).unwrap();
    (directory.clone(), Lane::new(directory, false))
}

fn replace(file: FileName, byte: u8, size: usize) -> DiskOperation {
    DiskOperation::Replace { file, bytes: vec![byte; size] }
}

fn write(file: FileName, offset: u64, byte: u8, sync: bool) -> DiskOperation {
    DiskOperation::Write { file, offset, bytes: vec![byte; 10], sync }
}

fn read(lane: &mut Lane, file: FileName, offset: u64, length: u64) -> Vec<u8> {
    match lane.run(DiskOperation::Read { file, offset, length }) {
        Ok(DiskAnswer::Bytes(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

fn list(lane: &mut Lane) -> Vec<(FileName, u64)> {
    match lane.run(DiskOperation::List) {
        Ok(DiskAnswer::Files(files)) => files,
        other => panic!("{other:?}"),
    }
}

fn done(lane: &mut Lane, operation: DiskOperation) {
    assert_eq!(lane.run(operation), Ok(DiskAnswer::Done));
}

fn failed(lane: &mut Lane, operation: DiskOperation) -> String {
    match lane.run(operation) {
        Err(DiskError::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_written_is_read_again() {
    let (directory, mut lane) = lane("again");
    done(&mut lane, DiskOperation::Prepare { file: REDO, size: 3 << 20 });
    assert_eq!(read(&mut lane, REDO, 0, u64::MAX), vec![0; 3 << 20]);
    for (offset, byte, sync) in [(4_096, 1, false), (4_101, 2, true), (8_192, 3, false)] {
        done(&mut lane, write(REDO, offset, byte, sync));
    }
    assert_eq!(read(&mut lane, REDO, 4_095, 17), [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0]);
    assert_eq!(read(&mut lane, REDO, 8_191, 3), [0, 3, 3]);
    done(&mut lane, DiskOperation::Sync { file: REDO });
    assert_eq!(lane.unsynced.len(), 0);
    // A write behind the end makes the file longer; a read there gets what there is.
    done(&mut lane, write(REDO, 3 << 20, 4, true));
    assert_eq!(read(&mut lane, REDO, (3 << 20) + 5, 100), [4; 5]);
    assert_eq!(read(&mut lane, REDO, u64::MAX, 1), []);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn files_are_replaced_renamed_listed_and_removed() {
    let (directory, mut lane) = lane("names");
    assert_eq!(list(&mut lane), []);
    done(&mut lane, replace(FileName::Claim, 1, 7));
    done(&mut lane, replace(FileName::Claim, 2, 5));
    assert_eq!(read(&mut lane, FileName::Claim, 0, 100), [2; 5]);
    done(&mut lane, DiskOperation::Prepare { file: FileName::RedoSpare(4), size: 100 });
    done(&mut lane, replace(REDO, 3, 10));
    assert_eq!(list(&mut lane), [(REDO, 10), (FileName::RedoSpare(4), 100), (FileName::Claim, 5)]);
    done(&mut lane, write(FileName::RedoSpare(4), 0, 9, false));
    done(&mut lane, DiskOperation::Rename { from: FileName::RedoSpare(4), to: REDO });
    assert_eq!(read(&mut lane, REDO, 0, 11), [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0]);
    done(&mut lane, DiskOperation::Sync { file: REDO });
    std::fs::write(directory.join("redo/1.redo.new"), "half").unwrap();
    std::fs::write(directory.join("trace.log"), "a trace").unwrap();
    assert_eq!(list(&mut lane), [(REDO, 100), (FileName::Claim, 5)], "others are not told");
    done(&mut lane, DiskOperation::Remove { file: REDO });
    assert_eq!(list(&mut lane), [(FileName::Claim, 5)]);
    let mode = |path: &str| std::fs::metadata(directory.join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("claim"), mode("redo")), (0o600, 0o700));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn files_that_another_lane_renames_do_not_disturb_a_list() {
    let (directory, mut lane) = lane("renamed");
    let names = (0..500).map(FileName::RedoSpare);
    names.for_each(|file| done(&mut lane, DiskOperation::Prepare { file, size: 1 }));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut other = Lane::new(directory.clone(), false);
            for file in (0..500).map(FileName::RedoSpare) {
                done(&mut other, DiskOperation::Remove { file });
            }
        });
        while !other.is_finished() {
            list(&mut lane);
        }
    });
    assert_eq!(list(&mut lane), []);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_missing_file_is_absent() {
    let (directory, mut lane) = lane("absent");
    let operations = [
        DiskOperation::Read { file: REDO, offset: 0, length: 1 },
        write(REDO, 0, 1, true),
        DiskOperation::Sync { file: LOG },
        DiskOperation::Rename { from: REDO, to: FileName::Redo(2) },
        DiskOperation::Remove { file: FileName::Piece(3) },
    ];
    for operation in operations {
        assert_eq!(lane.run(operation), Err(DiskError::Absent));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_room_is_told() {
    let (directory, mut lane) = lane("space");
    let Ok(DiskAnswer::Space { free, total }) = lane.run(DiskOperation::Space) else { panic!("no answer") };
    assert!(0 < free && free < total);
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(lane.run(DiskOperation::Space), Err(DiskError::Absent));
}

#[test]
fn a_failed_write_is_not_repeated() {
    let (directory, mut lane) = lane("failed");
    done(&mut lane, replace(REDO, 1, 10));
    // No file can have a byte at this place.
    let first = failed(&mut lane, write(REDO, i64::MAX as u64, 2, true));
    let place = directory.join("redo/1.redo").display().to_string();
    assert!(first.starts_with(&place), "{first}");
    for operation in [write(REDO, 0, 2, true), DiskOperation::Sync { file: REDO }] {
        assert_eq!(failed(&mut lane, operation), format!("an earlier operation failed: {first}"));
    }
    assert_eq!(read(&mut lane, REDO, 0, 100), [1; 10]);
    // Others go on, and a new file in its place is a new beginning.
    done(&mut lane, replace(LOG, 3, 10));
    done(&mut lane, replace(REDO, 4, 10));
    done(&mut lane, write(REDO, 0, 5, true));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_new_file_that_cannot_be_made_leaves_the_old_one() {
    let (directory, mut lane) = lane("in-the-way");
    done(&mut lane, replace(REDO, 1, 10));
    std::fs::create_dir(directory.join("redo/1.redo.new")).unwrap();
    let text = failed(&mut lane, replace(REDO, 2, 10));
    assert!(text.contains("redo/1.redo: "), "{text}");
    assert_eq!(read(&mut lane, REDO, 0, 100), [1; 10]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_read_only_directory_fails_by_name() {
    let (directory, mut lane) = lane("read-only");
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o500)).unwrap();
    // Permissions do not bind a process with all capabilities (root).
    if std::fs::write(directory.join("probe"), "").is_ok() {
        println!("skipped: this user may write into a read-only directory");
    } else {
        for file in [FileName::Claim, REDO] {
            let text = failed(&mut lane, replace(file, 1, 10));
            assert!(text.starts_with(&directory.display().to_string()), "{text}");
        }
        assert!(NodeFolder::open(&directory).is_err());
    }
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A device that is always full stands for a full disk, which only root could make.
#[test]
fn a_full_disk_is_told() {
    let (directory, mut lane) = lane("full");
    std::fs::create_dir(directory.join("redo")).unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.join("redo/1.redo")).unwrap();
    if cfg!(feature = "unsynced-writes-die") {
        done(&mut lane, write(REDO, 0, 1, false));
    } else {
        assert_eq!(lane.run(write(REDO, 0, 1, false)), Err(DiskError::Full));
        assert!(failed(&mut lane, DiskOperation::Sync { file: REDO }).contains("redo/1.redo: "));
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[cfg(feature = "unsynced-writes-die")]
#[test]
fn unsynced_writes_are_in_the_process_only() {
    let (directory, mut lane) = lane("die");
    done(&mut lane, replace(REDO, 0, 20));
    done(&mut lane, write(REDO, 5, 1, false));
    let on_disk = || std::fs::read(directory.join("redo/1.redo")).unwrap();
    assert_eq!(on_disk(), [0; 20]);
    assert_eq!(read(&mut lane, REDO, 4, 3), [0, 1, 1]);
    done(&mut lane, DiskOperation::Sync { file: REDO });
    assert_eq!(on_disk()[4..7], [0, 1, 1]);
    std::fs::remove_dir_all(&directory).unwrap();
}

// ---- the folder, and the control log at a start ---------------------------------------------------------------------

/// Makes a folder with these files.
fn folder_with(name: &str, files: &[(&str, u8)]) -> PathBuf {
    let directory = directory(name);
    for (path, byte) in files {
        let place = directory.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, [*byte; 4_096]).unwrap();
    }
    directory
}

#[test]
fn a_second_process_is_refused() {
    let directory = directory("second");
    let (first, bytes) = NodeFolder::open(&directory).unwrap();
    assert!(bytes.is_empty());
    let error = NodeFolder::open(&directory).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    assert_eq!(error.to_string(), format!("another process uses {}", directory.display()));
    drop(first);
    assert!(NodeFolder::open(&directory).is_ok());
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Some file systems cannot: they say so, and there is nothing to test.
#[test]
fn rows_go_past_the_memory_of_the_machine_where_that_is_wanted() {
    let directory = directory("direct");
    let (folder, _) = NodeFolder::open(&directory).unwrap();
    let folder = match folder.with_direct_writes() {
        Ok(folder) => folder,
        Err(error) => {
            let start = format!("the file system of {} refuses ODirect: ", directory.display());
            assert!(error.to_string().starts_with(&start), "{error}");
            return;
        }
    };
    let mut lane = Lane::new(folder.path.clone(), folder.is_direct);
    done(&mut lane, DiskOperation::Prepare { file: REDO, size: 8 << 20 });
    // From any address, longer than what is copied at once, and at a page that is not the first.
    let bytes: Vec<u8> = (0..(2 << 20) + 4_096_u32).map(|at| (at % 251) as u8).collect();
    let wide = DiskOperation::Write { file: REDO, offset: 4_096, bytes: bytes.clone(), sync: true };
    done(&mut lane, wide);
    assert!(lane.opened(REDO).unwrap().is_direct);
    assert!(read(&mut lane, REDO, 4_096, bytes.len() as u64) == bytes);
    // Small files are not written in pages.
    done(&mut lane, replace(LOG, 1, 10));
    done(&mut lane, write(LOG, 5, 2, true));
    assert_eq!(read(&mut lane, LOG, 0, u64::MAX).len(), 15);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn files_that_were_not_finished_do_not_count() {
    let directory =
        folder_with("unfinished", &[("control.log", 1), ("control.log.new", 2), ("redo/3.redo.new", 3)]);
    std::fs::write(directory.join("notes.new"), "not ours").unwrap();
    let (_, bytes) = NodeFolder::open(&directory).unwrap();
    assert_eq!(bytes, [1; 4_096]);
    let is_there = |path: &str| directory.join(path).exists();
    assert!(!is_there("control.log.new") && !is_there("redo/3.redo.new") && is_there("notes.new"));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_control_log_that_is_found_is_written_anew_and_stays_the_same() {
    let directory = folder_with("anew", &[("control.log", 1)]);
    let path = directory.join("control.log");
    let mut expected = std::fs::read(&path).unwrap();
    for round in 2..5 {
        let found = std::fs::metadata(&path).unwrap();
        let (folder, bytes) = NodeFolder::open(&directory).unwrap();
        assert!(bytes == expected, "round {round}");
        assert!(std::fs::read(&path).unwrap() == expected, "round {round}");
        let anew = std::fs::metadata(&path).unwrap();
        assert_ne!(anew.ino(), found.ino(), "what was found may not be on disk");
        assert_eq!(anew.mode() & 0o777, 0o600);
        // From now on writes go into the file that the next life finds.
        let offset = u64::from(round) * 4_096;
        done(&mut Lane::new(directory.clone(), false), write(LOG, offset, round, true));
        let start = usize::from(round) * 4_096;
        expected.resize(start, 0);
        expected.extend([round; 10]);
        drop(folder);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_control_log_that_cannot_be_written_anew_is_not_used_and_not_lost() {
    let directory = folder_with("obstacle", &[("control.log", 1)]);
    let obstacle = directory.join("control.log.new");
    std::fs::create_dir(&obstacle).unwrap();
    let error = NodeFolder::open(&directory).unwrap_err().to_string();
    let start = format!("{} cannot be written anew: ", directory.join("control.log").display());
    assert!(error.starts_with(&start), "{error}");
    std::fs::remove_dir(&obstacle).unwrap();
    assert_eq!(NodeFolder::open(&directory).unwrap().1, [1; 4_096]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_folder_that_is_thrown_away_is_empty() {
    let files = [("control.log", 1), ("redo/1.redo", 1), ("lcp/1.piece", 1), ("claim", 1), ("trace.log", 1)];
    let directory = folder_with("thrown-away", &files);
    File::create(directory.join("control.log")).unwrap().set_len(CONTROL_LOG_MAX + 1).unwrap();
    let error = NodeFolder::open(&directory).unwrap_err().to_string();
    assert_eq!(error, format!("{} is too long", directory.join("control.log").display()));
    drop(NodeFolder::open_anew(&directory).unwrap());
    assert_eq!(list(&mut Lane::new(directory.clone(), false)), []);
    assert!(directory.join("trace.log").exists(), "not a module's");
    assert!(NodeFolder::open(&directory).unwrap().1.is_empty());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn scratch_is_written_without_a_sync_and_gone_at_the_next_start() {
    let (directory, mut lane) = lane("scratch");
    let file = FileName::Scratch(513);
    assert_eq!(lane.run(write(file, 0, 1, false)), Err(DiskError::Absent));
    for byte in [1, 2] {
        done(&mut lane, DiskOperation::Create { file });
        assert_eq!(read(&mut lane, file, 0, 100), []);
        done(&mut lane, write(file, 4_096, byte, false));
        assert_eq!(read(&mut lane, file, 4_090, 100), [&[0; 6][..], &[byte; 10]].concat());
    }
    let mode = std::fs::metadata(directory.join("scratch/513.rows")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    done(&mut lane, DiskOperation::Remove { file });
    assert_eq!((list(&mut lane), lane.unsynced.len()), (vec![], 0));
    done(&mut lane, DiskOperation::Create { file });
    drop(NodeFolder::open(&directory).unwrap());
    assert_eq!(list(&mut lane), []);
    std::fs::remove_dir_all(&directory).unwrap();
}
