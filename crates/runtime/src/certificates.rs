//! The facts in the certificate of a node: which cluster, which node or client, on which hosts, from when until when.
//!
//! ```text
//! subject         CN=LatsDB data node 3 of shop                 for people
//! alternative     URI:latsdb://shop/data/3                      who it is: cluster, role, node id; `latsdb://shop/client` for operators
//!                 DNS:db3.example or IP:10.0.0.3                its HostName in config.ini
//! validity        notBefore, notAfter                           checked by the library that verifies the signature
//! ```
//! The library (rustls) verifies signatures and dates, and gives no access to the other fields: they are read here,
//! from the DER form.
//!
//! Invariant: any bytes are read into a `Result`. Nothing that is read here is believed before the signature was
//! verified (`keys`).

use protocol::NodeRole;
use std::fmt;
use std::net::IpAddr;
use types::NodeId;
use types::temporal::{Date, DateTime};

/// How the name of the bearer begins.
const SCHEME: &str = "latsdb://";
/// Microseconds of a second.
const SECOND: i64 = 1_000_000;

/// The bearer of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bearer {
    /// A node.
    Node(NodeId, NodeRole),
    /// An operator's tool.
    Client,
}

impl Bearer {
    /// Its name in a certificate of this cluster.
    #[must_use]
    pub fn uri(self, cluster: &str) -> String {
        match self {
            Self::Node(node, role) => format!("{SCHEME}{cluster}/{}/{node}", role_word(role)),
            Self::Client => format!("{SCHEME}{cluster}/client"),
        }
    }

    /// Cluster and bearer that a name means.
    fn parse(uri: &str) -> Option<(String, Self)> {
        let words: Vec<&str> = uri.strip_prefix(SCHEME)?.split('/').collect();
        match words.as_slice() {
            [cluster, "client"] => Some(((*cluster).to_owned(), Self::Client)),
            [cluster, role, node] => {
                let role = [NodeRole::Data, NodeRole::Management, NodeRole::Sql]
                    .into_iter()
                    .find(|known| role_word(*known) == *role)?;
                Some(((*cluster).to_owned(), Self::Node(NodeId(node.parse().ok()?), role)))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Bearer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node, role) => write!(formatter, "{} node {node}", role_word(*role)),
            Self::Client => formatter.write_str("a client"),
        }
    }
}

/// The word for a role in certificates.
const fn role_word(role: NodeRole) -> &'static str {
    match role {
        NodeRole::Data => "data",
        NodeRole::Management => "management",
        NodeRole::Sql => "sql",
    }
}

/// The facts in a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Cluster and bearer; none in the certificate of an authority.
    pub bearer: Option<(String, Bearer)>,
    /// The host names and addresses that it is bound to.
    pub hosts: Vec<String>,
    /// The common name, for people.
    pub name: String,
    /// In hexadecimal digits, a colon between bytes.
    pub serial: String,
    /// Seconds since 1970.
    pub not_before: i64,
    /// Seconds since 1970.
    pub not_after: i64,
}

impl Facts {
    /// The day on which it expires, as NDB writes it: `18-Dec-2023`.
    #[must_use]
    pub fn expires(&self) -> String {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let Some(moment) = DateTime::from_unix_microseconds(self.not_after.saturating_mul(SECOND)) else {
            return "never".to_owned();
        };
        let date = moment.date();
        let month = MONTHS[usize::try_from(date.month()).unwrap_or(1).clamp(1, 12) - 1];
        format!("{:02}-{month}-{}", date.day(), date.year())
    }
}

/// Bytes that are no certificate, or one without the fields that all certificates have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("it is not a certificate that can be read")
    }
}

impl std::error::Error for Unreadable {}

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// The version, and the extensions.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
/// Kinds of alternative names.
const DNS_NAME: u8 = 0x82;
const URI: u8 = 0x86;
const IP_ADDRESS: u8 = 0x87;

