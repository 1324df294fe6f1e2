//! The step `disks`. The disk of a data node is full, under load and at its start. Files of checkpoints are gone. Rows
//! come back in other memory and on other threads.
//!
//! The full disk is a small file system in memory, mounted on the directory of one node. Where this machine does not
//! permit that, only the rest is tried.

use super::Passed;
use crate::cluster::{Cluster, Shape, sql, test_binary};
use crate::processes::{Failure, Workspace, output_of, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "disks";
/// Until something is said, or a statement is permitted again.
const LIMIT: Duration = Duration::from_secs(60);
/// The log is half as large as the file system, and goes round.
const SETTINGS: &[&str] = &["FragmentLogFileSize=4M", "NoOfFragmentLogFiles=12"];
const FILE_SYSTEM: &str = "size=96m";
/// Rows of 60 KB: every change of all of them takes 6 MB of the log.
const ROWS: u32 = 100;
/// Changes of all rows: several times the log.
const CHANGES: u32 = 40;
const FULL: &str = "its disk is full";
/// Room for a control log, and not for a file of the redo log.
const CONTROL_LOG: u64 = 3 << 20;
/// A node says so when it has written its control log.
const CONTROL_LOG_WRITTEN: &str = "has incarnation";
/// The file that fills the disk of the first data node.
const FILLER: &str = "node2/filler";

/// A change of a file.
type Spoil = fn(&Path) -> std::io::Result<()>;

/// A file system that goes with this.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = output_of(Command::new("umount").arg("--lazy").arg(&self.0), LIMIT);
    }
}

pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    let binary = test_binary(workspace);
    let shape = Shape { settings: SETTINGS, ..Shape::default() };
    let directory = workspace.scratch(&format!("{NAME}-cluster"))?;
    let again = || Cluster::start_again(workspace, &binary, NAME, &shape);
    let mounted = mount(&directory.join("node2"))?;
    let mut cluster = again()?;
    fill(&cluster)?;
    if mounted.is_some() {
        full_under_load(&cluster, &directory)?;
        cluster.kill()?;
        cluster = full_at_the_start(&directory, again)?;
        has_all(&cluster)?;
    } else {
        println!("   a full disk: skipped: this machine does not permit a file system of its own");
    }
    cluster.stop()?;
    lost_files(&directory, again)?;
    other_shapes(&directory, again)?;
    drop(mounted);
    Ok(Passed::Done)
}

/// Mounts a small file system; none if that is not permitted.
fn mount(place: &Path) -> Result<Option<Mounted>, Failure> {
    fs::create_dir_all(place).map_err(Failure::while_doing(place.display()))?;
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", FILE_SYSTEM, "tmpfs"]).arg(place);
    let is_mounted = output_of(&mut mount, LIMIT).is_ok_and(|(status, _)| status.success());
    Ok(is_mounted.then(|| Mounted(place.to_owned())))
}

fn fill(cluster: &Cluster) -> Result<(), Failure> {
    let port = cluster.mysql_ports[0];
    sql(port, "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, pad MEDIUMTEXT)")?;
    for id in 0..ROWS {
        sql(port, &format!("INSERT INTO shop.item VALUES ({id}, REPEAT('a', 60000))"))?;
    }
    // The log goes round: there are checkpoints.
    change(cluster, CHANGES)?;
    has_all(cluster)
}

/// Changes all rows so many times; how often that was refused for want of room.
fn change(cluster: &Cluster, times: u32) -> Result<u32, Failure> {
    let mut refused = 0;
    for time in 0..times {
        let letter = char::from(b'b' + u8::try_from(time % 20).unwrap_or(0));
        let changed =
            sql(cluster.mysql_ports[1], &format!("UPDATE shop.item SET pad = REPEAT('{letter}', 60000)"));
        match changed {
            Ok(_) => {}
            Err(failure) if failure.to_string().contains("1297") => refused += 1,
            Err(failure) => return Err(failure),
        }
    }
    Ok(refused)
}

