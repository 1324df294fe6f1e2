//! The tables of the workloads that join: parents, and ten children of each, found by an index.

use super::run_script;
use crate::processes::Failure;
use std::fmt::Write as _;
use std::time::Duration;

/// The script in `tests/sysbench`, which knows both numbers below.
pub(super) const SCRIPT: &str = "joins";
const PARENTS: u32 = 10_000;
const CHILDREN: u32 = 10;
/// Parents whose rows and children are inserted by two statements.
const BATCH: u32 = 500;
const LIMIT: Duration = Duration::from_secs(120);

/// Makes them at a server.
pub(super) fn fill(port: u16) -> Result<(), Failure> {
    let mut text = "CREATE DATABASE joined; USE joined;
        CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL);
        CREATE TABLE child (id INT PRIMARY KEY, parent INT NOT NULL, note VARCHAR(60) NOT NULL, KEY (parent));\n"
        .to_owned();
    let list = |values: Vec<String>| values.join(",");
    for first in (1..=PARENTS).step_by(BATCH as usize) {
        let parents = first..first + BATCH;
        let rows = parents.clone().map(|id| format!("({id},'the parent with number {id}')")).collect();
        // Writing into a String can't fail.
        let _ = writeln!(text, "INSERT INTO parent VALUES {};", list(rows));
        let child = |number: u32| {
            let id = number + 1;
            // Children of one parent lie far from each other.
            format!("({id},{},'the child with number {id}')", 1 + number % PARENTS)
        };
        let children = (first - 1) * CHILDREN..(first - 1 + BATCH) * CHILDREN;
        let _ = writeln!(text, "INSERT INTO child VALUES {};", list(children.map(child).collect()));
    }
    text.push_str("ANALYZE TABLE parent, child;\n");
    run_script(port, &text, LIMIT)
}
