//! The one binary: every subcommand, options, logging, angel.
//!
//! | file | what |
//! | --- | --- |
//! | `command_line` | options, and what `--help` says |
//! | `dev` | a whole cluster on this machine, one process per node |
//! | `node_process` | one node: its configuration, its modules, its runtime |
//! | `node_choice` | which node of config.ini a process is |
//! | `angel` | the parent of a node's process |
//! | `processes`, `stop_signal` | child processes; SIGTERM and Ctrl-C as something to wait for |
//! | `start_check` | whether a node could start again |
//! | `restart`, `program` | when a node that has ended is started again, and from which file |
//! | `configuration` | config.ini as the binary uses it |
//! | `keys_command`, `key_files` | `latsdb keys`; where nodes and tools find their keys |
//! | `bench_command` | `latsdb bench`: what crate `bench` is told |
//! | `management_client`, `connectstring` | the management protocol from the client's side, and where to reach it |
//! | `management_token` | the file that gives authority over the cluster |
//! | `resources`, `ports` | what the machine has, and how nodes share it |
//! | `logging`, `terminal` | lines for logs, lines for people |
//!
//! Invariants: the process ends with 0 if it did what it was asked to, 2 if the command line is wrong, 1 otherwise.
//! `angel` has the exit codes of nodes. A failure is one line on standard error that begins with `latsdb: `. No node
//! process outlives its parent.
//!
//! Deliberately not here: anything a cluster does. The binary meets the machine and hands the rest to `node` and
//! `runtime`.

mod angel;
mod bench_command;
mod command_line;
mod configuration;
mod connectstring;
mod dev;
mod exit_notice;
mod key_files;
mod keys_command;
mod logging;
mod management_client;
mod management_token;
mod node_choice;
mod node_process;
mod ports;
mod processes;
mod program;
mod resources;
mod restart;
mod start_check;
mod stop_signal;
mod terminal;

use clap::Parser;
use command_line::{BenchCommand, Command, CommandLine};
use node_process::Start;
use protocol::NodeRole;
use protocol::module::EXIT_CANNOT_START;
use std::process::ExitCode;
use terminal::Failure;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    if let Some(parent) = command_line.angel_pid
        && !angel::die_with_parent(parent)
    {
        return ExitCode::FAILURE;
    }
    let is_under_angel = command_line.angel_pid.is_some();
    match run(command_line.command, is_under_angel, command_line.angel_pipe) {
        Ok(code) => code,
        Err(failure) => {
            terminal::complain(&failure.to_string());
            if is_under_angel { ExitCode::from(EXIT_CANNOT_START) } else { ExitCode::FAILURE }
        }
    }
}

fn run(command: Command, is_under_angel: bool, angel: Option<i32>) -> Result<ExitCode, Failure> {
    match command {
        Command::Dev(options) => dev::run(&options),
        Command::Mgm(options) => management_client::run(&options),
        Command::Bench(BenchCommand::Costs(options)) => bench_command::costs(&options),
        Command::Bench(BenchCommand::Failover(options)) => bench_command::failover(&options),
        Command::Bench(BenchCommand::Figures(options)) => bench_command::figures(&options),
        Command::Bench(BenchCommand::Model(options)) => bench_command::model(&options),
        Command::Bench(BenchCommand::Pipeline(options)) => bench_command::pipeline(&options),
        Command::Bench(BenchCommand::Run(options)) => bench_command::run(&options),
        Command::Bench(BenchCommand::Tpch(options)) => bench_command::tpch(&options),
        Command::Bench(BenchCommand::Tpcc(options)) => bench_command::tpcc(&options),
        Command::Check(options) => management_client::check(&options.access.access()),
        Command::Keys(options) => keys_command::run(&options),
        Command::Mgmd(_) | Command::Data(_) | Command::Sql(_) if !is_under_angel => angel::run(),
        Command::Mgmd(options) => node_process::run_management(&options, angel),
        Command::Data(options) => {
            let tls = options.member.tls.clone();
            let start = Start { is_initial: options.initial, angel, check: None, tls };
            node_process::run_member(NodeRole::Data, &options.member, None, start)
        }
        Command::Sql(options) => node_process::run_member(
            NodeRole::Sql,
            &options.member,
            Some((options.port, options.socket.as_deref())),
            Start { is_initial: false, angel, check: None, tls: options.member.tls.clone() },
        ),
    }
}
