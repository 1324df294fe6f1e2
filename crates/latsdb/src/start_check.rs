//! Whether this node could start again: what its next life needs is looked at before this one ends (`N restart`,
//! `rolling restart`).
//!
//! | part | refused if |
//! | --- | --- |
//! | program | there is none any more at the path from which the angel will start it, or it may not be run |
//! | config.ini | it cannot be read, has another role for this node, or a change that a running cluster forbids |
//! | threads, memory | they cannot be laid out as configured; the rows would not fit into DataMemory |
//! | ports | one that is new for this node is in use |
//! | DataDir | nothing can be written there |
//! | keys | there are none, where they are needed, or they are not this node's |
//!
//! Anything else that a node must have to start belongs here, too.
//!
//! Invariant: a check changes nothing but for a file in DataDir that it makes and removes. It asks no other machine.

use crate::configuration;
use crate::key_files::{self, TlsOptions};
use crate::node_process::{plan_layout, plan_memory};
use crate::program;
use crate::resources::Machine;
use memory::{MIB, MemoryManager, Region};
use node::config::{ClusterConfig, NodeConfig};
use node::management::StartCheck;
use protocol::NodeRole;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The check of a management node, which reads `file`; `running` is what it runs with.
pub(crate) fn of_manager(
    file: PathBuf,
    running: ClusterConfig,
    me: NodeConfig,
    tls: TlsOptions,
) -> StartCheck {
    let program = program::path().ok();
    StartCheck(Arc::new(move |_| {
        let (_, config) = configuration::load(&file).map_err(|failure| failure.to_string())?;
        has_keys(&tls, &config, can_start(program.as_deref(), &running, &me, &config)?)
    }))
}

/// The check of a data or SQL node, which gets the text of config.ini from a management node.
pub(crate) fn of_member(
    running: ClusterConfig,
    me: NodeConfig,
    tls: TlsOptions,
    memory: Arc<MemoryManager>,
) -> StartCheck {
    let program = program::path().ok();
    StartCheck(Arc::new(move |text| {
        let config = configuration::parse(text, "config.ini of the management node")
            .map_err(|failure| failure.to_string())?;
        let next = can_start(program.as_deref(), &running, &me, &config)?;
        has_keys(&tls, &config, next)?;
        has_memory(next, &config, memory.used(Region::DataMemory))
    }))
}

fn has_keys(tls: &TlsOptions, config: &ClusterConfig, next: &NodeConfig) -> Result<(), String> {
    let keys = tls.load(config, next).map_err(|failure| failure.to_string())?;
    match key_files::needed(config, next).filter(|_| keys.is_none()) {
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// The check that all nodes have in common. Gives the node as it would be.
fn can_start<'config>(
    program: Option<&Path>,
    running: &ClusterConfig,
    me: &NodeConfig,
    config: &'config ClusterConfig,
) -> Result<&'config NodeConfig, String> {
    program.map_or(Ok(()), can_run)?;
    let next =
        configuration::find_node(config, me.role, Some(me.node.0)).map_err(|failure| failure.to_string())?;
    // The cluster runs with what this node runs with: else it would not have been let in.
    let changes = configuration::changed_terms(running, config);
    if !changes.is_empty() {
        return Err(format!(
            "config.ini has changed where it may not while the cluster runs: {}",
            changes.join("; ")
        ));
    }
    // The configured one counts: `me` may have a port that was typed instead.
    has_ports(running.node(me.node).unwrap_or(me), next)?;
    can_write(Path::new(&next.data_dir), me.node.0)?;
    Ok(next)
}

fn can_run(program: &Path) -> Result<(), String> {
    let name = program.display();
    let metadata =
        fs::metadata(program).map_err(|error| format!("there is no program at {name}: {error}"))?;
    if metadata.is_file() && metadata.len() > 0 && metadata.permissions().mode() & 0o111 != 0 {
        Ok(())
    } else {
        Err(format!("{name} is no program that may be run"))
    }
}

/// The ports of clients that it has; others must be free. ServerPort may not change while the cluster runs: the others
/// would look for it at the old one.
fn has_ports(me: &NodeConfig, next: &NodeConfig) -> Result<(), String> {
    let ports = |node: &NodeConfig| {
        [("PortNumber", node.management_port), ("port", node.mysql.as_ref().map(|mysql| mysql.port))]
    };
    let bind = |node: &NodeConfig| node.mysql.as_ref().and_then(|mysql| mysql.bind_address.clone());
    for ((name, now), (_, then)) in ports(me).into_iter().zip(ports(next)) {
        let Some(port) = then.filter(|_| then != now) else { continue };
        let bind = bind(next).filter(|_| name == "port");
        let address = configuration::listen_address(&next.host, bind.as_deref(), port)
            .map_err(|failure| failure.to_string())?;
        TcpListener::bind(address).map_err(|error| {
            format!("{name} of node {} is to be {port}, which cannot be used: {error}", me.node)
        })?;
    }
    Ok(())
}

fn can_write(data_dir: &Path, node: u16) -> Result<(), String> {
    let probe = data_dir.join(format!("latsdb_{node}_start_check"));
    let written = fs::create_dir_all(data_dir)
        .and_then(|()| fs::write(&probe, b"?"))
        .and_then(|()| fs::remove_file(&probe));
    written.map_err(|error| format!("nothing can be written into DataDir {}: {error}", data_dir.display()))
}

/// Whether a node with this configuration has room for the rows that it has now.
fn has_memory(next: &NodeConfig, config: &ClusterConfig, rows: u64) -> Result<(), String> {
    let machine = Machine::measure();
    let layout = plan_layout(next, machine.cpu_share(config, next), &machine)?;
    let planned = plan_memory(next, &layout, &machine, config.nodes.len())?;
    let room = planned.region(Region::DataMemory).maximum;
    if next.role == NodeRole::Data && rows > room {
        return Err(format!(
            "its rows take {} MiB, and DataMemory would be {} MiB",
            rows.div_ceil(MIB),
            room / MIB
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
