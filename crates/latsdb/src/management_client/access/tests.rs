use super::*;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

const CHALLENGE: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A directory of its own, which is removed.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("latsdb-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A management node that refuses a stop until its challenge is answered; the requests that it got.
fn serve(file: &str) -> (Access, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = file.to_owned();
    let server = std::thread::spawn(move || {
        let token = Token::new([5; 32]);
        let mut stream = listener.accept().unwrap().0;
        let mut requests = Vec::new();
        let mut is_proved = false;
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let line = line.unwrap();
            let answer = match line.as_str() {
                "authenticate" => format!("challenge {CHALLENGE}\nid {}\nfile {file}\n", token.id()),
                "2 stop" if is_proved => "Node 2: stop requested\n".to_owned(),
                "2 stop" => format!("{}because\n", node::management::NOT_AUTHORIZED),
                line if line == format!("authenticate {}", token.answer(CHALLENGE).unwrap()) => {
                    is_proved = true;
                    "authorized\n".to_owned()
                }
                _ => "ERROR: what\n".to_owned(),
            };
            stream.write_all(format!("{answer}.\n").as_bytes()).unwrap();
            requests.push(line);
        }
        requests
    });
    let connectstring = Connectstring { node: None, places: vec![("127.0.0.1".to_owned(), port)] };
    (Access { connectstring, token_file: None, keys: None }, server)
}

#[test]
fn the_token_that_the_node_names_is_found() {
    let folder = Folder::new("found");
    let file = folder.0.join(management_token::name(1));
    std::fs::write(&file, format!("{}\n{}\n", Token::new([4; 32]).line(), Token::new([5; 32]).line()))
        .unwrap();
    let (access, server) = serve(&file.display().to_string());
    let mut client = access.connect().unwrap();
    assert_eq!(client.request("2 stop").unwrap(), ["Node 2: stop requested"]);
    assert_eq!(client.request("2 stop").unwrap(), ["Node 2: stop requested"]);
    drop(client);
    let asked = server.join().unwrap();
    assert_eq!((asked.len(), asked[0].as_str(), asked[1].as_str()), (5, "2 stop", "authenticate"));
}

#[test]
fn the_refusal_says_what_was_tried() {
    let folder = Folder::new("refused");
    // A name that is no token file's is not read, whatever is in it.
    let other = folder.0.join("secret");
    std::fs::write(&other, Token::new([5; 32]).line()).unwrap();
    let wrong = folder.0.join("wrong");
    std::fs::write(&wrong, Token::new([6; 32]).line()).unwrap();
    let absent = folder.0.join(management_token::name(1));
    for (named, typed, why) in [
        (&other, None, "the management node names no token file"),
        (&absent, None, "No such file or directory"),
        (&other, Some(&wrong), "does not have the token of this management node"),
    ] {
        let (access, server) = serve(&named.display().to_string());
        let mut client = Access { token_file: typed.cloned(), ..access }.connect().unwrap();
        let lines = client.request("2 stop").unwrap();
        assert!(lines[0].starts_with(node::management::NOT_AUTHORIZED), "{lines:?}");
        assert!(lines[0].contains(why), "{lines:?}");
        drop(client);
        assert_eq!(server.join().unwrap(), ["2 stop", "authenticate"]);
    }
    // A file that was typed is read, whatever its name.
    let (access, server) = serve("nothing");
    let mut client = Access { token_file: Some(other), ..access }.connect().unwrap();
    assert_eq!(client.request("2 stop").unwrap(), ["Node 2: stop requested"]);
    drop(client);
    server.join().unwrap();
}
