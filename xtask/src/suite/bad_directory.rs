//! The step `bad-directory`: data directories that are not what a node expects. Each is refused in one line that names
//! it, and nothing in it is changed; what can be made good comes back with all rows.

use super::Passed;
use crate::cluster::{Cluster, Shape, sql, test_binary};
use crate::processes::{Failure, Server, Workspace, output_of, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const NAME: &str = "bad-directory";
/// Until a cluster that cannot start has said so.
const LIMIT: Duration = Duration::from_secs(60);
/// A redo file says its format there (docs/formats/redo.md).
const FORMAT_AT: usize = 12;

/// A way to spoil the directories of a cluster that does not run.
struct Case {
    what: &'static str,
    spoil: fn(&Path) -> Result<Spoiled, Failure>,
    /// Part of a line of the terminal.
    says: &'static str,
}

/// Something that has to be undone, beside the files.
enum Spoiled {
    Files,
    /// A process that uses a directory.
    InUse(Server),
    /// A directory that was mounted upon itself.
    Mounted(PathBuf),
    /// This machine does not permit it.
    NotPermitted,
}

const CASES: &[Case] = &[
    Case {
        what: "two directories were exchanged",
        spoil: exchange,
        says: "control.log on this disk belongs to node",
    },
    Case { what: "rows of another node", spoil: exchange_rows, says: "belongs to node" },
    Case {
        what: "another cluster's",
        spoil: rename_cluster,
        says: "control.log on this disk belongs to the cluster 'test'",
    },
    Case {
        what: "of a newer version",
        spoil: newer_format,
        says: "has format 2, and this program reads format 1",
    },
    Case { what: "used by another process", spoil: use_it, says: "another process uses" },
    Case { what: "read-only", spoil: make_read_only, says: "Read-only file system" },
    Case { what: "a file", spoil: put_file, says: "node2: File exists" },
];

pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    let binary = test_binary(workspace);
    let shape = Shape { settings: &["FragmentLogFileSize=4M"], ..Shape::default() };
    let cluster = Cluster::start(workspace, &binary, NAME, &shape)?;
    sql(cluster.mysql_ports[0], "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY)")?;
    sql(cluster.mysql_ports[0], "INSERT INTO shop.item VALUES (1), (2), (3)")?;
    let directory = cluster.directory().to_owned();
    cluster.stop()?;
    let kept = workspace.scratch("bad-directory-kept")?;
    copy(&directory, &kept)?;
    for case in CASES {
        let spoiled = (case.spoil)(&directory)?;
        let refused = is_refused(&binary, &directory, case, &spoiled);
        undo(spoiled)?;
        refused?;
        fs::remove_dir_all(&directory).map_err(Failure::while_doing(directory.display()))?;
        copy(&kept, &directory)?;
    }
    // A log and checkpoints that are gone are no reason to lose rows: the other node has them.
    for lost in ["node2/redo", "node3/lcp"] {
        let lost = directory.join(lost);
        if lost.exists() {
            fs::remove_dir_all(&lost).map_err(Failure::while_doing(lost.display()))?;
        }
        let cluster = Cluster::start_again(workspace, &binary, NAME, &shape)?;
        cluster.in_sync(LIMIT)?;
        for port in &cluster.mysql_ports {
            let rows = sql(*port, "SELECT COUNT(*) FROM shop.item")?;
            if rows.trim() != "3" {
                return Err(Failure::new(format!("without {}: {rows} rows", lost.display())));
            }
        }
        cluster.verify()?;
        cluster.stop()?;
    }
    Ok(Passed::Done)
}

/// The cluster does not start, says why, and has changed nothing.
fn is_refused(binary: &Path, directory: &Path, case: &Case, spoiled: &Spoiled) -> Result<(), Failure> {
    if matches!(spoiled, Spoiled::NotPermitted) {
        println!("   {}: skipped: this machine does not permit it", case.what);
        return Ok(());
    }
    let before = rows_on_disk(directory)?;
    let mut dev = Command::new(binary);
    dev.arg("dev").arg("--dir").arg(directory).arg("--config").arg(directory.join("cluster.ini"));
    let (status, said) = output_of(&mut dev, LIMIT)?;
    if status.success() || !said.contains(case.says) {
        let (what, says) = (case.what, case.says);
        return Err(Failure::new(format!("{what}: {says:?} is not said, {status}:\n{said}")));
    }
    if rows_on_disk(directory)? != before {
        return Err(Failure::new(format!("{}: files were changed", case.what)));
    }
    println!(
        "   {}: {}",
        case.what,
        said.lines().find(|line| line.contains(case.says)).unwrap_or_default().trim()
    );
    Ok(())
}

