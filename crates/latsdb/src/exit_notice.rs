//! The notice to a node's peers that its process has ended. Its angel sends it, after it has reaped the process.
//!
//! ```text
//! node, when it starts      writes into the angel's pipe: its name, whether it stays away after an error, and
//!                           where its peers listen
//! node ends, however        its end of the pipe closes
//! angel                     reads the pipe, connects to each peer: by its Unix socket on this machine, else to
//!                           its cluster port, with the node's keys if it has any; sends `Notice::ProcessExited`
//! ```
//! So the angel of any node knows whom to tell without reading a configuration. With the notice the others acknowledge
//! writes at once, instead of waiting until the read lease of the dead node has run out. A connection that closes
//! proves nothing; a process that was reaped does.
//!
//! Invariants: a notice is sent only after `wait` has returned the status of the very process that wrote the pipe. An
//! angel that ends with its node ends behind its notices ([`Telling::wait`]).

use crate::key_files::KeyFiles;
use protocol::transport::{Notice, encode_notice};
use runtime::PeerConfig;
use runtime::keys::{NodeKeys, TlsStream};
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use types::NodeId;

/// How long a peer may take to accept the notice. A peer that does not hears of the end by its heartbeats.
const TIMEOUT: Duration = Duration::from_millis(500);
/// How long an angel stays to tell: twice that, to connect and to write.
const TELLING_MAX: Duration = Duration::from_millis(1000);
/// Nobody has more peers than this.
const SIZE_MAX: u64 = 64 * 1024;

/// The angel's end of the pipe.
#[derive(Debug)]
pub(crate) struct ExitNotice {
    reader: File,
}

/// The node's end, as the angel passes it on.
#[derive(Debug)]
pub(crate) struct NodeEnd(OwnedFd);

impl NodeEnd {
    /// The descriptor's number, the same in the child.
    pub(crate) fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A pipe: this process keeps one end, the next child inherits the other one.
pub(crate) fn pipe() -> io::Result<(ExitNotice, NodeEnd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfd(&writer, FdFlags::empty())?;
    Ok((ExitNotice { reader: File::from(reader) }, NodeEnd(writer)))
}

/// In the node: tells the angel whom to tell. The pipe stays open until the process ends.
pub(crate) fn write(
    descriptor: RawFd,
    (cluster, node, start): (&str, NodeId, u64),
    stops_on_error: bool,
    keys: Option<&KeyFiles>,
    peers: &[PeerConfig],
) {
    if descriptor < 0 {
        return;
    }
    #[expect(unsafe_code, reason = "the descriptor comes by its number, as inherited ones do")]
    // SAFETY: the angel passes the number of a pipe that this process inherited and that nothing else here owns; it is
    // never closed.
    let mut pipe = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let mut text = format!("{node}\n{start}\n{cluster}\n{}\n", u8::from(stops_on_error));
    let path = |path: &Path| path.display().to_string();
    let files = keys.map(|files| format!("{}\t{}", path(&files.certificate), path(&files.key)));
    text.push_str(&format!("{}\n", files.unwrap_or_default()));
    for peer in peers {
        let socket = peer.unix.as_deref().map(path).unwrap_or_default();
        text.push_str(&format!("{}\t{}\t{socket}\n", peer.host, peer.port));
    }
    // An angel that is gone needs not to be told.
    let _ = pipe.write_all(text.as_bytes());
}

/// Notices on their way.
#[derive(Debug)]
pub(crate) struct Telling {
    told: Receiver<()>,
    stops_on_error: Option<bool>,
}

impl Telling {
    /// Returns when all peers were told or cannot be; a process that ends sooner takes its notices with it.
    pub(crate) fn wait(self) {
        // Nothing is sent on the channel: the last thread that tells a peer closes it.
        let _ = self.told.recv_timeout(TELLING_MAX);
    }

