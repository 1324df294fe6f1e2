use super::*;

fn remarks_on(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<(String, String)> =
        files.iter().map(|(name, text)| (format!("crates/x/src/{name}"), (*text).to_owned())).collect();
    remarks(&files).into_iter().map(|remark| remark.text.replace("crates/x/src/", "")).collect()
}

#[test]
fn a_circle_between_folders_is_remarked() {
    let files = [
        ("lib.rs", "mod left;\nmod right;\npub use right::part::Part;"),
        ("left.rs", "mod part;\nuse crate::Part;"),
        ("left/part.rs", ""),
        ("right.rs", "pub mod part;"),
        ("right/part.rs", "use std::fmt;\nfn f() { crate::left::g() }"),
    ];
    assert_eq!(remarks_on(&files), ["2 files import each other in a circle: left.rs, right/part.rs"]);
}

#[test]
fn a_part_and_the_file_it_is_a_part_of_are_no_circle() {
    let files = [
        ("whole.rs", "mod part;\nuse part::{self, Part as Other};"),
        ("whole/part.rs", "use super::Whole;\nuse super::super::whole::Also;"),
    ];
    assert!(remarks_on(&files).is_empty());
}

#[test]
fn six_files_of_a_folder_are_too_many_for_a_circle() {
    let ring = |count: usize| -> Vec<(String, String)> {
        let file = |at: usize| {
            (format!("crates/x/src/f{at}.rs"), format!("use crate::{{f{0}::T{0}}};", (at + 1) % count))
        };
        (0..count).map(file).collect()
    };
    assert!(remarks(&ring(FILE_COUNT_MAX)).is_empty());
    assert_eq!(remarks(&ring(FILE_COUNT_MAX + 1)).len(), 1);
}

#[test]
fn comments_tests_and_names_handed_on_make_no_circle() {
    let files = [
        ("left.rs", "pub use crate::right::other::Name;\n// crate::right::other::f()"),
        ("left/other.rs", ""),
        ("left/tests.rs", "use crate::right::other::Name;"),
        ("right.rs", ""),
        ("right/other.rs", "use crate::left::f;"),
    ];
    assert!(remarks_on(&files).is_empty());
}
