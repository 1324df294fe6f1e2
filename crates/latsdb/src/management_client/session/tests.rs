use super::*;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

#[test]
fn words_of_the_client_itself() {
    for (command, expected) in [
        ("quit", Some(Local::Leave)),
        ("EXIT", Some(Local::Leave)),
        ("Bye", Some(Local::Leave)),
        ("prompt  mine> ", Some(Local::Prompt("mine>"))),
        ("PROMPT", Some(Local::Prompt(""))),
        ("connect 10.0.0.9:1186", Some(Local::Connect("10.0.0.9:1186"))),
        ("Connect", Some(Local::Connect(""))),
        ("exit single user mode", None),
        ("show", None),
        ("quitter", None),
    ] {
        assert_eq!(local(command), expected, "{command}");
    }
    assert_eq!(commands(" show ;; ALL status; ").collect::<Vec<_>>(), ["show", "ALL status"]);
}

fn session(places: &str) -> Session {
    Session::new(Access { connectstring: places.parse().unwrap(), token_file: None, keys: None })
}

/// `-e "connect …; show; exit; show"`: what is behind `exit` is not sent.
#[test]
fn commands_are_sent_where_connect_says_until_exit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut lines = Vec::new();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let line = line.unwrap();
            let answer: &[u8] = if line == "start backup" { b"ERROR: none\n.\n" } else { b"fine\n.\n" };
            stream.write_all(answer).unwrap();
            lines.push(line);
        }
        lines
    });
    let mut session = session("127.0.0.1:1");
    let line = format!("prompt mine; connect {place}; show; start backup; EXIT; show");
    let mut ends = Vec::new();
    for command in commands(&line) {
        ends.push(session.obey(command).unwrap());
        if ends.last() == Some(&Done::Leave) {
            break;
        }
    }
    assert_eq!(ends, [Done::Yes, Done::Yes, Done::Yes, Done::No, Done::Leave]);
    assert_eq!((session.prompt(), session.places()), ("mine ", place));
    drop(session);
    assert_eq!(server.join().unwrap(), ["show", "start backup"]);
}

#[test]
fn a_place_that_is_none_is_an_error() {
    let mut session = session("127.0.0.1:1");
    let failure = session.obey("connect here:there").unwrap_err();
    assert!(failure.to_string().contains("there"), "{failure}");
    assert_eq!(session.places(), "127.0.0.1:1");
}
