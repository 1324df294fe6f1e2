//! TLS on a blocking connection: for the tools of operators, for a node that fetches its configuration, for an angel
//! that tells of its node's end.

use super::{Identity, NodeKeys};
use crate::tls::TlsProgress;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Bytes read at once.
const READ_SIZE: usize = 16 * 1024;

/// A connection on which TLS is established.
pub struct TlsStream {
    stream: TcpStream,
    filter: crate::tls::TlsFilter,
    plain: Vec<u8>,
    taken: usize,
}

impl std::fmt::Debug for TlsStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TlsStream").finish_non_exhaustive()
    }
}

impl TlsStream {
    /// Establishes TLS. The peer has to be a node of our cluster, and the one with this identity if there is one. Waits
    /// no longer than the stream's own timeouts.
    pub fn connect(stream: TcpStream, keys: &NodeKeys, identity: Option<Identity<'_>>) -> io::Result<Self> {
        let filter = keys.connect().map_err(io::Error::other)?;
        let mut connection = Self { stream, filter, plain: Vec::new(), taken: 0 };
        connection.filter.begin();
        connection.write_outgoing()?;
        while !connection.filter.is_established() {
            connection.read_some()?;
        }
        if let Some(identity) = identity {
            NodeKeys::judge(&connection.filter, identity).map_err(io::Error::other)?;
        }
        Ok(connection)
    }

    /// The connection below, for its timeouts.
    #[must_use]
    pub fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// Which node or tool is at the other end, for people.
    #[must_use]
    pub fn peer_name(&self) -> String {
        super::peer_facts(&self.filter).map_or_else(|_| String::new(), |facts| facts.name)
    }

    fn read_some(&mut self) -> io::Result<()> {
        let mut raw = [0; READ_SIZE];
        let count = self.stream.read(&mut raw)?;
        if count == 0 {
            let reason = "the connection was closed";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        let progress = self.filter.receive(&raw[..count], &mut self.plain);
        self.write_outgoing()?;
        if progress == TlsProgress::Failed {
            return Err(io::Error::other(format!("TLS: {}", self.filter.failure())));
        }
        Ok(())
    }

    fn write_outgoing(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.filter.outgoing)?;
        self.filter.outgoing.clear();
        Ok(())
    }
}

impl Read for TlsStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.plain.len() {
            (self.taken, self.plain) = (0, Vec::new());
            if self.filter.has_ended() {
                return Ok(0);
            }
            match self.read_some() {
                // A process that is killed says no farewell.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => other?,
            }
        }
        let count = into.len().min(self.plain.len() - self.taken);
        into[..count].copy_from_slice(&self.plain[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.filter.send_slice(bytes);
        match self.write_outgoing() {
            Ok(()) => Ok(bytes.len()),
            // A peer that has closed the connection may have said why.
            Err(error) => {
                Err(self.read_some().err().filter(|why| why.kind() == io::ErrorKind::Other).unwrap_or(error))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
