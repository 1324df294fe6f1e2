//! Finding free TCP ports before nodes are started, so that a port in use is one line and not a node that dies.
//!
//! A port counts as free if it can be bound on 127.0.0.1. All ports that were found are held until the [`Reservation`]
//! is dropped, right before the nodes start: so no port is given out twice. Another process may take one in between;
//! then the node says so.

use crate::terminal::Failure;
use bench::ports::free_ports;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

/// How often a free port is looked for: another process may take one that was found.
const FREE_TRIES: u32 = 20;

/// Ports that are held.
#[derive(Default, Debug)]
pub(crate) struct Reservation {
    held: Vec<(TcpListener, String)>,
}

impl Reservation {
    /// `count` ports from `first` on, or any free ones if `first` is 0. `option` is what the user may change.
    pub(crate) fn take(&mut self, first: u16, count: u16, option: &str) -> Result<Vec<u16>, Failure> {
        (0..count)
            .map(|index| match first {
                0 => self.take_one(0, option),
                _ => match first.checked_add(index) {
                    Some(port) => self.take_one(port, option),
                    None => Err(Failure::new(format!(
                        "{option} {first} is too high: {count} ports from it on are needed, and the last port is {}",
                        u16::MAX
                    ))),
                },
            })
            .collect()
    }

    fn take_one(&mut self, port: u16, option: &str) -> Result<u16, Failure> {
        let mut tries = if port == 0 { FREE_TRIES } else { 1 };
        loop {
            tries -= 1;
            let wanted = if port == 0 { free_ports(1).map_err(Failure::new)? } else { port };
            match TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)) {
                Ok(listener) => {
                    self.held.push((listener, option.to_owned()));
                    return Ok(wanted);
                }
                // Somebody else has taken it since it was found free.
                Err(error) if tries > 0 && error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(Failure::new(self.explain(wanted, option, &error))),
            }
        }
    }

    fn explain(&self, port: u16, option: &str, error: &std::io::Error) -> String {
        let is_same =
            |listener: &TcpListener| listener.local_addr().is_ok_and(|address| address.port() == port);
        if let Some((_, other)) = self.held.iter().find(|(listener, _)| is_same(listener)) {
            return format!("port {port} is wanted twice: by {other} and by {option}");
        }
        if error.kind() == ErrorKind::AddrInUse {
            format!("port {port} is in use by another process; choose another one with {option}")
        } else if error.kind() == ErrorKind::PermissionDenied {
            format!("port {port} needs privileges; choose one above 1023 with {option}")
        } else {
            format!("port {port} ({option}) cannot be used: {error}")
        }
    }
}

#[cfg(test)]
mod tests;