/// Reads a certificate's DER form.
pub fn read(der: &[u8]) -> Result<Facts, Unreadable> {
    let mut certificate = Fields(Fields(der).expect(SEQUENCE)?);
    let mut body = Fields(certificate.expect(SEQUENCE)?);
    let (tag, _) = body.clone().next().ok_or(Unreadable)?;
    if tag == VERSION {
        body.next();
    }
    let serial = body.expect(INTEGER)?;
    body.expect(SEQUENCE)?; // The algorithm of the signature.
    body.expect(SEQUENCE)?; // The issuer.
    let mut validity = Fields(body.expect(SEQUENCE)?);
    let not_before = time(&mut validity)?;
    let not_after = time(&mut validity)?;
    let name = common_name(body.expect(SEQUENCE)?);
    let mut facts =
        Facts { bearer: None, hosts: Vec::new(), name, serial: hexadecimal(serial), not_before, not_after };
    if let Some((_, extensions)) = body.find(|(tag, _)| *tag == EXTENSIONS) {
        for (_, extension) in Fields(Fields(extensions).expect(SEQUENCE)?) {
            let mut extension = Fields(extension);
            if extension.expect(OBJECT_ID)? == ALTERNATIVE_NAMES {
                // "Critical" may stand before the value.
                let value = extension.find(|(tag, _)| *tag == OCTET_STRING).ok_or(Unreadable)?.1;
                alternative_names(Fields(value).expect(SEQUENCE)?, &mut facts)?;
            }
        }
    }
    Ok(facts)
}

fn alternative_names(names: &[u8], facts: &mut Facts) -> Result<(), Unreadable> {
    for (tag, value) in Fields(names) {
        match tag {
            URI => {
                let bearer = std::str::from_utf8(value).ok().and_then(Bearer::parse);
                // One certificate is of one bearer: which one would count must not depend on the order.
                if bearer.is_none() || facts.bearer.is_some() {
                    return Err(Unreadable);
                }
                facts.bearer = bearer;
            }
            DNS_NAME => facts.hosts.push(String::from_utf8_lossy(value).into_owned()),
            IP_ADDRESS => {
                let address = match (<[u8; 4]>::try_from(value), <[u8; 16]>::try_from(value)) {
                    (Ok(bytes), _) => IpAddr::from(bytes),
                    (_, Ok(bytes)) => IpAddr::from(bytes),
                    _ => return Err(Unreadable),
                };
                facts.hosts.push(address.to_string());
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first common name of a subject; empty if there is none.
fn common_name(subject: &[u8]) -> String {
    let attributes = Fields(subject).filter(|(tag, _)| *tag == SET).flat_map(|(_, set)| Fields(set));
    let mut values = attributes.filter_map(|(_, attribute)| {
        let mut attribute = Fields(attribute);
        (attribute.expect(OBJECT_ID).ok()? == COMMON_NAME).then(|| attribute.next())?
    });
    values.next().map_or_else(String::new, |(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// A moment in seconds since 1970: `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn time(fields: &mut Fields<'_>) -> Result<i64, Unreadable> {
    let (tag, text) = fields.next().ok_or(Unreadable)?;
    let text = std::str::from_utf8(text).ok().and_then(|text| text.strip_suffix('Z')).ok_or(Unreadable)?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = text.split_at_checked(2).ok_or(Unreadable)?;
            let year = number(year)?;
            // RFC 5280, 4.1.2.5.1.
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = text.split_at_checked(4).ok_or(Unreadable)?;
            (number(year)?, rest)
        }
        _ => return Err(Unreadable),
    };
    let parts: Vec<u32> = (0..5)
        .map(|index| rest.get(2 * index..2 * index + 2).ok_or(Unreadable).and_then(number))
        .collect::<Result<_, _>>()?;
    let date = Date::new(year, parts[0], parts[1]).ok_or(Unreadable)?;
    let moment = DateTime::new(date, parts[2], parts[3], parts[4], 0).ok_or(Unreadable)?;
    Ok(moment.to_unix_microseconds().div_euclid(SECOND))
}

fn number(digits: &str) -> Result<u32, Unreadable> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Unreadable);
    }
    digits.parse().map_err(|_| Unreadable)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

/// The fields of a DER sequence: tag and contents of each. A field that is cut off ends it.
#[derive(Clone)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn expect(&mut self, tag: u8) -> Result<&'a [u8], Unreadable> {
        match self.next() {
            Some((found, contents)) if found == tag => Ok(contents),
            _ => Err(Unreadable),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            // Longer than 64 KiB no certificate is.
            let count = usize::from(first & 0x7f);
            let (bytes, rest) = rest.split_at_checked(count).filter(|_| (1..=2).contains(&count))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, contents))
    }
}

#[cfg(test)]
mod tests;
