//! Listening: addresses are bound at start, so that a port in use is an error at once; connections are accepted when
//! the node is ready.
//!
//! A bound TCP port that does not listen refuses connections, which is what a client of a starting node should see: it
//! tries the next node. A Unix socket file left by a dead process is removed; one that somebody answers on is "in use".

use crate::config::StartError;
use protocol::ConnectionKind;
use rustix::fd::OwnedFd;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, acceptfrom_with, bind, getsockname,
    listen, socket_with, sockopt,
};
use std::net::SocketAddr;
use std::path::Path;

/// Connections that the kernel keeps for us while we are busy.
const BACKLOG: i32 = 1024;

/// The purpose of a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListenerKind {
    MySqlTcp,
    MySqlUnix,
    Management,
    ClusterTcp,
    ClusterUnix,
}

impl ListenerKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::MySqlTcp => "MySQL port",
            Self::MySqlUnix => "MySQL socket",
            Self::Management => "management port",
            Self::ClusterTcp => "cluster port",
            Self::ClusterUnix => "cluster socket",
        }
    }

    pub(crate) const fn is_for_clients(self) -> bool {
        matches!(self, Self::MySqlTcp | Self::MySqlUnix | Self::Management)
    }
}

/// A bound socket.
pub(crate) struct Listener {
    pub(crate) kind: ListenerKind,
    pub(crate) socket: OwnedFd,
    pub(crate) address: String,
}

impl Listener {
    pub(crate) fn tcp(kind: ListenerKind, address: SocketAddr) -> Result<Self, StartError> {
        let attempt = || {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = new_socket(family)?;
            sockopt::set_socket_reuseaddr(&socket, true)?;
            // Accepted connections inherit these: two system calls less for each.
            sockopt::set_tcp_nodelay(&socket, true)?;
            sockopt::set_socket_keepalive(&socket, true)?;
            bind(&socket, &address)?;
            Ok(socket)
        };
        match attempt() {
            Ok(socket) => Ok(Self { kind, socket, address: address.to_string() }),
            Err(error) => Err(failure(kind, address.to_string(), error)),
        }
    }

    pub(crate) fn unix(kind: ListenerKind, path: &Path) -> Result<Self, StartError> {
        let attempt = || {
            let address = SocketAddrUnix::new(path)?;
            let socket = new_socket(AddressFamily::UNIX)?;
            match bind(&socket, &address) {
                Err(Errno::ADDRINUSE) if is_abandoned(&address) => {
                    rustix::fs::unlink(path)?;
                    bind(&socket, &address)?;
                }
                other => other?,
            }
            if kind == ListenerKind::ClusterUnix {
                // Nobody can have connected yet: it does not listen.
                rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR)?;
            }
            Ok(socket)
        };
        match attempt() {
            Ok(socket) => Ok(Self { kind, socket, address: path.display().to_string() }),
            Err(error) => Err(failure(kind, path.display().to_string(), error)),
        }
    }

    pub(crate) fn open(&self) -> Result<(), StartError> {
        listen(&self.socket, BACKLOG).map_err(|error| failure(self.kind, self.address.clone(), error))
    }

    /// The address that the system chose for port 0.
    pub(crate) fn bound(&self) -> Option<SocketAddr> {
        SocketAddr::try_from(getsockname(&self.socket).ok()?).ok()
    }

    /// The next connection in the queue.
    pub(crate) fn accept(&self) -> Result<Accepted, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match self.kind {
            ListenerKind::MySqlUnix | ListenerKind::ClusterUnix => {
                let socket = accept_with(&self.socket, flags)?;
                // Without credentials, which the kernel gives for every Unix socket, it is a stranger.
                let owner = rustix::process::geteuid();
                let is_owner = sockopt::socket_peercred(&socket).is_ok_and(|peer| peer.uid == owner);
                let kind = ConnectionKind::MySqlUnix { is_owner };
                Ok(Accepted { socket, kind, peer: "localhost".to_owned() })
            }
            ListenerKind::MySqlTcp | ListenerKind::Management | ListenerKind::ClusterTcp => {
                let (socket, peer) = acceptfrom_with(&self.socket, flags)?;
                let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
                let loopback = peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback());
                let is_management = self.kind == ListenerKind::Management;
                let kind = if is_management {
                    ConnectionKind::Management
                } else {
                    ConnectionKind::MySqlTcp { loopback }
                };
                let peer = peer.map_or_else(String::new, |peer| {
                    SocketAddr::new(peer.ip().to_canonical(), peer.port()).to_string()
                });
                Ok(Accepted { socket, kind, peer })
            }
        }
    }
}

/// A connection just accepted.
pub(crate) struct Accepted {
    pub(crate) socket: OwnedFd,
    pub(crate) kind: ConnectionKind,
    pub(crate) peer: String,
}

pub(crate) fn new_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

/// Whether the process at the other end of a Unix socket is this one's user's, or root's.
pub(crate) fn is_of_this_user(socket: &OwnedFd) -> bool {
    let peer = sockopt::socket_peercred(socket).map(|peer| peer.uid);
    peer.is_ok_and(|uid| uid == rustix::process::geteuid() || uid.is_root())
}

/// A socket file that nobody listens on.
fn is_abandoned(address: &SocketAddrUnix) -> bool {
    let Ok(probe) = new_socket(AddressFamily::UNIX) else { return false };
    rustix::net::connect(&probe, address) == Err(Errno::CONNREFUSED)
}

fn failure(kind: ListenerKind, address: String, error: Errno) -> StartError {
    StartError::Listen { what: kind.name(), address, error: error.into() }
}
