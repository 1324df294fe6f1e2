//! The management protocol from the client's side: `latsdb mgm`, `latsdb check`, and how nodes fetch their
//! configuration.
//!
//! One request per line; the answer is lines, ended by a line with a single dot; a line that begins with a dot has
//! another one before it. Commands that take several requests, and wait in between, are in `rolling`: `N stop`,
//! `N restart`, `rolling restart`. Commands that the client carries out itself are in `session`.
//!
//! Invariants: an answer is at most [`ANSWER_SIZE_MAX`] bytes, and no wait for a piece of it is longer than
//! [`ANSWER_TIMEOUT`] (a check: [`CHECK_TIMEOUT`]). After an error the connection is closed.

mod access;
mod channel;
mod follow;
mod rolling;
mod session;
mod status;

use crate::command_line::ClientOptions;
use crate::terminal::{self, Failure};
use node::management::{LINE_SIZE_MAX, NOT_AUTHORIZED, PROGRESS_PREFIX};
use protocol::transport::is_mysql_greeting;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub(crate) use access::Access;
use channel::Channel;
use session::{Done, Session};

/// Longest answer.
const ANSWER_SIZE_MAX: u64 = 16 * 1024 * 1024;
/// Longest wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for the answer of a check, which reads all rows.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3600);
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Pause between tries to fetch the configuration.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How often a node that waits for a management node says so, and a command what it waits for.
const REMINDER_INTERVAL: Duration = Duration::from_secs(10);
/// The start of a line that says that a request was refused.
const ERROR_PREFIX: &str = "ERROR";
/// The start of a line that says that a check found something.
const DIFFERENCE_PREFIX: &str = "DIFFERENCE";

/// A connection to a management node.
struct ManagementClient {
    connection: BufReader<Channel>,
    /// Host and port, for people.
    place: String,
    /// `--token-file`.
    token_file: Option<PathBuf>,
    /// It has shown that it has authority, or could not.
    has_tried: bool,
}

impl ManagementClient {
    fn new(stream: Channel, place: String, token_file: Option<PathBuf>) -> Self {
        Self { connection: BufReader::new(stream), place, token_file, has_tried: false }
    }

    /// Connects to the first management node that answers; an error says what was tried.
    fn connect(access: &Access) -> Result<Self, Failure> {
        let mut problems = String::new();
        for (host, port) in &access.connectstring.places {
            match connect(host, *port).and_then(|stream| Channel::open(stream, access.keys.as_ref())) {
                Ok(stream) => {
                    return Ok(Self::new(stream, format!("{host}:{port}"), access.token_file.clone()));
                }
                Err(error) => {
                    let separator = if problems.is_empty() { "" } else { "; " };
                    let _ = write!(problems, "{separator}{host}:{port}: {error}");
                }
            }
        }
        Err(Failure::new(format!("cannot connect to a management node: {problems}")))
    }

    /// Sends a request and reads the lines of its answer.
    fn request(&mut self, request: &str) -> io::Result<Vec<String>> {
        let is_check = request.trim().eq_ignore_ascii_case("check");
        self.request_within(request, if is_check { CHECK_TIMEOUT } else { ANSWER_TIMEOUT })
    }

    /// Sends a request; shows that this process has authority, if the node wants that, and sends it again.
    fn request_within(&mut self, request: &str, timeout: Duration) -> io::Result<Vec<String>> {
        let mut lines = self.exchange_within(request, timeout)?;
        if lines.first().is_some_and(|line| line.starts_with(NOT_AUTHORIZED)) && !self.has_tried {
            match self.prove()? {
                Ok(()) => return self.exchange_within(request, timeout),
                Err(why) => lines[0].push_str(&format!(" ({why})")),
            }
        }
        Ok(lines)
    }

    /// Shows that this process has authority; else why it could not.
    fn prove(&mut self) -> io::Result<Result<(), String>> {
        self.has_tried = true;
        let token_file = self.token_file.clone();
        access::prove(self, token_file.as_deref())
    }

    fn exchange(&mut self, request: &str) -> io::Result<Vec<String>> {
        self.exchange_within(request, ANSWER_TIMEOUT)
    }

    fn exchange_within(&mut self, request: &str, timeout: Duration) -> io::Result<Vec<String>> {
        if request.len() > LINE_SIZE_MAX {
            let why = format!("a command has at most {LINE_SIZE_MAX} bytes, this one has {}", request.len());
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let mut line = request.to_owned();
        line.push('\n');
        let stream = self.connection.get_mut();
        stream.socket().set_read_timeout(Some(timeout))?;
        stream.write_all(line.as_bytes())?;
        let answer = read_answer(&mut self.connection, is_farewell(request));
        let lines = answer.map_err(|error| explain(&self.place, error))?;
        if lines.is_empty() && request.split_whitespace().next().is_some_and(is_shutdown) {
            // The node that was asked has ended, perhaps for another reason: nobody has said that the others are asked.
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the connection was closed before an answer",
            ));
        }
        Ok(lines)
    }
}

