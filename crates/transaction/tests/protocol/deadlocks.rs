//! Deadlocks are found as soon as they are there, and looking for them costs little where there are none. The sessions
//! here pass each probe on to both nodes.

use super::*;
use protocol::signal::Probe;
use stdx::Duration;

const WAIT: LockWait = LockWait::Wait { timeout_ms: 50_000 };

impl Cluster {
    /// A write that may wait.
    fn ask_for(&mut self, transaction: u64, id: i64) {
        let request = WriteRequest {
            request: RequestId(transaction),
            transaction: TransactionId(transaction),
            slot: self.slot(id),
            table: TableRef { id: TABLE, version: 1 },
            operations: smallvec![WriteOperation::Put { key: self.key(id), row: self.row(id, 1) }],
            wait: WAIT,
            commit: None,
            known: 0,
            under: None,
        };
        let to = self.primary(id);
        self.send(to, Signal::Write(Box::new(request)));
    }

    fn end(&mut self, transaction: u64, id: i64) {
        let to = self.primary(id);
        let (transaction, slot) = (TransactionId(transaction), self.slot(id));
        self.send(to, Signal::Abort { transaction, slot });
    }

    /// Delivers everything, probes by way of sessions; what else comes to sessions.
    fn run_with_sessions(&mut self) -> Vec<Signal> {
        let mut answers = Vec::new();
        let mut passed: Vec<Probe> = Vec::new();
        loop {
            let (probes, others): (Vec<Signal>, Vec<Signal>) =
                self.run().into_iter().partition(|signal| matches!(signal, Signal::ProbeSession(_)));
            answers.extend(others);
            if probes.is_empty() {
                return answers;
            }
            for signal in probes {
                if let Signal::ProbeSession(probe) = signal
                    && !passed.contains(&probe)
                {
                    passed.push(probe);
                    for node in 1..=2 {
                        let ldm = Address::new(NodeId(node), ModuleKind::Ldm, 0);
                        self.send(ldm, Signal::ProbeWait(probe));
                    }
                }
            }
        }
    }

    /// So long passes that waits look for deadlocks rarely; the probes that are sent in this time, and the most of one
    /// deadline.
    fn let_pass(&mut self, time: Duration) -> (usize, usize) {
        let end = self.now.monotonic + time;
        let (mut sent, mut most) = (0, 0);
        while let Some(next) = self.ldms.iter().filter_map(Ldm::deadline).min().filter(|next| *next <= end) {
            self.now.monotonic = next.max(self.now.monotonic);
            for ldm in &mut self.ldms {
                let mut outputs: Outputs<Shared> = Outputs::default();
                ldm.on_deadline(self.now, &mut outputs);
                most = most.max(outputs.signals.len());
                self.queue.extend(outputs.signals);
            }
            sent += self.run().len();
        }
        self.now.monotonic = end;
        (sent, most)
    }
}

fn victims(answers: &[Signal]) -> Vec<u64> {
    let refused = answers.iter().filter_map(|signal| match signal {
        Signal::WriteDone(done) => Some((done.request, done.result.as_ref().err()?)),
        _ => None,
    });
    refused
        .map(|(request, failure)| {
            assert!(matches!(failure.refusal, Refusal::Deadlock { .. }), "{failure:?}");
            request.0
        })
        .collect()
}

#[test]
fn a_cycle_is_found_by_its_last_edge_whoever_makes_it() {
    for (first, second) in [(5, 9), (9, 5)] {
        let mut cluster = Cluster::new();
        let (a, b) = (cluster.id_at(1, 1), cluster.id_at(2, 1));
        assert!(cluster.insert(first, a, 1, false).result.is_ok());
        assert!(cluster.insert(second, b, 1, false).result.is_ok());
        cluster.ask_for(second, a);
        assert_eq!(cluster.run_with_sessions(), []);
        cluster.let_pass(Duration::from_secs(5));
        cluster.ask_for(first, b);
        assert_eq!(victims(&cluster.run_with_sessions()), [9]);
    }
}

#[test]
fn a_cycle_is_found_when_a_lock_that_is_given_closes_it() {
    let mut cluster = Cluster::new();
    let (a, b) = (cluster.id_at(1, 1), cluster.id_at(2, 1));
    assert!(cluster.insert(1, a, 1, false).result.is_ok());
    assert!(cluster.insert(2, b, 1, false).result.is_ok());
    for (transaction, id) in [(8, a), (9, a), (9, b), (8, b)] {
        cluster.ask_for(transaction, id);
    }
    assert_eq!(cluster.run_with_sessions(), []);
    cluster.let_pass(Duration::from_secs(5));
    cluster.end(1, a);
    assert_eq!(victims(&cluster.run_with_sessions()), [0; 0]);
    cluster.end(2, b);
    assert_eq!(victims(&cluster.run_with_sessions()), [9]);
}

#[test]
fn many_waiters_of_many_holders_send_few_probes() {
    const HOLDERS: u64 = 100;
    const WAITERS: u64 = 100;
    let mut cluster = Cluster::new();
    let id = cluster.id_at(1, 1);
    assert!(cluster.insert(1_000_000, id, 1, true).result.is_ok());
    let to = cluster.primary(id);
    for holder in 1..=HOLDERS {
        let read = cluster.read_request(id, Some(holder), Some((LockMode::Shared, WAIT)));
        cluster.send(to, Signal::Read(Box::new(read)));
    }
    assert_eq!(cluster.run().len() as u64, HOLDERS);
    for waiter in 1..=WAITERS {
        cluster.ask_for(HOLDERS + waiter, id);
    }
    let first = cluster.run().len();
    let (later, most) = cluster.let_pass(Duration::from_secs(10));
    assert!(first + later < 150_000, "{first} + {later} probes in ten seconds");
    assert!(most <= 64 * 64, "{most} probes at once");
    assert!(later > 0);
}
