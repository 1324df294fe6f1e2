//! The keys of a node or an operator's tool, and which peer is let in with which certificate.
//!
//! ```text
//! certificate file     own certificate, then those of the authorities that are believed (as in NDB)
//! key file             the private key
//! TLS 1.3 only         both ends present a certificate; no tickets, no resumption: each connection is judged anew
//! ```
//! A peer is judged in two steps. While TLS is being established: some authority of ours has signed it, today lies
//! within its validity, and it is of our cluster. Once the peer has said which node it is, or because it was called as
//! one: it is that node's certificate, of that role, and bound to its HostName ([`NodeKeys::judge`]).
//!
//! Invariants: no peer is let in whose certificate is not judged in both steps. Keys are never changed, but replaced as
//! a whole, so a connection has one set for its whole life.
//!
//! Deliberately not here: revocation. A stolen key is made worthless by a new authority.

use crate::certificates::{self, Bearer, Facts};
use crate::tls::{TlsError, TlsFilter};
use protocol::NodeRole;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, DistinguishedName, Error,
    OtherError, RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};
use std::fmt;
use std::sync::Arc;
use types::NodeId;

mod stream;

pub use stream::TlsStream;

/// The name that connections are made to: it is not checked, certificates say more.
const NAME: &str = "latsdb";

/// Keys, and the peers that they are good for.
#[derive(Clone)]
pub struct NodeKeys {
    own: Facts,
    certificate: CertificateDer<'static>,
    verifier: Arc<PeerVerifier>,
    authorities: Vec<Facts>,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl fmt::Debug for NodeKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NodeKeys").field("own", &self.own).finish_non_exhaustive()
    }
}

/// The node that a certificate has to name.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// Its id.
    pub node: NodeId,
    /// Its role.
    pub role: NodeRole,
    /// Its HostName.
    pub host: &'a str,
}

impl NodeKeys {
    /// From the contents of PEM files.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, TlsError> {
        Self::with_verifier(certificates, key, |verifier| verifier)
    }

    fn with_verifier(
        certificates: &str,
        key: &str,
        adjust: impl FnOnce(PeerVerifier) -> PeerVerifier,
    ) -> Result<Self, TlsError> {
        let unusable = |error: &dyn fmt::Display| TlsError::Unusable(error.to_string());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| TlsError::Certificate(error.to_string()))?;
        let read = |certificate: &CertificateDer<'_>| {
            certificates::read(certificate).map_err(|error| TlsError::Certificate(error.to_string()))
        };
        let Some((first, authorities)) = chain.split_first() else {
            return Err(TlsError::Certificate("the file holds none".to_owned()));
        };
        let own = read(first)?;
        let Some((cluster, _)) = own.bearer.clone() else {
            return Err(TlsError::Certificate(
                "the first one in the file is not of a node or client".to_owned(),
            ));
        };
        if authorities.is_empty() {
            return Err(TlsError::Certificate("the file does not hold the authority's".to_owned()));
        }
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority.clone()).map_err(|error| unusable(&error))?;
        }
        let facts_of_authorities = authorities.iter().map(read).collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|error| TlsError::Key(error.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(roots);
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(&error))?;
        let verifier = Arc::new(adjust(PeerVerifier {
            cluster,
            roots,
            clients,
            algorithms: provider.signature_verification_algorithms,
            #[cfg(test)]
            forgets: None,
        }));
        let own_certificate = || vec![first.clone()];
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::<PeerVerifier>::clone(&verifier))
            .with_client_auth_cert(own_certificate(), key.clone_key())
            .map_err(|error| unusable(&error))?;
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| unusable(&error))?
            .with_client_cert_verifier(Arc::<PeerVerifier>::clone(&verifier))
            .with_single_cert(own_certificate(), key)
            .map_err(|error| unusable(&error))?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        let (client, server) = (Arc::new(client), Arc::new(server));
        let certificate = first.clone();
        Ok(Self { own, certificate, verifier, authorities: facts_of_authorities, client, server })
    }

    /// The facts in the own certificate.
    #[must_use]
    pub fn own(&self) -> &Facts {
        &self.own
    }

    /// The authorities whose certificates are believed.
    #[must_use]
    pub fn authorities(&self) -> &[Facts] {
        &self.authorities
    }

    /// Why these keys are not for this node of this cluster, at this moment (seconds since 1970); `None` if they are.
    #[must_use]
    pub fn refuse_own(&self, cluster: &str, identity: Identity<'_>, now: i64) -> Option<String> {
        let (of_cluster, _) = self.own.bearer.as_ref()?;
        if of_cluster != cluster {
            return Some(format!("the certificate is of cluster '{of_cluster}', not '{cluster}'"));
        }
        if let Some(reason) = refuse(&self.own, identity) {
            return Some(reason);
        }
        for facts in std::iter::once(&self.own).chain(&self.authorities) {
            if now > facts.not_after {
                return Some(format!("the certificate '{}' has expired on {}", facts.name, facts.expires()));
            }
            if now < facts.not_before {
                return Some(format!(
                    "the certificate '{}' is not valid yet: is the clock right?",
                    facts.name
                ));
            }
        }
        None
    }

    /// Whether these keys would be believed by a peer that believes the same authorities.
    pub fn verify_own(&self) -> Result<(), String> {
        let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
        let verified = self.verifier.verify_server_cert(&self.certificate, &[], &name, &[], UnixTime::now());
        verified.map(drop).map_err(|error| error.to_string())
    }

    /// Why a peer's certificate, which was verified, is not that of the node that it says it is.
    pub(crate) fn judge(filter: &TlsFilter, identity: Identity<'_>) -> Result<Facts, String> {
        let facts = peer_facts(filter)?;
        match refuse(&facts, identity) {
            None => Ok(facts),
            Some(reason) => Err(reason),
        }
    }

    /// The filter of a connection that this process makes.
    pub(crate) fn connect(&self) -> Result<TlsFilter, Error> {
        let name = ServerName::try_from(NAME).map_err(|_| Error::General("an impossible name".to_owned()))?;
        Ok(TlsFilter::of(ClientConnection::new(Arc::clone(&self.client), name)?.into()))
    }

    /// The filter of a connection that this process accepts.
    pub(crate) fn accept(&self) -> Result<TlsFilter, Error> {
        Ok(TlsFilter::of(ServerConnection::new(Arc::clone(&self.server))?.into()))
    }
}

