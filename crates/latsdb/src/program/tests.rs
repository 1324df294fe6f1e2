use super::*;
use std::os::unix::fs::symlink;

#[test]
fn a_link_that_was_typed_is_kept() {
    let folder = std::env::temp_dir().join(format!("latsdb-program-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("v1")).unwrap();
    let folder = folder.canonicalize().unwrap();
    let file = folder.join("v1/latsdb");
    std::fs::write(&file, "").unwrap();
    let link = folder.join("current");
    let _ = std::fs::remove_file(&link);
    symlink("v1", &link).unwrap();
    let typed = |text: &str, folders: &[PathBuf]| typed_path(Path::new(text), &folder, folders, &file);
    assert_eq!(typed("current/latsdb", &[]), Some(folder.join("current/latsdb")));
    assert_eq!(typed("./current/latsdb", &[]), Some(folder.join("./current/latsdb")));
    assert_eq!(
        typed("latsdb", &[folder.join("nothing"), folder.join("current")]),
        Some(folder.join("current/latsdb"))
    );
    // Another file, or none: the system knows better.
    std::fs::write(folder.join("latsdb"), "").unwrap();
    assert_eq!(typed("./latsdb", &[]), None);
    assert_eq!(typed("latsdb", std::slice::from_ref(&folder)), None);
    assert_eq!(typed("", &[]), None);
    std::fs::remove_dir_all(&folder).unwrap();
}
