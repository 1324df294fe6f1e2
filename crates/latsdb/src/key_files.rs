//! The files of keys and certificates: where they are looked for, and that a node notices when they are renewed.
//!
//! ```text
//! --ndb-tls-search-path DIR[:DIR...]      default $HOME/ndb-tls
//!   DIR/node3/ndb-data-node-cert          as `latsdb keys` writes them, for a machine with several nodes
//!   DIR/ndb-data-node-cert                the same without the folder, as NDB has them
//! ```
//! Beside each `...-cert` lies its `...-private-key`. The names are NDB's: `ndb-mgm-server` for management nodes,
//! `ndb-data-node` for data nodes, `ndb-api` for SQL nodes and operators' tools.
//!
//! Invariant: keys of another cluster that lie in the default folder are not used, and are no error: `latsdb dev` needs
//! none.

use crate::configuration;
use crate::terminal::Failure;
use clap::Args;
use node::config::{ClusterConfig, NodeConfig};
use protocol::NodeRole;
use runtime::KeyHolder;
use runtime::keys::{Identity, NodeKeys};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use types::NodeId;

/// The default search path.
const SEARCH_PATH: &str = "$HOME/ndb-tls";
/// How often a node looks whether its files have changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// Certificates that expire within this time are warned of, each day.
pub(crate) const WARNING_TIME: Duration = Duration::from_secs(30 * DAY);
const DAY: u64 = 24 * 3600;

/// Where keys are looked for.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TlsOptions {
    /// Folders with keys and certificates, a colon between them [default: $HOME/ndb-tls].
    #[arg(long, value_name = "PATH")]
    ndb_tls_search_path: Option<String>,
}

/// The keys with which a management node is talked with.
#[derive(Clone, Debug)]
pub(crate) struct ClientKeys {
    pub(crate) files: KeyFiles,
    /// By --ndb-tls-search-path: nothing is said without TLS then.
    pub(crate) is_asked_for: bool,
}

/// A certificate and its private key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl KeyFiles {
    /// Those of a node or tool in a folder.
    pub(crate) fn within(folder: &Path, role: Option<NodeRole>) -> Self {
        let name = match role {
            Some(NodeRole::Management) => "ndb-mgm-server",
            Some(NodeRole::Data) => "ndb-data-node",
            Some(NodeRole::Sql) | None => "ndb-api",
        };
        Self {
            certificate: folder.join(format!("{name}-cert")),
            key: folder.join(format!("{name}-private-key")),
        }
    }

    /// Reads both.
    pub(crate) fn load(&self) -> Result<NodeKeys, Failure> {
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
        };
        let (certificates, key) = (read(&self.certificate)?, read(&self.key)?);
        NodeKeys::from_pem(&certificates, &key)
            .map_err(|error| Failure::new(format!("{}: {error}", self.certificate.display())))
    }

    /// Others than the owner can read the private key.
    fn is_open_to_others(&self) -> bool {
        std::fs::metadata(&self.key).is_ok_and(|data| data.permissions().mode() & 0o077 != 0)
    }

    /// When either was written last.
    fn written(&self) -> Option<(SystemTime, SystemTime)> {
        let time = |path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        Some((time(&self.certificate)?, time(&self.key)?))
    }
}

impl TlsOptions {
    fn folders(&self) -> Vec<PathBuf> {
        let path = self.ndb_tls_search_path.as_deref().unwrap_or(SEARCH_PATH);
        path.split(':').filter(|folder| !folder.is_empty()).map(|folder| expand(folder).into()).collect()
    }

    /// The files of a node, if there are any. Without an id: of the only node of this role whose files are there.
    pub(crate) fn find(&self, role: NodeRole, node: Option<u16>) -> Option<KeyFiles> {
        self.folders().iter().find_map(|folder| {
            let candidates = match node {
                Some(id) => vec![folder.join(format!("node{id}")), folder.clone()],
                None => std::iter::once(folder.clone()).chain(only_folder(folder, role)).collect(),
            };
            let mut files = candidates.iter().map(|folder| KeyFiles::within(folder, Some(role)));
            files.find(|files| files.certificate.is_file())
        })
    }

