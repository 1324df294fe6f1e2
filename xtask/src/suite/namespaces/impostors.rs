//! Certificates that are not right in one thing each: their bearers are refused, and both ends say why.
//!
//! `tests/clients/python/impostor.py` says exactly what an SQL node says, from that node's own address. It goes to
//! another data node for each kind of certificate. So each of them has its line in a log that tells of strangers once a
//! minute. With the right certificate it is answered, so nothing but the certificate is refused. Then the real program
//! is started with each of them.

use super::{DATA, MANAGEMENT, Nodes, PATIENCE, address};
use crate::processes::{Failure, Workspace, run};
use crate::suite::python_program;
use std::path::Path;
use std::process::Command;

/// A certificate that is wrong, the node at which it is shown, what that node logs, and what a node says that is
/// started with it.
const CASES: [(&str, u16, &str, &str); 4] = [
    ("expired", DATA[0], "the certificate has expired, ", "this certificate has expired"),
    (
        "other-cluster",
        DATA[1],
        "the certificate is of cluster 'netnsx', not 'netns'",
        "the certificate is of cluster 'netns', not 'netnsx'",
    ),
    (
        "other-authority",
        DATA[2],
        "the certificate is not signed by an authority of this cluster",
        "does not believe the authority of this certificate",
    ),
    (
        "other-node",
        DATA[3],
        "the certificate is of sql node 98, not of sql node 8",
        "the certificate is of sql node 98, not of sql node 8",
    ),
];

/// They pass for a node that is away.
pub(super) fn try_to_pass_for(victim: u16, nodes: &Nodes<'_>, workspace: &Workspace) -> Result<(), Failure> {
    let folder = nodes.folder.join("impostors");
    let program = |word: &str| {
        let script = python_program(workspace, "impostor.py").map_err(|missing| Failure::new(missing.0))?;
        let mut command = nodes.network.command(victim, Path::new(script.get_program()));
        command.args(script.get_args()).args([word, "--cluster=netns", &format!("--node={victim}")]);
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg("--keys").arg(&folder);
        Ok::<Command, Failure>(command)
    };
    let mut make = program("certificates")?;
    make.arg("--authority").arg(&nodes.keys).arg("--to").arg(&folder);
    run(make.args(["--role=sql", &format!("--host={}", address(victim))]), PATIENCE)?;
    let mut knock = program("knock")?;
    for (case, node, _, _) in CASES {
        knock.arg(format!("--case={case}={node}@{}", address(node)));
    }
    let peer = MANAGEMENT[1];
    run(knock.arg(format!("--good={peer}@{}", address(peer))), PATIENCE)?;
    for (case, node, logged, _) in CASES {
        let line = format!("cluster port: connection from {}:", address(victim));
        let log = nodes.log(node);
        if !log.lines().any(|found| found.contains(&line) && found.contains(logged)) {
            return Err(Failure::new(format!("node {node} does not say {logged:?} of '{case}':\n{log}")));
        }
    }
    let mut ask = program("ask")?;
    for (case, _, _, _) in CASES.iter().filter(|(case, ..)| *case != "other-node") {
        ask.arg(format!("--case={case}"));
    }
    run(ask.arg(format!("--management-port={}:1186", address(MANAGEMENT[0]))), PATIENCE)?;
    let line = format!("management port: connection from {}:", address(victim));
    let log = nodes.log(MANAGEMENT[0]);
    if log.matches(&line).count() != 1 || !log.contains("refused: TLS: the certificate has expired, ") {
        return Err(Failure::new(format!("management node 1 does not say once what it has refused:\n{log}")));
    }
    // As the program itself takes it.
    for (case, _, _, said) in CASES {
        let mut node = nodes.start_with(victim, &folder.join(case), &format!("impostor-{case}.log"))?;
        let waited = node.wait_until(PATIENCE, |log| log.contains(said));
        // A node that has ended by itself may have said so in its last line.
        if !node.log().contains(said) {
            waited?;
        }
        node.stop()?;
    }
    Ok(())
}
