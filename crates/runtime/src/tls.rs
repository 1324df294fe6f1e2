//! TLS as a filter on a connection: of a client whose module asks `StartTls` and sees plaintext from then on, or of a
//! link between nodes.
//!
//! Sans-IO: ciphertext goes in and comes out as byte vectors, the connection's code moves them to and from the socket.
//! The certificate for clients comes from files or is made at start; clients of a database verify certificates only
//! when told to, so a self-signed one is better than none.
//!
//! Deliberately not here: the certificates of nodes, and which peers are let in with them (`keys`).

use protocol::module::TlsSession;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{
    AlertDescription, CertificateError, CipherSuite, Connection, Error, OtherError, ProtocolVersion,
    ServerConfig, ServerConnection,
};
use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

/// A certificate chain and its key, ready to serve.
#[derive(Clone)]
pub struct TlsIdentity {
    config: Arc<ServerConfig>,
    certificate_pem: String,
}

/// Why there is no identity.
#[derive(Debug)]
pub enum TlsError {
    /// The certificate file holds no certificate, or none that can be read.
    Certificate(String),
    /// The key file holds no key, or none that can be read.
    Key(String),
    /// Certificate and key do not fit, or the system has no randomness.
    Unusable(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(why) => write!(formatter, "no usable certificate: {why}"),
            Self::Key(why) => write!(formatter, "no usable private key: {why}"),
            Self::Unusable(why) => write!(formatter, "certificate and key cannot be used: {why}"),
        }
    }
}

impl std::error::Error for TlsError {}

impl TlsIdentity {
    /// A fresh key and a certificate for these host names, signed by itself.
    pub fn self_signed(names: &[String]) -> Result<Self, TlsError> {
        let made = rcgen::generate_simple_self_signed(names.to_vec())
            .map_err(|error| TlsError::Unusable(error.to_string()))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        Self::new(vec![made.cert.der().clone()], key, made.cert.pem())
    }

    /// From the contents of PEM files.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, TlsError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| TlsError::Certificate(error.to_string()))?;
        if chain.is_empty() {
            return Err(TlsError::Certificate("the file holds none".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|error| TlsError::Key(error.to_string()))?;
        Self::new(chain, key, certificates.to_owned())
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        certificate_pem: String,
    ) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Unusable(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| TlsError::Unusable(error.to_string()))?;
        Ok(Self { config: Arc::new(config), certificate_pem })
    }

    /// The certificate, for clients that want to verify it.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    pub(crate) fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}

/// One connection's TLS state.
pub(crate) struct TlsFilter {
    connection: Connection,
    /// Ciphertext that the socket has not taken yet.
    pub(crate) outgoing: Vec<u8>,
    is_established: bool,
    has_ended: bool,
    /// Why it failed, for people.
    failure: Option<String>,
}

/// The progress after received ciphertext.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TlsProgress {
    /// Plaintext was appended, or more is needed.
    Going,
    /// The handshake has just been completed.
    Established,
    /// Not TLS, or the peer broke it off.
    Failed,
}