    /// The files of an operator's tool, if there are any.
    pub(crate) fn find_for_tools(&self) -> Option<KeyFiles> {
        let folders = self.folders();
        let candidates = folders.iter().flat_map(|folder| [folder.join("client"), folder.clone()]);
        candidates.map(|folder| KeyFiles::within(&folder, None)).find(|files| files.certificate.is_file())
    }

    /// The keys with which a node speaks TLS before it has its configuration.
    pub(crate) fn for_node(&self, role: NodeRole, node: Option<u16>) -> Option<ClientKeys> {
        let missing = || self.missing(Some(role));
        let files = self.find(role, node).or_else(missing)?;
        Some(ClientKeys { files, is_asked_for: self.ndb_tls_search_path.is_some() })
    }

    /// The keys with which an operator's tool speaks TLS.
    pub(crate) fn for_tools(&self) -> Option<ClientKeys> {
        let files = self.find_for_tools().or_else(|| self.missing(None))?;
        Some(ClientKeys { files, is_asked_for: self.ndb_tls_search_path.is_some() })
    }

    /// Files that are not where somebody has said that they are: reading them says so.
    fn missing(&self, role: Option<NodeRole>) -> Option<KeyFiles> {
        self.ndb_tls_search_path.as_ref()?;
        Some(KeyFiles::within(self.folders().first()?, role))
    }

    /// The keys of a node of this cluster, and their files; none if there are none.
    pub(crate) fn load(
        &self,
        config: &ClusterConfig,
        me: &NodeConfig,
    ) -> Result<Option<(NodeKeys, KeyFiles)>, Failure> {
        let Some(files) = self.find(me.role, Some(me.node.0)) else { return Ok(None) };
        let keys = files.load()?;
        let of_cluster = keys.own().bearer.as_ref().map(|(cluster, _)| cluster.clone());
        if self.ndb_tls_search_path.is_none() && of_cluster.is_some_and(|cluster| cluster != config.name) {
            return Ok(None);
        }
        if let Some(reason) = keys.refuse_own(&config.name, identity(me), now()) {
            return Err(Failure::new(format!("{}: {reason}", files.certificate.display())));
        }
        if files.is_open_to_others() {
            tracing::warn!("{} can be read by other users: chmod 600", files.key.display());
        }
        Ok(Some((keys, files)))
    }
}

/// The identity that a node's certificate has to name.
pub(crate) fn identity(node: &NodeConfig) -> Identity<'_> {
    Identity { node: node.node, role: node.role, host: &node.host }
}

/// Why a node may not start without keys; `None` if it may.
pub(crate) fn needed(config: &ClusterConfig, me: &NodeConfig) -> Option<String> {
    let how = "make them with `latsdb keys`, and say where they are with --ndb-tls-search-path";
    if me.requires_certificate {
        return Some(format!("RequireCertificate=1, and there are no keys for this node: {how}"));
    }
    if !config.nodes.iter().any(|other| configuration::requires_tls(config, me, other)) {
        return None;
    }
    Some(if configuration::spans_machines(config) {
        format!(
            "the cluster has nodes on more than one machine, and there are no keys for this one: {how}; RequireTls=0 in \
             [ndbd default] and [ndb_mgmd default] does without"
        )
    } else {
        format!("RequireTls=1, and there are no keys for this node: {how}")
    })
}

/// Seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Watches the files of a running node for as long as it runs: connections that begin after a change use the new keys.
pub(crate) fn watch(
    config: &ClusterConfig,
    me: &NodeConfig,
    keys: NodeKeys,
    files: KeyFiles,
    holder: KeyHolder,
) {
    let mut watched =
        Watched { cluster: config.name.clone(), me: me.clone(), seen: files.written(), files, keys };
    watched.warn();
    let body = move || {
        let mut warned = SystemTime::now();
        loop {
            std::thread::sleep(LOOK_INTERVAL);
            if let Some(keys) = watched.renewed() {
                holder.replace(keys);
            }
            if warned.elapsed().is_ok_and(|time| time.as_secs() >= DAY) {
                warned = SystemTime::now();
                watched.warn();
            }
        }
    };
    if let Err(error) = std::thread::Builder::new().name("keys".to_owned()).spawn(body) {
        tracing::warn!("keys are not watched: {error}");
    }
}

struct Watched {
    cluster: String,
    me: NodeConfig,
    files: KeyFiles,
    /// When the files were written that were read last.
    seen: Option<(SystemTime, SystemTime)>,
    keys: NodeKeys,
}

impl Watched {
    /// The keys, if they are others than before and can be used.
    fn renewed(&mut self) -> Option<NodeKeys> {
        let written = self.files.written();
        if written == self.seen {
            return None;
        }
        let loaded = self.files.load().map_err(|failure| failure.to_string());
        let loaded =
            loaded.and_then(|keys| match keys.refuse_own(&self.cluster, identity(&self.me), now()) {
                Some(reason) => Err(format!("{}: {reason}", self.files.certificate.display())),
                None => Ok(keys),
            });
        match loaded {
            Ok(keys) => {
                self.seen = written;
                tracing::info!(
                    "keys are renewed: the certificate expires on {}; links live on, new ones use it",
                    keys.own().expires()
                );
                self.keys = keys.clone();
                Some(keys)
            }
            // One of two files may have been written: it is looked at again.
            Err(reason) if written.is_some_and(is_fresh) => {
                tracing::debug!("renewed keys cannot be used yet: {reason}");
                None
            }
            Err(reason) => {
                self.seen = written;
                tracing::warn!("renewed keys cannot be used, the earlier ones stay in use: {reason}");
                None
            }
        }
    }

    fn warn(&self) {
        for facts in std::iter::once(self.keys.own()).chain(self.keys.authorities()) {
            if let Some(warning) = expiry_warning(facts.not_after, now()) {
                tracing::warn!(
                    "the certificate '{}' {warning} ({}): renew it with `latsdb keys`",
                    facts.name,
                    facts.expires()
                );
            }
        }
    }
}

/// Files that were written a moment ago may not all be there.
fn is_fresh((one, other): (SystemTime, SystemTime)) -> bool {
    [one, other].iter().any(|time| time.elapsed().is_ok_and(|time| time < 3 * LOOK_INTERVAL))
}

/// The warning about a certificate that expires at this moment; `None` if there is time enough.
pub(crate) fn expiry_warning(not_after: i64, now: i64) -> Option<String> {
    let left = not_after.saturating_sub(now);
    let warned = i64::try_from(WARNING_TIME.as_secs()).unwrap_or(i64::MAX);
    let day = i64::try_from(DAY).unwrap_or(i64::MAX);
    match left {
        _ if left < 0 => Some("has expired".to_owned()),
        _ if left > warned => None,
        _ if left < day => Some("expires today".to_owned()),
        _ if left < 2 * day => Some("expires in one day".to_owned()),
        _ => Some(format!("expires in {} days", left / day)),
    }
}

/// `$NAME` at the beginning is the environment's.
fn expand(folder: &str) -> String {
    let Some(rest) = folder.strip_prefix('$') else { return folder.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let value = std::env::var(&rest[..end]).unwrap_or_default();
    format!("{value}{}", &rest[end..])
}

/// The only folder `node...` with files for this role.
fn only_folder(folder: &Path, role: NodeRole) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let mut found = entries.filter(|path| {
        let is_node = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("node"));
        is_node && KeyFiles::within(path, Some(role)).certificate.is_file()
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The folder that `latsdb keys` makes for a node.
pub(crate) fn folder_of(directory: &Path, node: NodeId) -> PathBuf {
    directory.join(format!("node{node}"))
}

#[cfg(test)]
mod tests;
