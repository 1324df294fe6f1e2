//! A dump by mariadb-dump makes the same tables with the same rows.
//!
//! Step `dump` of the tests dumps and restores a small database within LatsDB. `cargo xtask suites --only dumps` takes
//! `tests/dumps/schema.sql`, which has every kind of column, from MariaDB into LatsDB and back: by dumps with default
//! options, and by one without locks. Both sides are compared as MariaDB dumps them, so that neither side's way of
//! writing a definition counts. The comparison omits properties that LatsDB does not keep by intent
//! (docs/operating/differences.md).

use super::{CLIENT_LIMIT, Passed, close, or_skip};
use crate::cluster::{Cluster, sql};
use crate::peers::{self, Peer, RedoSync};
use crate::processes::{Failure, Workspace, capture};
use crate::tools::{Missing, Tool};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Differing lines that a failure tells.
const TOLD_LINES: usize = 20;

/// Parts of definitions that LatsDB reads and does not keep.
const NOT_KEPT: [&str; 2] = [" ROW_FORMAT=DYNAMIC", " COMMENT 'a prefix'"];

/// Step `dump`.
pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::MariadbClient.ensure());
    or_skip!(Tool::MariadbDump.ensure());
    let cluster = Cluster::for_test(workspace, "dump")?;
    within(workspace, cluster.mysql_ports[0])?;
    close(cluster)
}

/// Within LatsDB, of whatever bytes.
fn within(workspace: &Workspace, port: u16) -> Result<(), Failure> {
    sql(
        port,
        "CREATE DATABASE shop; CREATE DATABASE copy; USE shop;
         CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) NOT NULL DEFAULT 'x', price DECIMAL(8,2), made DATETIME(3),
           image BLOB, kind ENUM('a','b'), flags BIT(9), share DOUBLE, KEY (name), UNIQUE KEY by_price (price, kind)) COMMENT 'it''s';
         INSERT INTO item VALUES (1, 'lamp', 29.90, '2024-02-29 23:59:59.999', x'00ff27225c0a', 'a', b'101', 1.5),
           (7, 'käse 🧀', NULL, NULL, NULL, 'b', NULL, -1e300);
         CREATE TABLE `odd name` (a VARCHAR(10), b TEXT)",
    )?;
    let file = workspace.target.join("xtask").join("dump.sql");
    dump(port, "shop", &["--no-tablespaces", "--skip-lock-tables", "--skip-add-locks"], &file)?;
    load(port, "copy", &file)?;
    let content = |database: &str| {
        sql(
            port,
            &format!(
                "USE {database}; SHOW TABLES; SHOW CREATE TABLE item; SHOW CREATE TABLE `odd name`;
                 SELECT id, name, price, made, HEX(image), kind, flags + 0, share FROM item ORDER BY id"
            ),
        )
    };
    let (original, copy) = (content("shop")?, content("copy")?);
    if original != copy {
        return Err(Failure::new(format!("the dump of\n{original}\nwas restored as\n{copy}")));
    }
    Ok(())
}

/// From MariaDB into LatsDB and back.
pub(crate) fn there_and_back(workspace: &Workspace, cluster: &Cluster) -> Result<(), Failure> {
    let (port, peer) = (cluster.mysql_ports[0], &peers::mariadb(workspace, "dump", "64M", RedoSync::Second)?);
    let file = |name: &str| workspace.target.join("xtask").join(format!("dump-{name}.sql"));
    // The defaults of databases differ.
    let create = |port, name: &str| {
        sql(
            port,
            &format!("CREATE OR REPLACE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"),
        )
    };
    create(peer.port, "origin")?;
    load(peer.port, "origin", &workspace.root.join("tests/dumps/schema.sql"))?;
    dump(peer.port, "origin", &[], &file("origin"))?;
    sql(port, "CREATE DATABASE origin CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")?;
    load(port, "origin", &file("origin"))?;
    let original = content(peer, "origin", &file("original"))?;
    for (options, name) in [(&[][..], "back"), (&["--skip-lock-tables"], "unlocked")] {
        dump(port, "origin", options, &file(name))?;
        create(peer.port, "back")?;
        load(peer.port, "back", &file(name))?;
        let back = content(peer, "back", &file("compared"))?;
        let lost = original.iter().filter(|line| !back.contains(line)).map(|line| format!("- {line}"));
        let added = back.iter().filter(|line| !original.contains(line)).map(|line| format!("+ {line}"));
        let lines: Vec<String> =
            lost.chain(added).take(TOLD_LINES).map(|line| line.chars().take(200).collect()).collect();
        if original != back {
            return Err(Failure::new(format!(
                "not the same with options {options:?}:\n{}",
                lines.join("\n")
            )));
        }
    }
    Ok(())
}

/// The definitions and rows of a database of MariaDB, as lines in an order of their own: a table without a primary key
/// has none.
fn content(peer: &Peer, database: &str, file: &PathBuf) -> Result<Vec<String>, Failure> {
    dump(peer.port, database, &["--compact", "--skip-extended-insert", "--hex-blob"], file)?;
    let bytes = fs::read(file).map_err(Failure::while_doing(file.display()))?;
    let text = NOT_KEPT
        .iter()
        .fold(String::from_utf8_lossy(&bytes).into_owned(), |text, part| text.replace(part, ""));
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    lines.sort_unstable();
    Ok(lines)
}

fn dump(port: u16, database: &str, options: &[&str], file: &Path) -> Result<(), Failure> {
    let mut dump = Command::new(Tool::MariadbDump.ensure()?);
    dump.args(["--no-defaults", "--host=127.0.0.1", "--user=root", &format!("--port={port}")]).args(options);
    capture(dump.arg(format!("--result-file={}", file.display())).arg(database), CLIENT_LIMIT)?;
    Ok(())
}

/// Stops at the first error, as it does not by itself with `source`.
fn load(port: u16, database: &str, file: &Path) -> Result<(), Failure> {
    let mut client = Command::new(Tool::MariadbClient.ensure()?);
    client.args(["--no-defaults", "--host=127.0.0.1", "--user=root", &format!("--port={port}")]);
    client.args([
        "--abort-source-on-error",
        "--default-character-set=utf8mb4",
        database,
        &format!("--execute=source {}", file.display()),
    ]);
    capture(&mut client, CLIENT_LIMIT)?;
    Ok(())
}