fn has_all(cluster: &Cluster) -> Result<(), Failure> {
    cluster.in_sync(LIMIT)?;
    for port in &cluster.mysql_ports {
        let rows = sql(*port, "SELECT COUNT(*), SUM(LENGTH(pad)) FROM shop.item")?;
        let expected = format!("{ROWS}\t{}", ROWS * 60_000);
        if rows.trim() != expected {
            return Err(Failure::new(format!("{expected:?} are expected, and {rows:?} are there")));
        }
    }
    cluster.verify()
}

/// Nothing of the disk is left, until the load was refused; then there is room again.
fn full_under_load(cluster: &Cluster, directory: &Path) -> Result<(), Failure> {
    let nodes = cluster.data_node_pids();
    let filler = take_all(directory, 0)?;
    let end = Instant::now() + LIMIT;
    while change(cluster, 5)? == 0 {
        if Instant::now() >= end {
            return Err(Failure::new("writes go on, though a disk is full"));
        }
    }
    says(cluster, FULL)?;
    has_rows(cluster)?;
    fs::remove_file(&filler).map_err(Failure::while_doing(filler.display()))?;
    while change(cluster, 1)? > 0 {
        if Instant::now() >= end {
            return Err(Failure::new("writes are refused, though there is room again"));
        }
    }
    says(cluster, "its disk has room again")?;
    if cluster.data_node_pids() != nodes {
        return Err(Failure::new("a node has ended, because a disk was full"));
    }
    println!("   a full disk: writes were refused with 1297 until there was room; reads went on");
    has_all(cluster)
}

/// Reads are answered at both nodes.
fn has_rows(cluster: &Cluster) -> Result<(), Failure> {
    cluster.mysql_ports.iter().try_for_each(|port| sql(*port, "SELECT COUNT(*) FROM shop.item").map(drop))
}

/// A file takes all that is free, but so much.
fn take_all(directory: &Path, left: u64) -> Result<PathBuf, Failure> {
    let filler = directory.join(FILLER);
    take_what_is_free(&filler)?;
    let shortened = fs::OpenOptions::new().write(true).open(&filler).and_then(|file| {
        let size = file.metadata()?.len();
        file.set_len(size.saturating_sub(left))
    });
    shortened.map_err(Failure::while_doing(filler.display()))?;
    Ok(filler)
}

