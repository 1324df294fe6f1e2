//! Which crate may depend on which: the table that ARCHITECTURE.md speaks of.
//!
//! An entry is a permission, not a need. A new edge is architecture: it is added here, in a commit that says why; a new
//! crate is told of in ARCHITECTURE.md.

/// All that a node is composed of.
const ALL_BLOCKS: &[&str] = &[
    "stdx",
    "types",
    "expression",
    "wire_derive",
    "protocol",
    "memory",
    "storage",
    "query",
    "catalogue",
    "membership",
    "durability",
    "transaction",
    "mysql_protocol",
    "planner",
    "executor",
    "sql",
];

/// The crate that tests begin with. Any crate may have it among its `[dev-dependencies]`.
/// Among the others only the simulator may have it, which is a test itself.
pub(super) const TESTS_ONLY: &str = "fixtures";

/// A crate and the crates of the project that it may depend on.
pub(super) const TABLE: &[(&str, &[&str])] = &[
    ("stdx", &[]),
    ("wire_derive", &[]),
    ("types", &["stdx", "wire_derive"]),
    ("expression", &["stdx", "types", "wire_derive"]),
    ("protocol", &["stdx", "types", "expression", "wire_derive"]),
    ("memory", &["stdx"]),
    ("storage", &["stdx", "types", "memory"]),
    ("durability", &["stdx", "types", "wire_derive", "protocol", "memory", "storage"]),
    ("query", &["stdx", "types", "expression", "protocol", "memory", "storage", "durability"]),
    ("catalogue", &["stdx", "types", "expression", "wire_derive", "protocol", "memory"]),
    ("membership", &["stdx", "types", "wire_derive", "protocol"]),
    ("transaction", &["stdx", "types", "protocol", "memory", "storage", "query", "catalogue", "durability"]),
    ("mysql_protocol", &["stdx"]),
    ("planner", &["stdx", "types", "expression", "protocol", "catalogue"]),
    (
        "executor",
        &["stdx", "types", "expression", "protocol", "memory", "storage", "query", "catalogue", "planner"],
    ),
    (
        "sql",
        &[
            "stdx",
            "types",
            "expression",
            "protocol",
            "memory",
            "storage",
            "query",
            "catalogue",
            "mysql_protocol",
            "planner",
            "executor",
        ],
    ),
    ("node", ALL_BLOCKS),
    ("runtime", &["stdx", "types", "protocol", "memory"]),
    (
        "simulator",
        &[
            "stdx",
            "types",
            "expression",
            "wire_derive",
            "protocol",
            "memory",
            "storage",
            "query",
            "catalogue",
            "membership",
            "durability",
            "transaction",
            "mysql_protocol",
            "planner",
            "executor",
            "sql",
            "node",
            "fixtures",
        ],
    ),
    (TESTS_ONLY, &["types", "protocol"]),
    ("bench", &["stdx", "types", "protocol", "memory", "storage", "mysql_protocol", "runtime"]),
    ("latsdb", &["stdx", "types", "protocol", "memory", "runtime", "node", "bench"]),
    ("xtask", &[]),
];

/// The crates of the project that a manifest names as dependencies of any kind, with the line of each.
/// A dev-dependency on [`TESTS_ONLY`] is left out.
///
/// A manifest of the project writes each dependency on a line of its own, below a heading that ends in `dependencies]`.
pub(super) fn edges(manifest: &str) -> Vec<(usize, String)> {
    let mut edges = Vec::new();
    let (mut is_dependencies, mut is_for_tests) = (false, false);
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            is_dependencies = line.ends_with("dependencies]");
            is_for_tests = line == "[dev-dependencies]";
            continue;
        }
        if !is_dependencies || line.starts_with('#') {
            continue;
        }
        let name: String =
            line.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect();
        if is_for_tests && name == TESTS_ONLY {
            continue;
        }
        if TABLE.iter().any(|(known, _)| *known == name) {
            edges.push((index + 1, name));
        }
    }
    edges
}
