use super::*;

const NAMES: [(FileName, &str); 9] = [
    (FileName::ControlLog, "control.log"),
    (FileName::Redo(0), "redo/0.redo"),
    (FileName::Redo(u64::MAX), "redo/18446744073709551615.redo"),
    (FileName::RedoSpare(7), "redo/7.spare"),
    (FileName::Manifest(SlotId(0)), "lcp/0.manifest"),
    (FileName::Manifest(SlotId(u32::MAX)), "lcp/4294967295.manifest"),
    (FileName::Piece(12), "lcp/12.piece"),
    (FileName::Claim, "claim"),
    (FileName::Scratch(513), "scratch/513.rows"),
];

#[test]
fn each_name_has_one_path() {
    for (name, path) in NAMES {
        assert_eq!(name.to_string(), path);
        assert_eq!(FileName::parse(path), Some(name));
        let folder = path.split_once('/').map(|(folder, _)| folder);
        assert!(folder.is_none_or(|folder| FileName::FOLDERS.contains(&folder)));
    }
}

#[test]
fn other_paths_are_no_files_of_ours() {
    let strange = [
        "",
        "redo",
        "redo/.redo",
        "redo/01.redo",
        "redo/+1.redo",
        "redo/-1.redo",
        "redo/1.redo.new",
        "redo/18446744073709551616.redo",
        "lcp/4294967296.manifest",
        "lcp/1.redo",
        "scratch/4294967296.rows",
        "lcp/../claim",
        "control.log.new",
        "Claim",
    ];
    for path in strange {
        assert_eq!(FileName::parse(path), None, "{path}");
    }
}

#[test]
fn lanes_are_in_their_places() {
    for (index, lane) in DiskLane::ALL.into_iter().enumerate() {
        assert_eq!(lane as usize, index);
    }
}
