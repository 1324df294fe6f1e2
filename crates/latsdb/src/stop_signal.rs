//! SIGTERM, SIGHUP and Ctrl-C as a descriptor to wait for.
//!
//! The only safe way to hear these signals in this project is a `runtime::Runtime`, which tells its `main` module. So a
//! parent of nodes runs a runtime with one module that passes the message on as a byte in a pipe. It has two threads,
//! both asleep for ever.
//!
//! Invariant: a signal that comes a second or more after the first one, of whichever kind, has its default effect and
//! ends this process at once. Its nodes die with it (see `angel`).

use crate::terminal::Failure;
use protocol::layout::{CpuShare, Layout, LayoutRequest};
use protocol::{Address, Budget, Input, Module, ModuleKind, Outputs, RequestToRuntime};
use runtime::{BoxedModule, Listeners, Runtime, RuntimeConfig, SpinMethod};
use rustix::fd::{AsFd, BorrowedFd};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use stdx::{Instant, Now};
use types::NodeId;

/// Readable once somebody wants this process to stop.
pub(crate) struct StopSignal {
    arrived: PipeReader,
    _runtime: Runtime,
}

impl StopSignal {
    /// From now on signals are heard here. Once per process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let broken = |what: &str| Failure::new(format!("cannot listen for signals: {what}"));
        let (arrived, tell) = std::io::pipe().map_err(|error| broken(&error.to_string()))?;
        // Nobody sees this node: it has no peers and no listeners.
        let node = NodeId(0);
        let kinds = &[ModuleKind::Main];
        let request = LayoutRequest { thread_config: None, share: CpuShare::ONE, cpus: &[], kinds };
        let layout = Layout::plan(&request).map_err(|error| broken(&error.to_string()))?;
        let config = RuntimeConfig {
            node,
            cluster: String::new(),
            start: 0,
            layout,
            spin: SpinMethod::NoSpinning,
            cluster_tcp: None,
            cluster_unix: None,
            peers: Vec::new(),
            listeners: Listeners::default(),
            tls: None,
            keys: None,
            management_requires_tls: false,
            source: None,
            limits: runtime::Limits::default(),
            memory: None,
            log: Arc::new(|_| {}),
        };
        let modules: Vec<(Address, BoxedModule<()>)> = vec![
            (Address::main(node), Box::new(Relay { tell: Some(tell) })),
            (Address::membership(node), Box::new(Relay { tell: None })),
        ];
        let runtime = Runtime::start(config, modules, None).map_err(|error| broken(&error.to_string()))?;
        runtime.stop_on_signals();
        Ok(Self { arrived, _runtime: runtime })
    }

    /// The descriptor that becomes readable.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.arrived.as_fd()
    }

    /// Takes one signal that has arrived; waits for it if none has.
    pub(crate) fn take(&mut self) {
        // The writer lives as long as the runtime: neither an error nor an end is possible, and both would mean "stop".
        let _ = self.arrived.read(&mut [0]);
    }
}

/// Passes a stop request on.
struct Relay {
    tell: Option<PipeWriter>,
}

impl Module for Relay {
    type Shared = ();

    fn handle(&mut self, _now: Now, input: Input<'_, ()>, _budget: &mut Budget, outputs: &mut Outputs<()>) {
        let Input::StopRequested = input else { return };
        if self.tell.as_mut().is_none_or(|tell| tell.write_all(&[1]).is_err()) {
            outputs.request(RequestToRuntime::Exit(0));
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}
