//! The key pair with which clients encrypt their passwords on connections without TLS (full `caching_sha2_password`
//! authentication).
//!
//! A key is made when a client first asks for it, because that takes a good part of a second. It is kept in a file, so
//! that clients which have been given the public key go on trusting the node. Making it, and decrypting with it, is
//! done on threads of their own, a few at a time; more requests wait their turn. The threads of modules never wait.
//!
//! RSA with 2 048 bits and OAEP with SHA-1, as clients of MySQL do it.
//!
//! Invariants: the private key is readable by the node's user only. Each request is answered, also one that finds no
//! thread, no key or no sense. A connection has one request at a time, so no more wait than there are connections.
//!
//! Deliberately not here: what is encrypted, and for whom.

use crate::process::{External, Process, unpoisoned};
use protocol::{ConnectionId, PasswordKeyAnswer, Severity};
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey};
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const KEY_BITS: usize = 2_048;
/// Requests that are worked on at one time.
const THREADS_MAX: usize = 16;

/// A key pair.
struct KeyPair {
    private: RsaPrivateKey,
    public_pem: Arc<str>,
}

/// The node's key pair, once it is wanted.
pub(crate) struct PasswordKey {
    /// Without it, nobody can have a key.
    path: Option<PathBuf>,
    pair: Mutex<Option<Arc<KeyPair>>>,
    requests: Mutex<Requests>,
}

/// Requests that wait, and the threads that work on others.
#[derive(Default)]
struct Requests {
    waiting: VecDeque<Request>,
    threads: usize,
}

/// A question of a session, and whom the answer is for.
struct Request {
    /// The thread of the module.
    thread: usize,
    module: usize,
    connection: ConnectionId,
    wanted: Wanted,
}

impl Request {
    fn answer(self, process: &Process, answer: PasswordKeyAnswer) {
        let Self { module, connection, .. } = self;
        process.threads[self.thread].tell(External::PasswordKey { module, connection, answer });
    }
}

/// The answer that a session asks for.
pub(crate) enum Wanted {
    /// The public key.
    Public,
    /// The clear text of what was encrypted with it.
    Clear(Vec<u8>),
}

impl PasswordKey {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path, pair: Mutex::new(None), requests: Mutex::default() }
    }

    /// The next request for a thread; without one the thread ends.
    fn next(&self) -> Option<Request> {
        let mut requests = unpoisoned(&self.requests);
        let next = requests.waiting.pop_front();
        requests.threads -= usize::from(next.is_none());
        next
    }

    fn pair(&self, process: &Process) -> Option<Arc<KeyPair>> {
        let path = self.path.as_deref()?;
        let mut pair = unpoisoned(&self.pair);
        if pair.is_none() {
            match load(path) {
                Ok(loaded) => *pair = Some(Arc::new(loaded)),
                Err(problem) => {
                    process
                        .log(Severity::Error, format!("no key for passwords: {}: {problem}", path.display()));
                }
            }
        }
        pair.clone()
    }
}

/// Answers a module of the thread `index` later.
pub(crate) fn ask(
    process: &Arc<Process>,
    index: usize,
    module: usize,
    connection: ConnectionId,
    wanted: Wanted,
) {
    let key = &process.password_key;
    let needs_thread = {
        let mut requests = unpoisoned(&key.requests);
        requests.waiting.push_back(Request { thread: index, module, connection, wanted });
        let needs_thread = requests.threads < THREADS_MAX;
        requests.threads += usize::from(needs_thread);
        needs_thread
    };
    let shared = Arc::clone(process);
    let work = move || {
        while let Some(request) = shared.password_key.next() {
            let answer = shared.password_key.pair(&shared).map(|pair| answer(&pair, &request.wanted));
            request.answer(&shared, answer.unwrap_or(PasswordKeyAnswer::None));
        }
    };
    if needs_thread && std::thread::Builder::new().name("password".to_owned()).spawn(work).is_err() {
        let refused = {
            let mut requests = unpoisoned(&key.requests);
            requests.threads -= 1;
            // Threads that work already take what waits.
            if requests.threads == 0 { std::mem::take(&mut requests.waiting) } else { VecDeque::new() }
        };
        refused.into_iter().for_each(|request| request.answer(process, PasswordKeyAnswer::Busy));
    }
}

fn answer(pair: &KeyPair, wanted: &Wanted) -> PasswordKeyAnswer {
    match wanted {
        Wanted::Public => PasswordKeyAnswer::Public(Arc::clone(&pair.public_pem)),
        Wanted::Clear(encrypted) => {
            let padding = Oaep::new::<sha1::Sha1>();
            match pair.private.decrypt_blinded(&mut OsRng, padding, encrypted) {
                Ok(clear) => PasswordKeyAnswer::Clear(clear),
                Err(_) => PasswordKeyAnswer::None,
            }
        }
    }
}

/// The key in the file, or a new one that is put there, with the public key beside it for clients.
fn load(path: &Path) -> Result<KeyPair, String> {
    let private = match std::fs::read_to_string(path) {
        Ok(pem) => RsaPrivateKey::from_pkcs8_pem(&pem).map_err(|error| error.to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = RsaPrivateKey::new(&mut OsRng, KEY_BITS).map_err(|error| error.to_string())?;
            let pem = made.to_pkcs8_pem(LineEnding::LF).map_err(|error| error.to_string())?;
            write(path, pem.as_bytes(), 0o600).map_err(|error| error.to_string())?;
            made
        }
        Err(error) => return Err(error.to_string()),
    };
    let pem = private.to_public_key().to_public_key_pem(LineEnding::LF).map_err(|error| error.to_string())?;
    write(&public_path(path), pem.as_bytes(), 0o644).map_err(|error| error.to_string())?;
    Ok(KeyPair { private, public_pem: pem.into() })
}

fn public_path(private: &Path) -> PathBuf {
    let name = private.file_name().unwrap_or_default().to_string_lossy().replace("private", "public");
    private.with_file_name(name)
}

/// A whole file or none, under its name.
fn write(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let _ = std::fs::remove_file(&new);
    OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?.write_all(bytes)?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests;
