//! NDB's connectstring: the addresses of management nodes, and perhaps the id of the node that asks.
//!
//! ```text
//! [nodeid=ID,]HOST[:PORT][,HOST[:PORT]...]
//! ```
//! PORT is 1186 unless it is given. An IPv6 address with a port stands in brackets.
//!
//! `bind-address=...` is understood and ignored: the system chooses the address to connect from.

use std::fmt;
use std::str::FromStr;

/// The port of a management node that names none.
const PORT_DEFAULT: u16 = 1186;

/// Management nodes in order of preference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Connectstring {
    /// `nodeid=`.
    pub(crate) node: Option<u16>,
    /// Host and port; at least one.
    pub(crate) places: Vec<(String, u16)>,
}

/// The mistake in a connectstring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BadConnectstring(String);

impl fmt::Display for BadConnectstring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for BadConnectstring {}

impl FromStr for Connectstring {
    type Err = BadConnectstring;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut found = Self { node: None, places: Vec::new() };
        // NDB also knows ';' between parts.
        for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((name, value)) if name.trim().eq_ignore_ascii_case("nodeid") => {
                    let node = value.trim().parse().ok().filter(|node| (1..=255).contains(node));
                    found.node =
                        Some(node.ok_or_else(|| {
                            BadConnectstring(format!("'{value}' is not a node id (1 to 255)"))
                        })?);
                }
                Some((name, _)) if name.trim().eq_ignore_ascii_case("bind-address") => {}
                Some((name, _)) => {
                    return Err(BadConnectstring(format!("'{name}=' is not part of a connectstring")));
                }
                None => found.places.push(place(part)?),
            }
        }
        if found.places.is_empty() {
            return Err(BadConnectstring("it names no host".to_owned()));
        }
        Ok(found)
    }
}

impl fmt::Display for Connectstring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (host, port)) in self.places.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            let is_address = host.contains(':');
            let (open, close) = if is_address { ("[", "]") } else { ("", "") };
            write!(formatter, "{separator}{open}{host}{close}:{port}")?;
        }
        Ok(())
    }
}

fn place(part: &str) -> Result<(String, u16), BadConnectstring> {
    let (host, port) = if let Some(rest) = part.strip_prefix('[') {
        let (host, rest) =
            rest.split_once(']').ok_or_else(|| BadConnectstring(format!("'{part}' lacks a ']'")))?;
        match rest.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if rest.is_empty() => (host, None),
            None => return Err(BadConnectstring(format!("'{part}': expected ':' behind ']'"))),
        }
    } else {
        match part.split_once(':') {
            // More than one colon: an IPv6 address without brackets and thus without a port.
            Some((_, rest)) if rest.contains(':') => (part, None),
            Some((host, port)) => (host, Some(port)),
            None => (part, None),
        }
    };
    if host.is_empty() {
        return Err(BadConnectstring(format!("'{part}' names no host")));
    }
    let port = match port {
        None => PORT_DEFAULT,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(BadConnectstring(format!("'{port}' is not a port (1 to 65535)"))),
        },
    };
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests;
