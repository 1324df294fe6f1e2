//! Where management nodes are, and how this process shows them that it has authority (`node`, management/authority.rs,
//! has the protocol).
//!
//! The token comes from the file of `--token-file`, else from the file that the management node names. That one is on
//! the node's own machine, and its owner can read it. The token is not sent: the node's challenge is answered with it.
//!
//! With keys (`key_files`) the connection is encrypted, and the certificate is proof enough.
//!
//! Invariant: a file is read only if its name is that of a token file, or was typed here; so what a false management
//! node names is not read.

use super::ManagementClient;
use crate::connectstring::Connectstring;
use crate::key_files::ClientKeys;
use crate::management_token;
use crate::terminal::Failure;
use node::management::Token;
use std::io;
use std::path::{Path, PathBuf};

/// How management nodes are reached.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Where they are.
    pub(crate) connectstring: Connectstring,
    /// `--token-file`: a line for each management node that has a token of its own.
    pub(crate) token_file: Option<PathBuf>,
    /// The keys with which TLS is spoken.
    pub(crate) keys: Option<ClientKeys>,
}

impl Access {
    /// A connection to the first management node that answers; an error says what was tried.
    pub(super) fn connect(&self) -> Result<ManagementClient, Failure> {
        ManagementClient::connect(self)
    }

    /// The same token file, for another management node.
    pub(super) fn at(&self, host: &str, port: u16) -> Self {
        let connectstring = Connectstring { node: None, places: vec![(host.to_owned(), port)] };
        Self { connectstring, token_file: self.token_file.clone(), keys: self.keys.clone() }
    }
}

/// The answer of a management node that is asked for a challenge.
#[derive(Default)]
struct Asked {
    challenge: String,
    id: String,
    file: String,
}

impl Asked {
    fn parse(lines: &[String]) -> Self {
        let mut asked = Self::default();
        for (word, rest) in lines.iter().filter_map(|line| line.split_once(' ')) {
            match word {
                "challenge" => rest.clone_into(&mut asked.challenge),
                "id" => rest.clone_into(&mut asked.id),
                "file" => rest.clone_into(&mut asked.file),
                _ => {}
            }
        }
        asked
    }
}

/// Shows a management node that this process has authority; else why it could not.
pub(super) fn prove(
    client: &mut ManagementClient,
    token_file: Option<&Path>,
) -> io::Result<Result<(), String>> {
    let lines = client.exchange("authenticate")?;
    if let Some(line) = super::refusal(&lines) {
        return Ok(Err(line.to_owned()));
    }
    let asked = Asked::parse(&lines);
    let token = match find_token(&asked, token_file) {
        Ok(token) => token,
        Err(why) => return Ok(Err(why)),
    };
    let Some(answer) = token.answer(&asked.challenge) else {
        return Ok(Err("the management node's challenge cannot be read".to_owned()));
    };
    let lines = client.exchange(&format!("authenticate {answer}"))?;
    Ok(super::refusal(&lines).map_or(Ok(()), |line| Err(line.to_owned())))
}

fn find_token(asked: &Asked, token_file: Option<&Path>) -> Result<Token, String> {
    let file = match token_file {
        Some(file) => file,
        None if management_token::is_name(Path::new(&asked.file)) => Path::new(&asked.file),
        None => return Err("the management node names no token file".to_owned()),
    };
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let tokens: Vec<Token> = text.lines().filter_map(Token::parse).collect();
    if tokens.is_empty() {
        return Err(format!("{name} is no token file: it has no line of 64 hexadecimal digits"));
    }
    let of_node = tokens.into_iter().find(|token| token.id() == asked.id);
    of_node.ok_or_else(|| format!("{name} does not have the token of this management node"))
}

#[cfg(test)]
mod tests;
