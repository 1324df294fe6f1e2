use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_token_is_made_once_and_only_its_owner_can_read_it() {
    let folder = std::env::temp_dir().join(format!("latsdb-token-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let first = open(&folder, 7).unwrap();
    let path = folder.canonicalize().unwrap().join("latsdb_7_management.token");
    assert_eq!(first.file, path.display().to_string());
    assert!(is_name(&path));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(open(&folder, 7).unwrap(), first);
    // A file that others could read is a secret no more.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let second = open(&folder, 7).unwrap();
    assert_ne!(second.token, first.token);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    fs::write(&path, "half a tok").unwrap();
    assert_ne!(open(&folder, 7).unwrap().token, second.token);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn other_files_are_no_token_files() {
    for path in [
        "/root/.ssh/id_rsa",
        "latsdb_1_management.token",
        "/x/management.token",
        "/x/latsdb_1_management.token/y",
        "",
    ] {
        assert!(!is_name(Path::new(path)), "{path}");
    }
}
