use super::*;
use clap::Parser;
use std::os::unix::fs::PermissionsExt;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: KeyOptions,
}

fn options(folder: &Path, words: &[&str]) -> KeyOptions {
    let config = folder.join("config.ini");
    let keys = folder.join("keys");
    let fixed = ["keys", "-f", config.to_str().expect("a path"), "--to-dir", keys.to_str().expect("a path")];
    Line::try_parse_from(fixed.into_iter().chain(words.iter().copied())).expect("options").options
}

const CONFIG: &str = "[system]\nName=shop\n[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nNodeId=1\nHostName=10.0.0.1\n\
                      [ndbd]\nNodeId=2\nHostName=db2.example\n[mysqld]\nNodeId=3\nHostName=10.0.0.3\n";

#[test]
fn one_command_makes_all_keys_and_makes_them_anew() {
    let folder = std::env::temp_dir().join(format!("latsdb-keys-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("config.ini"), CONFIG).expect("a file");
    let (_, config) = configuration::load(&folder.join("config.ini")).expect("a configuration");
    let load = |id: u16| {
        let node = config.node(NodeId(id)).expect("a node");
        let within = key_files::folder_of(&folder.join("keys"), NodeId(id));
        let keys = KeyFiles::within(&within, Some(node.role)).load().expect("keys");
        let moment = keys.own().not_before + 60;
        assert_eq!(keys.refuse_own("shop", key_files::identity(node), moment), None, "node {id}");
        assert_eq!(keys.verify_own(), Ok(()));
        keys
    };
    let run = |words: &[&str]| super::run(&options(&folder, words)).expect("done");
    assert_eq!(run(&["--check"]), ExitCode::FAILURE, "there are none");
    assert_eq!(run(&[]), ExitCode::SUCCESS);
    assert_eq!(run(&["--check"]), ExitCode::SUCCESS);
    let serials = || [1, 2, 3].map(|id| load(id).own().serial.clone());
    let first = serials();
    for private in
        ["NDB-Cluster-private-key", "node2/ndb-data-node-private-key", "client/ndb-api-private-key"]
    {
        let mode = std::fs::metadata(folder.join("keys").join(private)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{private}");
    }
    // Renewing one changes that one, renewing all all; the authority stays.
    let authority = load(1).authorities()[0].serial.clone();
    assert_eq!(run(&["--ndb-nodeid", "2"]), ExitCode::SUCCESS);
    let second = serials();
    assert_eq!((second[0] == first[0], second[1] == first[1], second[2] == first[2]), (true, false, true));
    assert_eq!(run(&["--days", "20"]), ExitCode::SUCCESS);
    assert_ne!(serials()[0], first[0]);
    assert_eq!(load(1).authorities()[0].serial, authority);
    assert_eq!(run(&["--check"]), ExitCode::FAILURE, "they expire soon");
    assert!(super::run(&options(&folder, &["--ndb-nodeid", "9"])).is_err());
    // The folder of another cluster is no place to sign.
    std::fs::write(folder.join("config.ini"), CONFIG.replace("shop", "shelf")).expect("a file");
    assert!(super::run(&options(&folder, &[])).is_err());
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
