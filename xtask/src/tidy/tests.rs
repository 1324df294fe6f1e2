//! Each rule finds what it is there to find, and the table itself runs downwards.

use super::{dependencies, documents, fields, remarks_on};

/// The remarks on a file, a line each.
fn remarks(path: &str, text: &str) -> Vec<String> {
    remarks_on(path, text).into_iter().map(|remark| format!("{}: {}", remark.line, remark.text)).collect()
}

const MANIFEST: &str =
    "[package]\nname = \"x\"\n\n[dependencies]\nstdx.workspace = true\n\n[lints]\nworkspace = true\n";

#[test]
fn good_files_pass() {
    assert!(remarks("crates/stdx/src/ring.rs", "//! A ring.\n").is_empty());
    assert!(remarks("crates/memory/Cargo.toml", MANIFEST).is_empty());
    assert!(remarks("docs/glossary.md", "words\n").is_empty());
}

#[test]
fn names_say_what_is_inside() {
    assert_eq!(remarks("crates/stdx/src/ring/mod.rs", "//! x\n").len(), 1);
    assert_eq!(remarks("crates/stdx/src/util.rs", "//! x\n").len(), 1);
    assert_eq!(remarks("crates/sql/src/helpers/name.rs", "//! x\n").len(), 1);
}

#[test]
fn code_is_finished_and_headed() {
    assert_eq!(remarks("crates/stdx/src/a.rs", "fn a() {}\n").len(), 1);
    let unfinished = format!("//! x\nfn a() {{ todo{}) }}\n", "!(");
    assert_eq!(
        remarks("crates/stdx/src/a.rs", &unfinished),
        [format!("2: \"todo{}\": unfinished code", "!(")]
    );
    assert_eq!(remarks("crates/stdx/src/a.rs", &format!("//! x\n{}", "\n".repeat(1_500))).len(), 1);
}

#[test]
fn tests_run_and_do_not_sleep() {
    let sleeping = format!("//! x\nthread::{}(a);\n", "sleep");
    assert_eq!(remarks("crates/runtime/src/worker.rs", &sleeping).len(), 0);
    assert_eq!(remarks("crates/runtime/src/worker/tests.rs", &sleeping).len(), 1);
    let ignored = format!("//! x\n#[ign{}]\n", "ore");
    assert_eq!(remarks("crates/runtime/src/worker.rs", &ignored).len(), 1);
}

#[test]
fn machine_paths_stay_outside() {
    assert_eq!(remarks("docs/a.md", &format!("see /wo{}x\n", "rk/")).len(), 1);
}

#[test]
fn links_in_documents_lead_to_files() {
    let known = ["README.md", "docs/a.md", "docs/formats/wire.md"].into();
    let text = "[a](a.md) [b](formats/wire.md#x) [c](../README.md) [d](formats/) [e](#here) [f](https://b.org/c)\n\n[g](b.md)\n";
    let found = documents::remarks_on("docs/glossary.md", text, &known);
    assert_eq!(found.iter().map(|remark| remark.line).collect::<Vec<_>>(), [3], "{found:?}");
}

#[test]
fn paths_in_documents_are_those_of_files() {
    let known = ["crates/a/src/b/c.rs", "xtask/src/d.rs"].into();
    let text = "`b/c.rs` `xtask/src/d.rs` `foo.rs` b/x.rs\n`a/c.rs`\n`e/{c,d}.rs` `src/b/c.rs`\n`/c.rs`\n";
    let found = documents::remarks_on("docs/a.md", text, &known);
    assert_eq!(found.iter().map(|remark| remark.line).collect::<Vec<_>>(), [2, 4], "{found:?}");
}

#[test]
fn lines_of_figures_are_objects() {
    let found = documents::remarks_on("docs/a.jsonl", "{\"a\": 1}\n[1]\n{\"a\": }\n", &[""; 0].into());
    assert_eq!(found.iter().map(|remark| remark.line).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn structs_have_twenty_fields_at_most() {
    let text = |name: &str, count: usize| {
        let field = |number: usize| match number % 3 {
            0 => format!("    /// One: two.\n    field_{number}: BTreeMap<\n        u8, std::u8>,\n"),
            1 => format!("    pub field_{number}: [u8; 2],\n"),
            _ => format!("    pub(in crate::a) field_{number}: u8,\n"),
        };
        let fields: String = (0..count).map(field).collect();
        format!("//! x\n\npub(crate) struct {name}<'a> {{\n{fields}}}\n\nstruct After {{\n    a: u8,\n}}\n")
    };
    let found = |path: &str, text: String| {
        let remarks = fields::of_file(path, &text);
        remarks.iter().map(|remark| (remark.line, remark.text.clone())).collect::<Vec<_>>()
    };
    let any = "crates/a/src/b.rs";
    assert_eq!(found(any, text("Narrow", 20)), []);
    assert_eq!(found(any, text("World", 21)), [(3, "World has 21 fields; at most 20".to_owned())]);
    let exception = "crates/simulator/src/world.rs";
    assert_eq!(found(exception, text("World", 21)), []);
    assert_eq!(found(exception, text("World", 22)), [(3, "World has 22 fields; at most 21".to_owned())]);
    let lower = "World has 20 fields: lower its number in tidy/fields.rs, or take it out";
    assert_eq!(found(exception, text("World", 20)), [(3, lower.to_owned())]);
}

#[test]
fn edges_outside_of_the_table_are_found() {
    let upwards = MANIFEST.replace("stdx", "node");
    assert_eq!(remarks("crates/storage/Cargo.toml", &upwards), ["5: storage may not depend on node"]);
    assert_eq!(remarks("crates/unknown/Cargo.toml", MANIFEST).len(), 1);
    assert_eq!(remarks("crates/memory/Cargo.toml", &MANIFEST.replace("[lints]", "[lint]")).len(), 1);
}

#[test]
fn what_tests_are_made_of_is_for_tests_only() {
    let ordinary = MANIFEST.replace("stdx", "fixtures");
    assert_eq!(remarks("crates/storage/Cargo.toml", &ordinary), ["5: storage may not depend on fixtures"]);
    let of_tests = ordinary.replace("[dependencies]", "[dev-dependencies]");
    assert_eq!(remarks("crates/storage/Cargo.toml", &of_tests), Vec::<String>::new());
    assert_eq!(remarks("crates/simulator/Cargo.toml", &ordinary), Vec::<String>::new());
}

/// No crate may, through others, come back to itself.
#[test]
fn the_table_has_no_cycle() {
    let mut placed: Vec<&str> = Vec::new();
    while placed.len() < dependencies::TABLE.len() {
        let before = placed.len();
        for (name, allowed) in dependencies::TABLE {
            if !placed.contains(name) && allowed.iter().all(|below| placed.contains(below)) {
                placed.push(name);
            }
        }
        assert!(placed.len() > before, "a cycle above {placed:?}");
    }
}