    /// Whether the node stays away if it has ended by an error (StopOnError); `None`: it had not read its configuration
    /// yet.
    pub(crate) fn stops_on_error(&self) -> Option<bool> {
        self.stops_on_error
    }
}

/// The instructions that a node has written into the pipe.
#[derive(PartialEq, Eq, Debug)]
struct Instructions {
    notice: Notice,
    /// The keys that prove to peers on other machines that this node's angel tells them.
    keys: Option<KeyFiles>,
    peers: Vec<Peer>,
    stops_on_error: bool,
}

/// A peer that is to be told, and where: by its Unix socket if it is on this machine.
#[derive(PartialEq, Eq, Debug)]
struct Peer {
    host: String,
    port: u16,
    socket: Option<PathBuf>,
}

impl ExitNotice {
    /// Tells the peers of a process that has been reaped; does not wait for them.
    pub(crate) fn publish(self) -> Telling {
        let (told, telling) = mpsc::channel();
        let mut text = String::new();
        let mut stops_on_error = None;
        if self.reader.take(SIZE_MAX).read_to_string(&mut text).is_ok()
            && let Some(will) = parse(&text)
        {
            stops_on_error = Some(will.stops_on_error);
            tell(&will.notice, will.keys.as_ref(), will.peers, &told);
        }
        Telling { told: telling, stops_on_error }
    }
}

fn tell(notice: &Notice, keys: Option<&KeyFiles>, peers: Vec<Peer>, told: &Sender<()>) {
    let mut bytes = Vec::new();
    encode_notice(notice, &mut bytes);
    let keys = keys.and_then(|files| files.load().ok());
    for peer in peers {
        let (bytes, told, keys) = (bytes.clone(), told.clone(), keys.clone());
        let tell = move || {
            // A peer that cannot be told hears of the end otherwise.
            let _ = peer.tell(&bytes, keys.as_ref());
            drop(told);
        };
        // Peers that cannot be told hear of the end otherwise.
        let _ = std::thread::Builder::new().name("exit_notice".to_owned()).spawn(tell);
    }
}

impl Peer {
    fn tell(&self, bytes: &[u8], keys: Option<&NodeKeys>) -> io::Result<()> {
        if let Some(mut stream) = self.socket.as_ref().and_then(|path| UnixStream::connect(path).ok()) {
            stream.set_write_timeout(Some(TIMEOUT))?;
            return stream.write_all(bytes);
        }
        let connect = || {
            let addresses = (self.host.as_str(), self.port).to_socket_addrs()?;
            let connected =
                addresses.filter_map(|address| TcpStream::connect_timeout(&address, TIMEOUT).ok());
            let stream = connected.into_iter().next().ok_or(io::ErrorKind::NotConnected)?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            io::Result::Ok(stream)
        };
        // One that need not speak TLS may not be able to.
        match keys.map(|keys| TlsStream::connect(connect()?, keys, None)) {
            Some(Ok(mut stream)) => stream.write_all(bytes),
            Some(Err(_)) | None => connect()?.write_all(bytes),
        }
    }
}

fn parse(text: &str) -> Option<Instructions> {
    let mut lines = text.lines();
    let node = NodeId(lines.next()?.parse().ok()?);
    let start = lines.next()?.parse().ok()?;
    let cluster = lines.next()?.to_owned();
    let stops_on_error = lines.next()? != "0";
    let files = lines.next()?.split_once('\t');
    let keys = files.map(|(certificate, key)| KeyFiles { certificate: certificate.into(), key: key.into() });
    let peers = lines.map(|line| {
        let (host, rest) = line.split_once('\t')?;
        let (port, socket) = rest.split_once('\t')?;
        let socket = (!socket.is_empty()).then(|| PathBuf::from(socket));
        Some(Peer { host: host.to_owned(), port: port.parse().ok()?, socket })
    });
    let peers = peers.collect::<Option<Vec<_>>>()?;
    Some(Instructions { notice: Notice::ProcessExited { cluster, node, start }, keys, peers, stops_on_error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeRole;

    fn peer(port: u16, socket: Option<&str>) -> PeerConfig {
        PeerConfig {
            node: NodeId(1),
            host: "127.0.0.1".to_owned(),
            port,
            unix: socket.map(PathBuf::from),
            role: NodeRole::Data,
            requires_tls: false,
        }
    }

    #[test]
    fn what_a_node_writes_is_what_its_angel_reads() {
        let (exit_notice, end) = pipe().unwrap();
        let files = KeyFiles { certificate: "/k/cert".into(), key: "/k/key".into() };
        let peers = [peer(4001, Some("/d/one.sock")), peer(4002, None)];
        write(end.number(), ("c", NodeId(3), 77), false, Some(&files), &peers);
        drop(end);
        let mut text = String::new();
        (&exit_notice.reader).read_to_string(&mut text).unwrap();
        let notice = Notice::ProcessExited { cluster: "c".to_owned(), node: NodeId(3), start: 77 };
        let peer = |port, socket: Option<&str>| Peer {
            host: "127.0.0.1".to_owned(),
            port,
            socket: socket.map(PathBuf::from),
        };
        let peers = vec![peer(4001, Some("/d/one.sock")), peer(4002, None)];
        assert_eq!(
            parse(&text),
            Some(Instructions { notice, keys: Some(files), peers, stops_on_error: false })
        );
    }

    #[test]
    fn who_waits_has_told_everyone() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (exit_notice, end) = pipe().unwrap();
        let peers = [peer(gone, None), peer(port, Some("/no/such.sock"))];
        write(end.number(), ("c", NodeId(3), 77), true, None, &peers);
        drop(end);
        let telling = exit_notice.publish();
        assert_eq!(telling.stops_on_error(), Some(true));
        telling.wait();
        listener.set_nonblocking(true).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let mut expected = Vec::new();
        encode_notice(
            &Notice::ProcessExited { cluster: "c".to_owned(), node: NodeId(3), start: 77 },
            &mut expected,
        );
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_process_that_died_early_is_nobodys_news() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("3\n77\n"), None);
        assert_eq!(parse("3\n77\nc\n1\n\nhost without port\n"), None);
    }
}
