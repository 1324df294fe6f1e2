use super::*;
use types::NodeId;

struct World {
    folder: PathBuf,
    text: String,
}

impl World {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("latsdb-check-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "[ndbd default]\nNoOfReplicas=1\nTotalMemoryConfig=512M\n[ndb_mgmd]\nNodeId=1\nHostName=127.0.0.1\n\
             [ndbd]\nNodeId=2\nHostName=127.0.0.1\nDataDir={}/data\n",
            folder.display()
        );
        Self { folder, text }
    }

    fn config(text: &str) -> ClusterConfig {
        configuration::parse(text, "config.ini").unwrap()
    }

    /// Whether node 2 could start with another text.
    fn check(&self, text: &str, rows: u64) -> Result<(), String> {
        let (running, next) = (Self::config(&self.text), Self::config(text));
        let me = running.node(NodeId(2)).unwrap();
        let program = std::env::current_exe().unwrap();
        has_memory(can_start(Some(&program), &running, me, &next)?, &next, rows)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn what_could_start_is_not_refused() {
    let world = World::new("fine");
    assert_eq!(world.check(&world.text, 100 * MIB), Ok(()));
    assert_eq!(world.check(&world.text.replace("512M", "600M\nNumCPUs=1"), 100 * MIB), Ok(()));
    assert_eq!(fs::read_dir(world.folder.join("data")).unwrap().count(), 0, "nothing is left there");
}

#[test]
fn what_could_not_start_is_refused() {
    let world = World::new("refused");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::write(world.folder.join("file"), "").unwrap();
    let data_dir = format!("DataDir={}/data", world.folder.display());
    for (from, to, why) in [
        (
            "NoOfReplicas=1",
            "NoOfReplicas=1\nHeartbeatIntervalDbDb=100".to_owned(),
            "HeartbeatIntervalDbDb was 50 ms, is 100 ms",
        ),
        (data_dir.as_str(), format!("{data_dir}\nport={port}"), "which cannot be used"),
        (
            data_dir.as_str(),
            format!("DataDir={}/file/data", world.folder.display()),
            "nothing can be written into DataDir",
        ),
        ("512M", "512M\nDataMemory=64M".to_owned(), "its rows take 100 MiB, and DataMemory would be 64 MiB"),
        ("512M", "512M\nDataMemory=4G".to_owned(), "the configured memory regions need"),
        ("[ndb_mgmd]\nNodeId=1", "[ndb_mgmd]\nNodeId=3".to_owned(), "the list of nodes"),
    ] {
        let refused = world.check(&world.text.replace(from, &to), 100 * MIB).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let check = of_member(
        World::config(&world.text),
        World::config(&world.text).node(NodeId(2)).unwrap().clone(),
        TlsOptions::default(),
        MemoryManager::new(memory::MemoryConfig::with_data_memory(64 * MIB)),
    );
    assert!((check.0)("[ndbd]\nNoOfReplica=1\n").unwrap_err().contains("did you mean NoOfReplicas?"));
    assert_eq!((check.0)(&world.text), Ok(()));
}

#[test]
fn a_program_that_is_gone_or_may_not_be_run_is_no_program() {
    let world = World::new("program");
    let path = world.folder.join("latsdb");
    assert!(can_run(&path).unwrap_err().starts_with("there is no program at"));
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(can_run(&path).unwrap_err().ends_with("is no program that may be run"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(can_run(&path), Ok(()));
}