/// The line that says that a request was refused, if it was.
fn refusal(lines: &[String]) -> Option<&str> {
    lines.first().map(String::as_str).filter(|line| line.starts_with(ERROR_PREFIX))
}

/// Whether the node that is asked may be gone before it has answered.
fn is_farewell(request: &str) -> bool {
    let words: Vec<String> = request.split_whitespace().map(str::to_ascii_lowercase).collect();
    let (first, last) = (words.first(), words.last());
    first.is_some_and(|word| is_shutdown(word))
        || last.is_some_and(|word| matches!(word.as_str(), "stop" | "restart"))
}

fn is_shutdown(word: &str) -> bool {
    word.eq_ignore_ascii_case("shutdown")
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match connect_to(address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn connect_to(address: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    Ok(stream)
}

/// The meaning of a connection's error, if the port is perhaps not that of a management node.
fn explain(place: &str, error: io::Error) -> io::Error {
    let port = place.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let was_closed = matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset);
    let guess = if error.kind() == ErrorKind::InvalidData {
        format!("{place} speaks MySQL: it is the port of SQL clients")
    } else if let Some(port) = port.filter(|port| was_closed && is_cluster_port(*port)) {
        format!(
            "{place}: {error}; {port} is usually a data node's port (ServerPort), for the links of other nodes"
        )
    } else {
        return error;
    };
    io::Error::new(
        error.kind(),
        format!(
            "{guess}. A management node listens at its PortNumber (1186 if config.ini says nothing else)"
        ),
    )
}

/// Ports that nodes get for their links if config.ini says nothing.
fn is_cluster_port(port: u16) -> bool {
    (2202..2202 + 255).contains(&port)
}

/// Reads up to the line with the dot. A server that is going away (`may_end`) may close the connection instead.
fn read_answer(from: &mut impl BufRead, may_end: bool) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    // An error is told once: the next read would only see the end.
    match from.fill_buf() {
        Ok(bytes) if is_mysql_greeting(bytes) => {
            return Err(io::Error::new(ErrorKind::InvalidData, "it speaks MySQL"));
        }
        Err(error) if error.kind() == ErrorKind::Other => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let mut rest = from.take(ANSWER_SIZE_MAX);
    loop {
        let mut bytes = Vec::new();
        let size = match rest.read_until(b'\n', &mut bytes) {
            Err(error) if may_end && error.kind() == ErrorKind::ConnectionReset => 0,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(io::Error::new(ErrorKind::TimedOut, "no answer in time"));
            }
            other => other?,
        };
        if bytes.pop() != Some(b'\n') {
            if size == 0 && may_end {
                return Ok(lines);
            }
            let what = if rest.limit() == 0 { "the answer is too long" } else { "the connection was closed" };
            return Err(io::Error::new(ErrorKind::UnexpectedEof, what));
        }
        let line = String::from_utf8_lossy(&bytes).into_owned();
        match line.strip_prefix('.') {
            Some("") => return Ok(lines),
            Some(escaped) => lines.push(escaped.to_owned()),
            // A command that takes long says how far it is.
            None if line.starts_with(PROGRESS_PREFIX) => terminal::say(&line),
            None => lines.push(line),
        }
    }
}

/// The text of config.ini, from the first management node that has it; waits until one has.
pub(crate) fn fetch_config(access: &Access) -> String {
    let connectstring = &access.connectstring;
    let mut reminded: Option<Instant> = None;
    loop {
        let problem = match access.connect() {
            Err(failure) => failure.to_string(),
            Ok(mut client) => match client.request("get config") {
                Ok(lines) if lines.first().is_some_and(|line| line.starts_with(ERROR_PREFIX)) => {
                    lines[0].clone()
                }
                Ok(mut lines) => {
                    lines.push(String::new());
                    return lines.join("\n");
                }
                Err(error) => format!("management node {connectstring}: {error}"),
            },
        };
        if reminded.is_none_or(|last| last.elapsed() >= REMINDER_INTERVAL) {
            reminded = Some(Instant::now());
            tracing::info!("waiting for the configuration: {problem}");
        }
        std::thread::sleep(RETRY_PAUSE);
    }
}

