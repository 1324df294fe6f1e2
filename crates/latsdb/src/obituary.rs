//! Telling a node's peers that its process has ended: by its angel, who has reaped it.
//!
//! ```text
//! node, when it starts      writes into the angel's pipe: who it is, whether it stays away after an error, and where its peers listen
//! node ends, however        its end of the pipe closes
//! angel                     reads the pipe, connects to each peer's cluster port, sends `Notice::ProcessExited`
//! ```
//! So the angel of any node knows whom to tell without reading a configuration. The notice is what lets the others acknowledge writes at once instead of waiting
//! until the read lease of the dead node has run out: a connection that closes proves nothing, a process that was reaped does.
//!
//! Invariants: a notice is sent only after `wait` has returned the status of the very process that wrote the pipe; an angel that ends with its node
//! ends behind its notices ([`Telling::wait`]).

use protocol::transport::{Notice, encode_notice};
use runtime::PeerConfig;
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use types::NodeId;

/// How long a peer may take to accept the notice; who does not hears of the end by its heartbeats.
const TIMEOUT: Duration = Duration::from_millis(500);
/// How long an angel stays to tell: twice that, to connect and to write.
const TELLING_MAX: Duration = Duration::from_millis(1000);
/// Nobody has more peers than this.
const SIZE_MAX: u64 = 64 * 1024;

/// The angel's end of the pipe.
#[derive(Debug)]
pub(crate) struct Obituary {
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
pub(crate) fn pipe() -> io::Result<(Obituary, NodeEnd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfd(&writer, FdFlags::empty())?;
    Ok((Obituary { reader: File::from(reader) }, NodeEnd(writer)))
}

/// In the node: tells the angel whom to tell. The pipe stays open until the process ends.
pub(crate) fn write(
    descriptor: RawFd,
    (cluster, node, start): (&str, NodeId, u64),
    stops_on_error: bool,
    peers: &[PeerConfig],
) {
    if descriptor < 0 {
        return;
    }
    #[expect(unsafe_code, reason = "the descriptor comes by its number, as inherited ones do")]
    // SAFETY: the angel passes the number of a pipe that this process inherited and that nothing else here owns; it is never closed.
    let mut pipe = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    let mut text = format!("{node}\n{start}\n{cluster}\n{}\n", u8::from(stops_on_error));
    for peer in peers {
        text.push_str(&format!("{}\t{}\n", peer.host, peer.port));
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
        // Nobody sends anything: the last one who tells closes the channel.
        let _ = self.told.recv_timeout(TELLING_MAX);
    }

    /// Whether the node stays away if it has ended by an error (StopOnError); `None`: it had not read its configuration yet.
    pub(crate) fn stops_on_error(&self) -> Option<bool> {
        self.stops_on_error
    }
}

/// What a node has written.
#[derive(PartialEq, Eq, Debug)]
struct Will {
    notice: Notice,
    peers: Vec<(String, u16)>,
    stops_on_error: bool,
}

impl Obituary {
    /// Tells the peers of a process that has been reaped; does not wait for them.
    pub(crate) fn publish(self) -> Telling {
        let (told, telling) = mpsc::channel();
        let mut text = String::new();
        let mut stops_on_error = None;
        if self.reader.take(SIZE_MAX).read_to_string(&mut text).is_ok()
            && let Some(will) = parse(&text)
        {
            stops_on_error = Some(will.stops_on_error);
            tell(&will.notice, will.peers, &told);
        }
        Telling { told: telling, stops_on_error }
    }
}

fn tell(notice: &Notice, peers: Vec<(String, u16)>, told: &Sender<()>) {
    let mut bytes = Vec::new();
    encode_notice(notice, &mut bytes);
    for (host, port) in peers {
        let (bytes, told) = (bytes.clone(), told.clone());
        let tell = move || {
            let addresses = (host.as_str(), port).to_socket_addrs().into_iter().flatten();
            let connected = |address| TcpStream::connect_timeout(&address, TIMEOUT).ok();
            if let Some(mut stream) = addresses.into_iter().find_map(connected) {
                let _ = stream.set_write_timeout(Some(TIMEOUT));
                let _ = stream.write_all(&bytes);
            }
            drop(told);
        };
        // Peers that cannot be told hear of the end otherwise.
        let _ = std::thread::Builder::new().name("obituary".to_owned()).spawn(tell);
    }
}

fn parse(text: &str) -> Option<Will> {
    let mut lines = text.lines();
    let node = NodeId(lines.next()?.parse().ok()?);
    let start = lines.next()?.parse().ok()?;
    let cluster = lines.next()?.to_owned();
    let stops_on_error = lines.next()? != "0";
    let peers = lines.map(|line| {
        let (host, port) = line.split_once('\t')?;
        Some((host.to_owned(), port.parse().ok()?))
    });
    let peers = peers.collect::<Option<Vec<_>>>()?;
    Some(Will { notice: Notice::ProcessExited { cluster, node, start }, peers, stops_on_error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_writes_is_what_its_angel_reads() {
        let (obituary, end) = pipe().unwrap();
        let peer =
            |node, port| PeerConfig { node: NodeId(node), host: "127.0.0.1".to_owned(), port, unix: None };
        write(end.number(), ("c", NodeId(3), 77), false, &[peer(1, 4001), peer(2, 4002)]);
        drop(end);
        let mut text = String::new();
        (&obituary.reader).read_to_string(&mut text).unwrap();
        let notice = Notice::ProcessExited { cluster: "c".to_owned(), node: NodeId(3), start: 77 };
        let peers = vec![("127.0.0.1".to_owned(), 4001), ("127.0.0.1".to_owned(), 4002)];
        assert_eq!(parse(&text), Some(Will { notice, peers, stops_on_error: false }));
    }

    #[test]
    fn who_waits_has_told_everyone() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (obituary, end) = pipe().unwrap();
        let peer = |port| PeerConfig { node: NodeId(1), host: "127.0.0.1".to_owned(), port, unix: None };
        write(end.number(), ("c", NodeId(3), 77), true, &[peer(gone), peer(port)]);
        drop(end);
        let telling = obituary.publish();
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
        assert_eq!(parse("3\n77\nc\n1\nhost without port\n"), None);
    }
}