/// The facts in the certificate that the peer has presented, and that was verified.
pub(crate) fn peer_facts(filter: &TlsFilter) -> Result<Facts, String> {
    let certificate = filter.peer_certificate().ok_or("it has presented no certificate")?;
    certificates::read(certificate).map_err(|error| error.to_string())
}

/// Why a certificate is not of this node; `None` if it is.
fn refuse(facts: &Facts, identity: Identity<'_>) -> Option<String> {
    let Identity { node, role, host } = identity;
    let wanted = Bearer::Node(node, role);
    match &facts.bearer {
        Some((_, bearer)) if *bearer == wanted => {}
        Some((_, bearer)) => return Some(format!("the certificate is of {bearer}, not of {wanted}")),
        None => return Some("the certificate is of no node".to_owned()),
    }
    let is_bound = facts.hosts.iter().any(|bound| is_same_host(bound, host));
    (!is_bound).then(|| {
        let bound = facts.hosts.join(", ");
        format!("the certificate of node {node} is for host {bound}, and config.ini has HostName={host}")
    })
}

/// Names are compared without case, addresses by what they mean.
fn is_same_host(one: &str, other: &str) -> bool {
    match (one.parse::<std::net::IpAddr>(), other.parse::<std::net::IpAddr>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.eq_ignore_ascii_case(other),
    }
}

/// A check that a verifier omits, to see that tests notice.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forgets {
    Expiry,
    Cluster,
    Authority,
}

/// A certificate of another cluster.
#[derive(Debug)]
struct WrongCluster(String);

impl fmt::Display for WrongCluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for WrongCluster {}

/// The first step of judging a peer.
struct PeerVerifier {
    cluster: String,
    roots: Arc<RootCertStore>,
    clients: Arc<dyn ClientCertVerifier>,
    algorithms: WebPkiSupportedAlgorithms,
    #[cfg(test)]
    forgets: Option<Forgets>,
}

impl PeerVerifier {
    /// It is of our cluster. Clusters may share an authority by mistake: names are cheap.
    fn check_cluster(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        #[cfg(test)]
        if self.forgets == Some(Forgets::Cluster) {
            return Ok(());
        }
        let facts = certificates::read(certificate).map_err(|_| CertificateError::BadEncoding)?;
        match facts.bearer {
            Some((cluster, _)) if cluster == self.cluster => Ok(()),
            other => {
                let found =
                    other.map_or_else(|| "no cluster".to_owned(), |(name, _)| format!("cluster '{name}'"));
                let reason = WrongCluster(format!("the certificate is of {found}, not '{}'", self.cluster));
                Err(CertificateError::Other(OtherError(Arc::new(reason))).into())
            }
        }
    }

    /// The moment at which certificates must be valid.
    fn moment(&self, now: UnixTime, _certificate: &CertificateDer<'_>) -> UnixTime {
        #[cfg(test)]
        if self.forgets == Some(Forgets::Expiry)
            && let Ok(facts) = certificates::read(_certificate)
        {
            let seconds = u64::try_from(facts.not_before).unwrap_or_default() + 1;
            return UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        }
        now
    }

    fn forgets_authority(&self) -> bool {
        #[cfg(test)]
        return self.forgets == Some(Forgets::Authority);
        #[cfg(not(test))]
        false
    }
}

impl fmt::Debug for PeerVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PeerVerifier").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl ServerCertVerifier for PeerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.forgets_authority() {
            let parsed = ParsedCertificate::try_from(end_entity)?;
            let now = self.moment(now, end_entity);
            rustls::client::verify_server_cert_signed_by_trust_anchor(
                &parsed,
                &self.roots,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        self.check_cluster(end_entity)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for PeerVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // Strangers need not know whose certificates are believed.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if !self.forgets_authority() {
            self.clients.verify_client_cert(end_entity, intermediates, self.moment(now, end_entity))?;
        }
        self.check_cluster(end_entity)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        ServerCertVerifier::verify_tls12_signature(self, message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        ServerCertVerifier::verify_tls13_signature(self, message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
pub(crate) mod tests;