/// Nodes that a management node sees connected; none if nobody says so in time.
pub(crate) fn connected_nodes(access: &Access) -> Vec<u16> {
    let lines = access.connect().ok().and_then(|mut client| client.request("get status").ok());
    let status = lines.and_then(|lines| status::Status::parse(&lines));
    let nodes = status.map_or_else(Vec::new, |status| status.nodes);
    nodes.iter().filter(|node| node.state != status::State::Away).map(|node| node.id).collect()
}

/// `latsdb mgm`.
pub(crate) fn run(options: &ClientOptions) -> Result<ExitCode, Failure> {
    let mut session = Session::new(options.access.access());
    let Some(line) = &options.execute else { return interact(session) };
    let mut code = ExitCode::SUCCESS;
    for command in session::commands(line) {
        match session.obey(command)? {
            Done::Yes => {}
            Done::No => code = ExitCode::FAILURE,
            Done::Leave => break,
        }
    }
    Ok(code)
}

/// `latsdb check`.
pub(crate) fn check(access: &Access) -> Result<ExitCode, Failure> {
    let mut client = access.connect()?;
    // A check may take an hour. Whether a management node answers at all is known sooner.
    let status = client.request("get status");
    let lines = status.map_err(|error| Failure::new(format!("management node: {error}")))?;
    if status::Status::parse(&lines).is_none() && refusal(&lines).is_none() {
        return Err(Failure::new(format!("{} does not answer as a management node does", client.place)));
    }
    Ok(if ask(&mut client, "check")? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the management node knows that all nodes have started: then it can do all that it is there for.
pub(crate) fn is_complete(address: SocketAddr, timeout: Duration) -> bool {
    let Ok(stream) = connect_to(address, timeout) else { return false };
    let mut client = ManagementClient::new(Channel::Plain(stream), address.to_string(), None);
    let status =
        client.request_within("get status", timeout).ok().and_then(|lines| status::Status::parse(&lines));
    status.is_some_and(|status| status.has_started())
}

/// How far the data and SQL nodes are, a line each; `None` if the management node does not say it in time.
pub(crate) fn states(address: SocketAddr, timeout: Duration) -> Option<Vec<String>> {
    let stream = connect_to(address, timeout).ok()?;
    let mut client = ManagementClient::new(Channel::Plain(stream), address.to_string(), None);
    client.request_within("all status", timeout).ok()
}

/// Has the whole cluster stopped together, so that nothing is lost.
pub(crate) fn shut_down(address: SocketAddr, timeout: Duration) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(error.to_string());
    let stream = connect_to(address, timeout).map_err(failed)?;
    let mut client = ManagementClient::new(Channel::Plain(stream), address.to_string(), None);
    let lines = client.request("shutdown").map_err(failed)?;
    refusal(&lines).map_or(Ok(()), |why| Err(Failure::new(why)))
}

/// Asks and prints; false if the request was refused or a check found something.
fn ask(client: &mut ManagementClient, command: &str) -> Result<bool, Failure> {
    let lines = client.request(command).map_err(|error| Failure::new(format!("management node: {error}")))?;
    for line in &lines {
        terminal::say(line);
    }
    let is_bad = |line: &String| line.starts_with(ERROR_PREFIX) || line.starts_with(DIFFERENCE_PREFIX);
    Ok(!lines.iter().any(is_bad))
}

/// Does what takes some time; false if it was not done.
fn follow(followed: rolling::Followed, access: &Access) -> bool {
    let result = rolling::run(followed, access);
    if let Err(failure) = &result {
        let text = failure.to_string();
        // A refusal of a management node is told as its other answers are.
        let tell = if text.starts_with(ERROR_PREFIX) { terminal::say } else { terminal::complain };
        tell(&text);
    }
    result.is_ok()
}

/// Reads lines of commands until `quit`, `exit` or the end of the input.
fn interact(mut session: Session) -> Result<ExitCode, Failure> {
    session.connect()?;
    let is_terminal = io::stdin().is_terminal();
    if is_terminal {
        let places = session.places();
        terminal::say(&format!("Connected to the management node at {places}; 'help' lists the commands."));
    }
    let mut line = String::new();
    loop {
        if is_terminal {
            terminal::prompt(session.prompt());
        }
        line.clear();
        let size = io::stdin().lock().read_line(&mut line);
        if size.map_err(|error| Failure::new(format!("cannot read commands: {error}")))? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        for command in session::commands(&line) {
            match session.obey(command) {
                Ok(Done::Yes | Done::No) => {}
                Ok(Done::Leave) => return Ok(ExitCode::SUCCESS),
                Err(failure) => terminal::complain(&failure.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
