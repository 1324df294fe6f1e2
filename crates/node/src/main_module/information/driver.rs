//! Rows of ndbinfo that come from what the driver reports: threads, links, certificates, and what it counts.

use protocol::module::Counts;
use protocol::signal::{CommonTable, DriverTable, InfoSource, InfoTable};
use protocol::{Address, CertificateReport, LinkSecurity, PeerReport, RuntimeReport, ThreadReport};
use types::{NodeId, Value};

/// The tables that the driver knows.
pub(super) fn report_rows(node: NodeId, table: InfoTable, report: &RuntimeReport) -> Vec<Vec<Value>> {
    match table.source() {
        InfoSource::Driver(table) => own_rows(node, table, report),
        InfoSource::All(CommonTable::Counters) => counter_rows(node, "runtime", 0, &report.counts),
        InfoSource::Main(_) | InfoSource::Ldm(_) | InfoSource::Sql(_) => Vec::new(),
    }
}

fn own_rows(node: NodeId, table: DriverTable, report: &RuntimeReport) -> Vec<Vec<Value>> {
    match table {
        DriverTable::Certificates => certificate_rows(node, report),
        DriverTable::Transporters => report.peers.iter().map(|peer| transporter_row(node, peer)).collect(),
        DriverTable::ThreadBlocks => thread_rows(node, report, |thread| {
            let block =
                |module: &Address| vec![Value::text(module.kind.name()), Value::UInt(module.instance.into())];
            thread.modules.iter().map(block).collect()
        }),
        DriverTable::Threads => thread_rows(node, report, |thread| {
            let modules: Vec<String> = thread.modules.iter().map(ToString::to_string).collect();
            let cpu = thread.cpu.map_or(Value::Null, |cpu| Value::UInt(cpu.into()));
            let texts = [Value::text(&thread.name), Value::text(&modules.join(" "))];
            let weight = thread.weight.map_or(Value::Null, |weight| Value::UInt(weight.into()));
            let load = [thread.busy.into(), microseconds(thread.backlog)].map(Value::UInt);
            let reads = [thread.reads_given, thread.reads_taken].map(Value::UInt);
            let longest =
                [Value::UInt(microseconds(thread.longest_call)), Value::text(thread.longest_call_of)];
            let row = texts.into_iter().chain([cpu, Value::UInt(thread.connections.into())]);
            vec![row.chain(load).chain([weight]).chain(reads).chain(longest).collect()]
        }),
        DriverTable::CpuStat => thread_rows(node, report, |thread| {
            let times = [thread.user, thread.system, thread.asleep].map(microseconds);
            let counts = [thread.rounds, thread.signals, thread.system_calls, thread.wakes];
            vec![times.into_iter().chain(counts).map(Value::UInt).collect()]
        }),
        DriverTable::ThreadStat => thread_rows(node, report, |thread| {
            let mut row = vec![Value::text(&thread.name)];
            row.extend([thread.rounds, thread.signals, thread.wakes].map(Value::UInt));
            // c_l_sent_prioa .. os_now: nobody counts them
            row.extend(std::iter::repeat_n(Value::Null, 6));
            row.extend([thread.user, thread.system].map(|time| Value::UInt(microseconds(time))));
            row.extend(std::iter::repeat_n(Value::Null, 4));
            vec![row]
        }),
    }
}

/// Rows of threads: the node, the thread's number, and what is told of it.
fn thread_rows(
    node: NodeId,
    report: &RuntimeReport,
    rest: impl Fn(&ThreadReport) -> Vec<Vec<Value>>,
) -> Vec<Vec<Value>> {
    let of = |(number, thread): (usize, &ThreadReport)| {
        let head = [node.0.into(), number as u64].map(Value::UInt);
        let row = move |rest: Vec<Value>| head.iter().cloned().chain(rest).collect::<Vec<Value>>();
        rest(thread).into_iter().map(row).collect::<Vec<_>>()
    };
    report.threads.iter().enumerate().flat_map(of).collect()
}

/// NDB's columns; what nobody counts is NULL.
fn transporter_row(node: NodeId, peer: &PeerReport) -> Vec<Value> {
    let (kind, is_encrypted) = match peer.security {
        LinkSecurity::Local => ("SHM", 0),
        LinkSecurity::Tls => ("TCP", 1),
        LinkSecurity::Plain => ("TCP", 0),
    };
    let mut row = vec![Value::UInt(node.0.into()), Value::UInt(peer.node.0.into())];
    row.extend([Value::text("CONNECTED"), Value::text(&peer.address)]);
    // bytes_sent .. slowdown_count
    row.extend(std::iter::repeat_n(Value::Null, 7));
    row.push(Value::UInt(is_encrypted));
    // sendbuffer_used_bytes .. sendbuffer_max_alloc_bytes
    row.extend(std::iter::repeat_n(Value::Null, 4));
    row.push(Value::text(kind));
    row
}

fn microseconds(duration: stdx::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Rows of ndbinfo.counters.
pub(crate) fn counter_rows(node: NodeId, block: &str, instance: u8, counts: &Counts) -> Vec<Vec<Value>> {
    let row = |(id, (name, count)): (usize, &(&'static str, u64))| {
        vec![
            Value::UInt(node.0.into()),
            Value::text(block),
            Value::UInt(instance.into()),
            Value::UInt(id as u64),
            Value::text(name),
            Value::UInt(*count),
        ]
    };
    counts.iter().enumerate().map(row).collect()
}

/// Rows of ndbinfo.certificates.
fn certificate_rows(node: NodeId, report: &RuntimeReport) -> Vec<Vec<Value>> {
    let row = |certificate: &CertificateReport| {
        let texts = [&certificate.name, &certificate.expires, &certificate.serial];
        let texts = texts.into_iter().map(|text| Value::text(text));
        std::iter::once(Value::UInt(node.0.into())).chain(texts).collect()
    };
    report.certificates.iter().map(row).collect()
}