impl TlsFilter {
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        Ok(Self::of(ServerConnection::new(Arc::clone(config))?.into()))
    }

    /// The filter of one end of a connection that begins.
    pub(crate) fn of(mut connection: Connection) -> Self {
        // The sender's buffers have limits of their own; nothing is buffered here between calls.
        connection.set_buffer_limit(None);
        Self { connection, outgoing: Vec::new(), is_established: false, has_ended: false, failure: None }
    }

    /// Queues what this end says unasked: the connecting end begins.
    pub(crate) fn begin(&mut self) {
        self.collect();
    }

    /// The handshake is done: both ends are known.
    pub(crate) fn is_established(&self) -> bool {
        self.is_established
    }

    /// The result of the handshake.
    pub(crate) fn session(&self) -> TlsSession {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
            Some(_) | None => "TLSv1.2",
        };
        let cipher = match self.connection.negotiated_cipher_suite().map(|suite| suite.suite()) {
            Some(CipherSuite::TLS13_AES_256_GCM_SHA384) => "TLS_AES_256_GCM_SHA384",
            Some(CipherSuite::TLS13_AES_128_GCM_SHA256) => "TLS_AES_128_GCM_SHA256",
            Some(CipherSuite::TLS13_CHACHA20_POLY1305_SHA256) => "TLS_CHACHA20_POLY1305_SHA256",
            Some(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384) => "ECDHE-ECDSA-AES256-GCM-SHA384",
            Some(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256) => "ECDHE-ECDSA-AES128-GCM-SHA256",
            Some(CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256) => {
                "ECDHE-ECDSA-CHACHA20-POLY1305"
            }
            Some(CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384) => "ECDHE-RSA-AES256-GCM-SHA384",
            Some(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) => "ECDHE-RSA-AES128-GCM-SHA256",
            Some(CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256) => "ECDHE-RSA-CHACHA20-POLY1305",
            Some(other) => other.as_str().unwrap_or("unknown"),
            None => "",
        };
        TlsSession { version, cipher }
    }

    /// The certificate that the peer presented, and that was verified.
    pub(crate) fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        if self.is_established { self.connection.peer_certificates()?.first() } else { None }
    }

    /// Why it failed.
    pub(crate) fn failure(&self) -> &str {
        self.failure.as_deref().unwrap_or("it is no TLS")
    }

    /// Takes ciphertext, appends plaintext, and queues whatever the handshake answers.
    pub(crate) fn receive(&mut self, mut raw: &[u8], plain: &mut Vec<u8>) -> TlsProgress {
        let mut progress = TlsProgress::Going;
        // Nothing is taken behind the client's close_notify: whatever comes there is no TLS.
        while !raw.is_empty() && !self.has_ended {
            if !matches!(self.connection.read_tls(&mut raw), Ok(1..)) {
                return TlsProgress::Failed;
            }
            let state = match self.connection.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The alert that says why is worth sending.
                    self.collect();
                    self.failure = Some(explain(&error));
                    return TlsProgress::Failed;
                }
            };
            self.has_ended = state.peer_has_closed();
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            if self.connection.reader().read_exact(&mut plain[start..]).is_err() {
                return TlsProgress::Failed;
            }
        }
        self.collect();
        if !self.is_established && !self.connection.is_handshaking() {
            self.is_established = true;
            progress = TlsProgress::Established;
        }
        progress
    }

    /// The client has said that nothing follows.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Encrypts all of `plain` into `outgoing`.
    pub(crate) fn send(&mut self, plain: &mut Vec<u8>) {
        self.send_slice(plain);
        plain.clear();
    }

    /// Encrypts all of `plain` into `outgoing`.
    pub(crate) fn send_slice(&mut self, plain: &[u8]) {
        // Writing into memory without a limit does not fail.
        let written = self.connection.writer().write_all(plain);
        stdx::require!(written.is_ok(), "TLS refuses plaintext");
        self.collect();
    }

    fn collect(&mut self) {
        while self.connection.wants_write() {
            let written = self.connection.write_tls(&mut self.outgoing);
            stdx::require!(written.is_ok(), "a vector refuses ciphertext");
        }
    }
}

/// The answer of a process without keys to TLS: a fatal alert, `certificate_unobtainable`, by which the other end can
/// tell its user why.
pub(crate) const NO_KEYS_ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 0x6f];

/// Why TLS failed, in words for operators.
#[expect(clippy::wildcard_enum_match_arm, reason = "rustls has words for what is rare, and adds to it")]
fn explain(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(error) => explain_certificate(error),
        Error::InvalidMessage(_) => "what the other end says is no TLS: is this the right port?".to_owned(),
        Error::NoCertificatesPresented => "it has presented no certificate".to_owned(),
        Error::AlertReceived(alert) => {
            let why = match alert {
                AlertDescription::CertificateExpired => {
                    "the other end says that this certificate has expired"
                }
                AlertDescription::UnknownCA | AlertDescription::DecryptError => {
                    "the other end does not believe the authority of this certificate"
                }
                AlertDescription::CertificateUnknown => {
                    "the other end says that this certificate is not of its cluster"
                }
                AlertDescription::CertificateRequired => "the other end wants a certificate",
                AlertDescription::CertificateUnobtainable => "the other end has no keys, and speaks no TLS",
                _ => return error.to_string(),
            };
            why.to_owned()
        }
        _ => error.to_string(),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "rustls has words for what is rare, and adds to it")]
fn explain_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::ExpiredContext { time, not_after } => {
            let seconds = time.as_secs().saturating_sub(not_after.as_secs());
            format!("the certificate has expired, {seconds} s ago")
        }
        CertificateError::Expired => "the certificate has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet: are the clocks right?".to_owned()
        }
        // Two authorities of one cluster have the same name: its signature tells them apart.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the certificate is not signed by an authority of this cluster".to_owned()
        }
        CertificateError::Other(OtherError(why)) => why.to_string(),
        _ => error.to_string(),
    }
}
