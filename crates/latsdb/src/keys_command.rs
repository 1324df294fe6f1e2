//! `latsdb keys`: makes the authority of a cluster and signs a key for each of its nodes (ndb_sign_keys).
//!
//! ```text
//! DIR/NDB-Cluster-cert, DIR/NDB-Cluster-private-key   the authority: its private key stays with the administrator
//! DIR/node3/ndb-data-node-cert, ...-private-key       for the machine of node 3: one folder each
//! DIR/client/ndb-api-cert, ...-private-key            for operators' tools
//! ```
//! The same command again renews: the authority stays, each node gets a fresh key and certificate. Nodes that run
//! notice it (`key_files`).
//!
//! Invariants: a file appears whole or not at all. Private keys can be read by their owner only. The key is written
//! before its certificate, so a reader in between sees that they do not fit.

use crate::configuration;
use crate::key_files::{self, KeyFiles};
use crate::terminal::{self, Failure};
use clap::Args;
use node::config::ClusterConfig;
use protocol::NodeRole;
use runtime::certificates::Bearer;
use runtime::keys::NodeKeys;
use runtime::signing::{Authority, SignedKey, Wish};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use types::NodeId;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Make keys and certificates for all nodes of a config.ini, or renew them (ndb_sign_keys).
///
/// The first time an authority for the cluster is made, too. Each node gets a folder DIR/node<ID>, operators' tools get
/// DIR/client: copy each to its machine, to where --ndb-tls-search-path says there. NDB-Cluster-private-key signs
/// certificates: keep it where no node is. Nodes that run notice new files within seconds: nothing needs to be
/// restarted.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  latsdb keys -f config.ini --to-dir keys            make them, or renew all of them
  latsdb keys -f config.ini --to-dir keys --ndb-nodeid 3
  latsdb keys -f config.ini --to-dir keys --check    when they expire")]
pub(crate) struct KeyOptions {
    /// The cluster's config.ini.
    #[arg(short = 'f', long, value_name = "FILE")]
    config_file: PathBuf,

    /// Folder of the authority and of what it signs; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "ndb-tls")]
    to_dir: PathBuf,

    /// Only for this node; may be repeated.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=255))]
    ndb_nodeid: Vec<u16>,

    /// How long certificates of nodes and tools are valid.
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,

    /// How long the authority is valid, if it is made now.
    #[arg(long, value_name = "DAYS", default_value_t = 3_650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    ca_days: u32,

    /// Change nothing: tell when certificates expire. Ends with 1 if one is missing, or expires within 30 days.
    #[arg(long)]
    check: bool,
}

/// The files of the authority.
fn authority_files(directory: &Path) -> KeyFiles {
    KeyFiles {
        certificate: directory.join("NDB-Cluster-cert"),
        key: directory.join("NDB-Cluster-private-key"),
    }
}

/// `latsdb keys`.
pub(crate) fn run(options: &KeyOptions) -> Result<ExitCode, Failure> {
    let (_, config) = configuration::load(&options.config_file)?;
    if let Some(unknown) = options.ndb_nodeid.iter().find(|id| config.node(NodeId(**id)).is_none()) {
        return Err(Failure::new(format!("{} has no node {unknown}", options.config_file.display())));
    }
    let wanted = wanted(&config, options);
    if options.check {
        return Ok(check(&wanted));
    }
    let signer = Signer::open(&config.name, options)?;
    for (bearer, host, files) in wanted {
        let wish = Wish::for_time(bearer, host, DAY * options.days);
        let keys = signer.sign(&wish, &files)?;
        terminal::say(&format!(
            "{bearer}: {}, expires on {}, serial {}",
            files.certificate.display(),
            keys.own().expires(),
            keys.own().serial
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The nodes for which keys are made, with the host and the files of each.
fn wanted(config: &ClusterConfig, options: &KeyOptions) -> Vec<(Bearer, Option<String>, KeyFiles)> {
    let is_wanted = |id: u16| options.ndb_nodeid.is_empty() || options.ndb_nodeid.contains(&id);
    let nodes = config.nodes.iter().filter(|node| is_wanted(node.node.0)).map(|node| {
        let files = KeyFiles::within(&key_files::folder_of(&options.to_dir, node.node), Some(node.role));
        (Bearer::Node(node.node, node.role), Some(node.host.clone()), files)
    });
    let tools = options
        .ndb_nodeid
        .is_empty()
        .then(|| (Bearer::Client, None, KeyFiles::within(&options.to_dir.join("client"), None::<NodeRole>)));
    nodes.chain(tools).collect()
}

fn check(wanted: &[(Bearer, Option<String>, KeyFiles)]) -> ExitCode {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let mut is_good = true;
    for (bearer, _, files) in wanted {
        let told = match files.load() {
            Ok(keys) => {
                let all = std::iter::once(keys.own()).chain(keys.authorities());
                let first = all.min_by_key(|facts| facts.not_after).unwrap_or(keys.own());
                let warning = key_files::expiry_warning(first.not_after, now);
                is_good &= warning.is_none();
                warning.unwrap_or_else(|| format!("expires on {}", first.expires()))
            }
            Err(failure) => {
                is_good = false;
                failure.to_string()
            }
        };
        terminal::say(&format!("{bearer}: {told}"));
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The authority, ready to sign.
struct Signer {
    authority: Authority,
    /// The certificates that every node is to believe.
    certificates: String,
}

impl Signer {
    fn open(cluster: &str, options: &KeyOptions) -> Result<Self, Failure> {
        let files = authority_files(&options.to_dir);
        make_folder(&options.to_dir)?;
        if !files.certificate.exists() && !files.key.exists() {
            let made = Authority::create(cluster, DAY * options.ca_days)
                .map_err(|error| Failure::new(format!("cannot make an authority: {error}")))?;
            write(&files, &made, "")?;
            terminal::say(&format!(
                "authority of {cluster}: {}; {} signs certificates, no node needs it: keep it safe",
                files.certificate.display(),
                files.key.display()
            ));
        }
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
        };
        let certificates = read(&files.certificate)?;
        let authority = Authority::open(cluster, &read(&files.key)?)
            .map_err(|error| Failure::new(format!("{}: {error}", files.key.display())))?;
        Ok(Self { authority, certificates })
    }

    fn sign(&self, wish: &Wish, files: &KeyFiles) -> Result<NodeKeys, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", wish.bearer));
        let signed = self.authority.sign(wish).map_err(|error| failed(&error))?;
        let keys =
            NodeKeys::from_pem(&(signed.certificate_pem.clone() + &self.certificates), &signed.key_pem)
                .map_err(|error| failed(&error))?;
        // A key of another cluster would sign as well: nobody would believe it.
        keys.verify_own()
            .map_err(|reason| failed(&format!("the authority in this folder is not its: {reason}")))?;
        if let Some(folder) = files.certificate.parent() {
            make_folder(folder)?;
        }
        write(files, &signed, &self.certificates)?;
        Ok(keys)
    }
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))
}

/// Writes a key, and its certificate followed by others.
fn write(files: &KeyFiles, signed: &SignedKey, others: &str) -> Result<(), Failure> {
    write_file(&files.key, &signed.key_pem, 0o600)?;
    write_file(&files.certificate, &(signed.certificate_pem.clone() + others), 0o644)
}

fn write_file(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let new = path.with_extension("new");
    let attempt = || -> io::Result<()> {
        // One that an earlier attempt left may have other permissions.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    attempt().map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests;
