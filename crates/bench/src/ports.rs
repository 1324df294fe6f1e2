//! Free ports of loopback for nodes that may be away for a while.
//!
//! Invariant: the system gives none of them to an outgoing connection. A node that is killed and starts again finds its
//! port free.

use std::fs;
use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

const LOWEST: u32 = 15_000;
/// How many places are tried.
const TRIES: usize = 200;
/// Places are so far from each other.
const STRIDE: u32 = 32;

/// The first of `count` consecutive ports that are free now.
pub fn free_ports(count: u16) -> Result<u16, String> {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let given = range.split_whitespace().next().and_then(|low| low.parse().ok()).unwrap_or(32_768);
    let room = u32::max(given, LOWEST + 1_000) - LOWEST - u32::from(count);
    for _ in 0..TRIES {
        // Other processes look for ports too.
        let tried = TRIED.fetch_add(1, Ordering::Relaxed);
        let first = LOWEST + (process::id().wrapping_mul(97) + tried * STRIDE) % room;
        let mut ports = (first..first + u32::from(count)).map(u16::try_from);
        if ports.all(|port| port.is_ok_and(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())) {
            return u16::try_from(first).map_err(|error| error.to_string());
        }
    }
    Err(format!("no {count} consecutive free ports"))
}
