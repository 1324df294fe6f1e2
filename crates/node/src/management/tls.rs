//! `tls info`: how this session and the links of this node are protected, and which certificates there are.

use super::{Management, Proof};
use protocol::{CertificateReport, ConnectionId, LinkSecurity, PeerReport, RuntimeReport};

impl Management {
    /// The answer to `tls info`, from what the driver knows.
    #[must_use]
    pub fn tls_information(&self, connection: ConnectionId, report: &RuntimeReport) -> String {
        let proof = self.clients.get(&connection).map_or(Proof::None, |client| client.proof);
        let session = match proof {
            Proof::Certificate => "TLS, with a certificate of this cluster",
            Proof::None | Proof::Token => "no TLS",
        };
        let mut text = format!("This session: {session}\n");
        if report.certificates.is_empty() {
            text.push_str("This node has no keys\n");
        }
        for certificate in &report.certificates {
            text.push_str(&format!("Certificate: {}\n", describe(certificate)));
        }
        text.push_str(&format!("Links of node {}:\n", self.node));
        for peer in &report.peers {
            text.push_str(&format!("id={}\t@{}  ({})\n", peer.node, peer.address, protection(peer)));
        }
        text
    }
}

fn describe(certificate: &CertificateReport) -> String {
    let CertificateReport { name, expires, serial } = certificate;
    format!("'{name}', expires on {expires}, serial {serial}")
}

fn protection(peer: &PeerReport) -> String {
    match (peer.security, &peer.certificate) {
        (LinkSecurity::Local, _) => "within this machine".to_owned(),
        (LinkSecurity::Plain, _) => "no TLS".to_owned(),
        (LinkSecurity::Tls, None) => "TLS".to_owned(),
        (LinkSecurity::Tls, Some(certificate)) => format!("TLS: {}", describe(certificate)),
    }
}

#[cfg(test)]
mod tests;
