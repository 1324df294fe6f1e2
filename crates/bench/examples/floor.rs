//! Runs the floor: `cargo run --release -p bench --example floor -- 127.0.0.1:3307 2`.

use std::io;
use std::net::SocketAddr;

fn main() -> io::Result<()> {
    let usage = || io::Error::new(io::ErrorKind::InvalidInput, "usage: floor ADDRESS:PORT THREADS");
    let mut arguments = std::env::args().skip(1);
    let address: SocketAddr = arguments.next().and_then(|text| text.parse().ok()).ok_or_else(usage)?;
    let threads: usize = arguments.next().and_then(|text| text.parse().ok()).ok_or_else(usage)?;
    match bench::floor::run(address, threads)? {}
}
