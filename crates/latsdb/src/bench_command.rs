//! `latsdb bench`: from options to what crate `bench` understands, and its lines to the terminal.

use crate::command_line::{
    ClusterKind, CostsOptions, Expectation, FailoverOptions, FiguresOptions, LoadProgram, ModelOptions,
    PipelineOptions, RunOptions, TpccOptions, TpchOptions,
};
use crate::stop_signal::StopSignal;
use crate::terminal::{self, Failure};
use bench::connection::Patience;
use bench::failover::{self, ByHand, Cluster, Options, Shape};
use bench::model::{self, figures};
use bench::workload::Workload;
use bench::{autobench, costs, pipeline, tpcc, tpch};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(format!("cannot find the program itself: {error}")))
}

/// `latsdb bench failover`.
pub(crate) fn failover(options: &FailoverOptions) -> Result<ExitCode, Failure> {
    let cluster = match (options.cluster, options.attach, &options.config) {
        (ClusterKind::Galera, _, _) => Cluster::Galera { options: options.provider_options.clone() },
        (ClusterKind::ByHand | ClusterKind::Relayed, _, _) => Cluster::ByHand {
            binary: options.binary.clone().map_or_else(own_program, Ok)?,
            settings: ByHand {
                shape: Shape { data_nodes: options.data_nodes, replicas: options.replicas },
                has_relays: options.cluster == ClusterKind::Relayed,
                heartbeat: options.heartbeat,
                memory: options.memory,
            },
        },
        (ClusterKind::Dev, _, _) if options.heartbeat.is_some() => {
            return Err(Failure::new("--heartbeat needs --cluster by-hand or relayed"));
        }
        (ClusterKind::Dev, Some(pid), Some(config)) => Cluster::Running {
            binary: options.binary.clone().map_or_else(own_program, Ok)?,
            pid,
            config: config.clone(),
        },
        (ClusterKind::Dev, _, _) => Cluster::Dev {
            binary: options.binary.clone().map_or_else(own_program, Ok)?,
            shape: Shape { data_nodes: options.data_nodes, replicas: options.replicas },
        },
    };
    let patience = Duration::from_millis(options.patience);
    let campaign = Options {
        cluster,
        expectation: match options.expect {
            Expectation::Takeover => failover::Expectation::Takeover,
            Expectation::Rejoin => failover::Expectation::Rejoin,
        },
        faults: options.faults.clone(),
        rounds: options.rounds,
        clients_per_load: options.clients,
        rate: options.rate,
        ballast: options.ballast,
        patience: Patience { connect: patience, statement: patience },
        calm: Duration::from_millis(options.calm),
        settle_limit: Duration::from_secs(30),
        rejoin_limit: Duration::from_secs(options.rejoin_limit),
        folder: std::path::absolute(&options.dir)
            .map_err(|error| Failure::new(format!("{}: {error}", options.dir.display())))?,
        figures: options.figures.clone(),
    };
    let wait = || {
        if options.await_line {
            // The end of the input is a line, too: the program beside is gone.
            let _ = std::io::stdin().read_line(&mut String::new());
        }
    };
    failover::run(&campaign, &terminal::say, &wait).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// `latsdb bench run`.
pub(crate) fn run(options: &RunOptions) -> Result<ExitCode, Failure> {
    let wanted = autobench::Options {
        folder: options.dir.clone(),
        program: match options.load {
            LoadProgram::Own => autobench::Program::Own,
            LoadProgram::Sysbench => autobench::Program::Sysbench,
        },
        binary: own_program()?,
        loads: !options.keep_tables,
    };
    let stop = stop_flag()?;
    autobench::run(&wanted, &stop, &terminal::say).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// `latsdb bench pipeline`.
pub(crate) fn pipeline(options: &PipelineOptions) -> Result<ExitCode, Failure> {
    let workloads = options.workloads.clone();
    let wanted = pipeline::Options {
        setups: options.setups.clone(),
        workloads: if workloads.is_empty() { Workload::ALL.to_vec() } else { workloads },
        clients: options.clients.clone(),
        rounds: options.rounds,
        time: Duration::from_secs(options.time),
        rows: options.table_size,
        folder: options.out.clone(),
        binary: own_program()?,
    };
    let stop = stop_flag()?;
    pipeline::run(&wanted, &stop, &terminal::say).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// `latsdb bench costs`.
pub(crate) fn costs(options: &CostsOptions) -> Result<ExitCode, Failure> {
    let wanted = costs::Options {
        binary: own_program()?,
        folder: options.out.clone(),
        time: Duration::from_secs(options.time),
    };
    let stop = stop_flag()?;
    costs::run(&wanted, &stop, &terminal::say).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// `latsdb bench figures`.
pub(crate) fn figures(options: &FiguresOptions) -> Result<ExitCode, Failure> {
    let workloads = options.workloads.clone();
    let wanted = figures::Options {
        workloads: if workloads.is_empty() { model::modelled() } else { workloads },
        clients: options.clients.clone(),
        cpus: options.cpus.clone(),
        rounds: options.rounds,
        time: Duration::from_secs(options.time),
        rows: options.table_size,
        folder: options.out.clone(),
        binary: own_program()?,
    };
    let stop = stop_flag()?;
    figures::run(&wanted, &stop, &terminal::say).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// `latsdb bench model`.
pub(crate) fn model(options: &ModelOptions) -> Result<ExitCode, Failure> {
    let workloads = options.workloads.clone();
    let wanted = model::Options {
        workloads: if workloads.is_empty() { Workload::ALL.to_vec() } else { workloads },
        cpus: options.cpus.clone(),
        nodes: options.nodes.clone(),
        clients: options.clients_per_worker,
        seed: options.seed,
        costs: options.costs.clone(),
        figures: options.figures.clone(),
        folder: options.out.clone(),
    };
    let stop = stop_flag()?;
    model::run(&wanted, &stop, &terminal::say).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// A flag that Ctrl-C and SIGTERM set.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let mut signals = StopSignal::listen()?;
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    // The thread waits for signals until the process ends.
    thread::spawn(move || {
        loop {
            signals.take();
            shared.store(true, Ordering::Relaxed);
        }
    });
    Ok(flag)
}

/// `latsdb bench tpch`.
pub(crate) fn tpch(options: &TpchOptions) -> Result<ExitCode, Failure> {
    let wanted = tpch::Options {
        server: options.server,
        reference: options.reference,
        scale: options.scale,
        loads: options.load,
        rounds: options.rounds,
        queries: options.queries.iter().map(|&number| usize::from(number)).collect(),
        patience: Duration::from_secs(options.patience),
        figures: options.figures.clone(),
    };
    tpch::run(&wanted, &terminal::say).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

/// `latsdb bench tpcc`.
pub(crate) fn tpcc(options: &TpccOptions) -> Result<ExitCode, Failure> {
    let wanted = tpcc::Options {
        servers: options.servers.clone(),
        warehouses: options.warehouses,
        clients: options.clients,
        time: Duration::from_secs(options.time),
        loads: options.load,
        checks: options.check,
        patience: Duration::from_millis(options.patience),
        figures: options.figures.clone(),
    };
    tpcc::run(&wanted, &terminal::say).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}
