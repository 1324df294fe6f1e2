//! Makes the certificates of a cluster: an authority of its own, and a key with a certificate for each node.
//!
//! A cluster is a realm of trust: whatever its authority has signed belongs to it, and nothing else does. The
//! authority's private key is needed to sign only; no node has it.

use crate::certificates::Bearer;
use crate::tls::TlsError;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clocks of machines differ: a certificate is valid from a little before it was made.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(3600);
/// The latest moment that is written, since 1970: what is meant to be later is for ever.
const LATEST: Duration = Duration::from_secs(1_000 * 365 * 24 * 3600);

/// A private key and the certificate for it, as PEM files hold them.
#[derive(Clone)]
pub struct SignedKey {
    /// The certificate.
    pub certificate_pem: String,
    /// The private key.
    pub key_pem: String,
}

impl std::fmt::Debug for SignedKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SignedKey").finish_non_exhaustive()
    }
}

/// The facts that a certificate is to state.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The bearer.
    pub bearer: Bearer,
    /// Its HostName, if it is bound to one.
    pub host: Option<String>,
    /// From when.
    pub not_before: SystemTime,
    /// Until when.
    pub not_after: SystemTime,
}

impl Wish {
    /// Valid from now on for so long.
    #[must_use]
    pub fn for_time(bearer: Bearer, host: Option<String>, time: Duration) -> Self {
        let now = today();
        Self { bearer, host, not_before: now - CLOCK_DIFFERENCE, not_after: now + time }
    }
}

/// The wall clock, for what certificates say.
pub(crate) fn today() -> SystemTime {
    #[expect(
        clippy::disallowed_methods,
        reason = "certificates are made in minutes, not on a node's threads"
    )]
    SystemTime::now()
}

/// The authority of a cluster.
pub struct Authority {
    cluster: String,
    issuer: Issuer<'static, KeyPair>,
}

fn failed(error: impl std::fmt::Display) -> TlsError {
    TlsError::Unusable(error.to_string())
}

fn parameters(name: &str, not_before: SystemTime, not_after: SystemTime) -> CertificateParams {
    let at = |time: SystemTime| {
        date_time_ymd(1970, 1, 1) + time.duration_since(UNIX_EPOCH).unwrap_or_default().min(LATEST)
    };
    let mut parameters = CertificateParams::default();
    (parameters.not_before, parameters.not_after) = (at(not_before), at(not_after));
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

impl Authority {
    /// The same name for the same cluster: what it signs must name it as its own certificate does.
    fn parameters(cluster: &str, not_before: SystemTime, not_after: SystemTime) -> CertificateParams {
        let mut parameters = parameters(&format!("LatsDB authority of {cluster}"), not_before, not_after);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        parameters
    }

    /// A new one, valid for so long.
    pub fn create(cluster: &str, time: Duration) -> Result<SignedKey, TlsError> {
        let now = today();
        let key = KeyPair::generate().map_err(failed)?;
        let parameters = Self::parameters(cluster, now - CLOCK_DIFFERENCE, now + time);
        let certificate = parameters.self_signed(&key).map_err(failed)?;
        Ok(SignedKey { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }

    /// The one whose private key this is.
    pub fn open(cluster: &str, key_pem: &str) -> Result<Self, TlsError> {
        let key = KeyPair::from_pem(key_pem).map_err(|error| TlsError::Key(error.to_string()))?;
        let parameters = Self::parameters(cluster, UNIX_EPOCH, UNIX_EPOCH);
        Ok(Self { cluster: cluster.to_owned(), issuer: Issuer::new(parameters, key) })
    }

    /// One that signs in the name of another cluster with its own name as the issuer's.
    #[cfg(test)]
    pub(crate) fn abused_for(self, cluster: &str) -> Self {
        Self { cluster: cluster.to_owned(), ..self }
    }

    /// A fresh key, and the certificate that is wished for.
    pub fn sign(&self, wish: &Wish) -> Result<SignedKey, TlsError> {
        let key = KeyPair::generate().map_err(failed)?;
        let name = match wish.bearer {
            Bearer::Node(..) => format!("LatsDB {} of {}", wish.bearer, self.cluster),
            Bearer::Client => format!("LatsDB client of {}", self.cluster),
        };
        let mut parameters = parameters(&name, wish.not_before, wish.not_after);
        let uri = wish.bearer.uri(&self.cluster);
        parameters.subject_alt_names.push(SanType::URI(uri.as_str().try_into().map_err(failed)?));
        if let Some(host) = &wish.host {
            parameters.subject_alt_names.push(match host.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(host.as_str().try_into().map_err(failed)?),
            });
        }
        parameters.is_ca = IsCa::ExplicitNoCa;
        parameters.use_authority_key_identifier_extension = true;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = parameters.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(SignedKey { certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}