fn says(cluster: &Cluster, what: &str) -> Result<(), Failure> {
    let end = Instant::now() + LIMIT;
    while !cluster.node_log(2)?.contains(what) {
        if Instant::now() >= end {
            return Err(Failure::new(format!("node 2 does not say {what:?}")));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// The file grows until there is no room.
fn take_what_is_free(filler: &Path) -> Result<(), Failure> {
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "bs=64K", "status=none", "oflag=append", "conv=notrunc"]);
    output_of(dd.arg(format!("of={}", filler.display())), LIMIT).map(drop)
}

/// The disk is full when its node starts: it says so, and goes on when there is room.
fn full_at_the_start(
    directory: &Path,
    again: impl Fn() -> Result<Cluster, Failure>,
) -> Result<Cluster, Failure> {
    // The copy of the control log is written anew, and has room.
    let filler = take_all(directory, CONTROL_LOG)?;
    let log = directory.join("node2/latsdb_2.log");
    let _ = fs::remove_file(&log);
    let operator = thread::spawn(move || {
        let end = Instant::now() + LIMIT;
        let mut is_said = false;
        while !is_said && Instant::now() < end {
            thread::sleep(Duration::from_millis(100));
            let text = fs::read_to_string(&log).unwrap_or_default();
            is_said = text.contains(FULL);
            // It may give up files of its log that nobody needs.
            if text.contains(CONTROL_LOG_WRITTEN) && !is_said {
                take_what_is_free(&filler)?;
            }
        }
        fs::remove_file(&filler).map_err(Failure::while_doing(filler.display()))?;
        if is_said { Ok(()) } else { Err(Failure::new("a node starts on a full disk and does not say so")) }
    });
    let cluster = again()?;
    while !operator.is_finished() {
        change(&cluster, 1)?;
    }
    operator.join().map_err(|_| Failure::new("the operator's thread has panicked"))??;
    println!("   a full disk at the start: said, and the cluster came back when there was room");
    Ok(cluster)
}

/// Files of the checkpoints of one node are gone or cut off. It says what it lacks, and gets it from the other one.
fn lost_files(directory: &Path, again: impl Fn() -> Result<Cluster, Failure>) -> Result<(), Failure> {
    let is = |name: &str, end: &str| name.ends_with(end);
    let losses: [(&str, u16, Spoil, &str); 4] = [
        ("a manifest is deleted", 2, |path| fs::remove_file(path), ".manifest"),
        (
            "a manifest is cut off",
            3,
            |path| fs::OpenOptions::new().write(true).open(path)?.set_len(30),
            ".manifest",
        ),
        ("all pieces are deleted", 2, |path| fs::remove_file(path), ".piece"),
        (
            "pieces are cut off",
            3,
            |path| fs::OpenOptions::new().write(true).open(path)?.set_len(5_000),
            ".piece",
        ),
    ];
    for (what, node, spoil, end) in losses {
        let folder = directory.join(format!("node{node}/lcp"));
        let mut count = 0;
        for entry in fs::read_dir(&folder).map_err(Failure::while_doing(folder.display()))? {
            let path = entry.map_err(Failure::while_doing(folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_meant = is(&name, end) && (end == ".piece" || count == 0);
            if is_meant {
                spoil(&path).map_err(Failure::while_doing(path.display()))?;
                count += 1;
            }
        }
        if count == 0 {
            return Err(Failure::new(format!("{} has no {end}", folder.display())));
        }
        let earlier = directory.join(format!("node{node}/latsdb_{node}.log"));
        fs::remove_file(&earlier).map_err(Failure::while_doing(earlier.display()))?;
        let cluster = again()?;
        has_all(&cluster)?;
        let log = cluster.node_log(node)?;
        let said = ["is missing or damaged", "cannot be read from lcp/"];
        let line = log.lines().rev().find(|line| said.iter().any(|said| line.contains(said)));
        let line = line.ok_or_else(|| Failure::new(format!("{what}: node {node} does not say so")))?;
        println!("   {what}: {}", line.trim());
        // The next case needs checkpoints of both nodes again.
        change(&cluster, CHANGES)?;
        cluster.stop()?;
    }
    Ok(())
}

/// The rows come back in another memory and on other threads.
fn other_shapes(directory: &Path, again: impl Fn() -> Result<Cluster, Failure>) -> Result<(), Failure> {
    let config = directory.join("cluster.ini");
    let text = fs::read_to_string(&config).map_err(Failure::while_doing(config.display()))?;
    let memory = "TotalMemoryConfig=512M";
    for (what, lines) in [
        ("three ldm", "TotalMemoryConfig=512M\nThreadConfig=ldm={count=3},recv={count=1}"),
        ("one CPU, less memory", "TotalMemoryConfig=400M\nNumCPUs=1"),
        ("four workers, more memory", "TotalMemoryConfig=900M\nNumCPUs=4"),
        ("the first again", memory),
    ] {
        let other = text.replacen(memory, lines, 1);
        fs::write(&config, &other).map_err(Failure::while_doing(config.display()))?;
        let cluster = again()?;
        has_all(&cluster)?;
        change(&cluster, 3)?;
        run(&mut cluster.mgm("all restart"), LIMIT)?;
        has_all_soon(&cluster)?;
        cluster.kill()?;
        println!("   {what}: all rows are there, after `all restart`, too");
    }
    let cluster = again()?;
    has_all(&cluster)?;
    cluster.stop()
}

/// The cluster restarts: its ports are closed for a while.
fn has_all_soon(cluster: &Cluster) -> Result<(), Failure> {
    let end = Instant::now() + LIMIT;
    while let Err(failure) = has_rows(cluster) {
        if Instant::now() >= end {
            return Err(failure);
        }
        thread::sleep(Duration::from_millis(100));
    }
    has_all(cluster)
}