/// The contents of all files that have rows.
fn rows_on_disk(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Failure> {
    let mut files = BTreeMap::new();
    for node in ["node2", "node3"] {
        for folder in ["redo", "lcp"] {
            let folder = directory.join(node).join(folder);
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.map_err(Failure::while_doing(folder.display()))?.path();
                let bytes = fs::read(&path).map_err(Failure::while_doing(path.display()))?;
                files.insert(path, bytes);
            }
        }
    }
    Ok(files)
}

fn exchange(directory: &Path) -> Result<Spoiled, Failure> {
    let (first, second, aside) = (directory.join("node2"), directory.join("node3"), directory.join("aside"));
    let renamed = fs::rename(&first, &aside)
        .and_then(|()| fs::rename(&second, &first))
        .and_then(|()| fs::rename(&aside, &second));
    renamed.map_err(Failure::while_doing(first.display()))?;
    Ok(Spoiled::Files)
}

/// The nodes keep their control logs.
fn exchange_rows(directory: &Path) -> Result<Spoiled, Failure> {
    let (first, second, aside) =
        (directory.join("node2/redo"), directory.join("node3/redo"), directory.join("aside"));
    let renamed = fs::rename(&first, &aside)
        .and_then(|()| fs::rename(&second, &first))
        .and_then(|()| fs::rename(&aside, &second));
    renamed.map_err(Failure::while_doing(first.display()))?;
    Ok(Spoiled::Files)
}

fn rename_cluster(directory: &Path) -> Result<Spoiled, Failure> {
    let config = directory.join("cluster.ini");
    let text = fs::read_to_string(&config).map_err(Failure::while_doing(config.display()))?;
    fs::write(&config, text.replace("Name=test", "Name=other"))
        .map_err(Failure::while_doing(config.display()))?;
    Ok(Spoiled::Files)
}

fn newer_format(directory: &Path) -> Result<Spoiled, Failure> {
    let folder = directory.join("node2/redo");
    for entry in fs::read_dir(&folder).map_err(Failure::while_doing(folder.display()))? {
        let path = entry.map_err(Failure::while_doing(folder.display()))?.path();
        let mut bytes = fs::read(&path).map_err(Failure::while_doing(path.display()))?;
        let Some(length) = bytes.get(8..12).and_then(|length| length.first_chunk()) else { continue };
        let end = FORMAT_AT + 4 + u32::from_le_bytes(*length) as usize;
        if !bytes.starts_with(b"LRDF") || bytes.len() < end {
            continue;
        }
        bytes[FORMAT_AT] += 1;
        let checksum = crc32c::crc32c(&bytes[8..end]).to_le_bytes();
        bytes[4..8].copy_from_slice(&checksum);
        fs::write(&path, bytes).map_err(Failure::while_doing(path.display()))?;
    }
    Ok(Spoiled::Files)
}

fn use_it(directory: &Path) -> Result<Spoiled, Failure> {
    let mut holder = Command::new("flock");
    holder.arg(directory.join("node2/control.lock")).args(["--command", "echo held; sleep 60"]);
    let mut holder = Server::start(&mut holder, "flock", &directory.join("flock.log"))?;
    holder.wait_until(LIMIT, |log| log.contains("held"))?;
    Ok(Spoiled::InUse(holder))
}

fn make_read_only(directory: &Path) -> Result<Spoiled, Failure> {
    let place = directory.join("node2");
    let mount = |options: &[&str]| {
        let mut command = Command::new("mount");
        command.args(options).arg(&place);
        output_of(&mut command, LIMIT).is_ok_and(|(status, _)| status.success())
    };
    let itself = place.display().to_string();
    if !mount(&["--bind", &itself]) {
        return Ok(Spoiled::NotPermitted);
    }
    if mount(&["-o", "remount,ro,bind"]) {
        Ok(Spoiled::Mounted(place))
    } else {
        undo(Spoiled::Mounted(place))?;
        Ok(Spoiled::NotPermitted)
    }
}

fn put_file(directory: &Path) -> Result<Spoiled, Failure> {
    let place = directory.join("node2");
    let put = fs::remove_dir_all(&place).and_then(|()| fs::write(&place, "not a directory"));
    put.map_err(Failure::while_doing(place.display()))?;
    Ok(Spoiled::Files)
}

fn undo(spoiled: Spoiled) -> Result<(), Failure> {
    match spoiled {
        Spoiled::Files | Spoiled::NotPermitted => Ok(()),
        Spoiled::InUse(mut holder) => holder.stop().map(drop),
        Spoiled::Mounted(place) => run(Command::new("umount").arg(&place), LIMIT),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut command = Command::new("cp");
    command.args(["--archive", "--sparse=always", "--no-target-directory"]).arg(from).arg(to);
    run(&mut command, LIMIT)
}
