//! A relay between two nodes that can be cut: bytes stay where they are until it is healed, and nobody is told.
//!
//! A cable that is pulled and put back does the same. Neither side learns of it but by silence. Bytes on their way
//! arrive in the end, long after both sides have drawn their conclusions.
//!
//! **Invariants.** Bytes of a connection are neither lost nor reordered. A relay's threads end with the connections,
//! and its listener with the process: it is a tool for a campaign, not a service.

use super::dev::loopback;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const BUFFER_SIZE: usize = 64 * 1024;

/// How often a cut relay looks whether it is healed.
const CUT_INTERVAL: Duration = Duration::from_millis(2);

/// Whether two nodes are cut from each other; shared by the relays of both directions.
pub(super) type Cut = Arc<AtomicBool>;

/// Starts a relay from one port of loopback to another.
pub(super) fn start(from: u16, to: u16, cut: &Cut) -> Result<(), String> {
    let listener =
        TcpListener::bind(loopback(from)).map_err(|error| format!("relay port {from}: {error}"))?;
    let cut = Arc::clone(cut);
    let accept = move || {
        for near in listener.incoming().flatten() {
            let cut = Arc::clone(&cut);
            // A relay that can't be started is a connection that is refused.
            let _ = thread::Builder::new().name("relay".to_owned()).spawn(move || connect(near, to, &cut));
        }
    };
    thread::Builder::new()
        .name("relay".to_owned())
        .spawn(accept)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

fn connect(near: TcpStream, to: u16, cut: &Cut) {
    wait(cut);
    let Ok(far) = TcpStream::connect(loopback(to)) else { return };
    // Delays are the nodes' business.
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (Ok(near_again), Ok(far_again)) = (near.try_clone(), far.try_clone()) else { return };
    let back_cut = Arc::clone(cut);
    let back = thread::Builder::new().name("relay".to_owned());
    if back.spawn(move || pump(far_again, near_again, &back_cut)).is_ok() {
        pump(near, far, cut);
    }
}

/// Until one side closes: then the other one learns of it, too.
fn pump(mut from: TcpStream, mut to: TcpStream, cut: &Cut) {
    let mut buffer = vec![0; BUFFER_SIZE];
    while let Ok(size) = from.read(&mut buffer) {
        wait(cut);
        if size == 0 || to.write_all(&buffer[..size]).is_err() {
            break;
        }
    }
    wait(cut);
    // They may be closed already.
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}

fn wait(cut: &Cut) {
    while cut.load(Ordering::Relaxed) {
        thread::sleep(CUT_INTERVAL);
    }
}

#[cfg(test)]
mod tests;
