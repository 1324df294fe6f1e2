//! A connection to a management node, encrypted if there are keys for it.

use crate::key_files::ClientKeys;
use runtime::keys::TlsStream;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// How a management node is talked with.
pub(super) enum Channel {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

impl Channel {
    /// Speaks TLS if there are keys; within a machine only if they were asked for.
    pub(super) fn open(stream: TcpStream, keys: Option<&ClientKeys>) -> io::Result<Self> {
        let is_near = stream.peer_addr()?.ip().to_canonical().is_loopback();
        let Some(keys) = keys.filter(|keys| keys.is_asked_for || !is_near) else {
            return Ok(Self::Plain(stream));
        };
        let loaded = keys.files.load().map_err(|failure| io::Error::other(failure.to_string()))?;
        stream.set_read_timeout(Some(super::CONNECT_TIMEOUT))?;
        // The process at the other end has to be a node of the cluster; which one it is, is not known yet.
        let secured = TlsStream::connect(stream, &loaded, None);
        let explained = |error| {
            let certificate = keys.files.certificate.display();
            io::Error::other(format!("it does not speak TLS with {certificate}: {error}"))
        };
        secured.map(|stream| Self::Tls(Box::new(stream))).map_err(explained)
    }

    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.socket(),
        }
    }
}

impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
