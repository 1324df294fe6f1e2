use super::*;

#[track_caller]
fn check(text: &str, node: Option<u16>, places: &[(&str, u16)]) {
    let places: Vec<(String, u16)> = places.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect();
    assert_eq!(text.parse(), Ok(Connectstring { node, places }));
}

#[test]
fn what_ndb_understands() {
    check("localhost", None, &[("localhost", 1186)]);
    check("localhost:1187", None, &[("localhost", 1187)]);
    check("nodeid=3,a:1,b", Some(3), &[("a", 1), ("b", 1186)]);
    check(
        " a , b:2 ",
        None,
        &[("a", 1), ("b", 2)].map(|(host, port)| (host, if port == 1 { 1186 } else { port })),
    );
    check("NodeId=255; a; bind-address=10.0.0.1", Some(255), &[("a", 1186)]);
    check("::1", None, &[("::1", 1186)]);
    check("[fe80::1]:12", None, &[("fe80::1", 12)]);
    check("[fe80::1]", None, &[("fe80::1", 1186)]);
}

#[test]
fn what_is_refused() {
    for text in [
        "",
        ",",
        "nodeid=3",
        "nodeid=0,a",
        "nodeid=256,a",
        "nodeid=x,a",
        "a:0",
        "a:65536",
        "a:b",
        ":1186",
        "[::1",
        "[::1]x",
        "x=y",
    ] {
        assert!(text.parse::<Connectstring>().is_err(), "{text}");
    }
}

#[test]
fn display_can_be_read_again() {
    let text = "a:1,[::1]:2";
    let parsed: Connectstring = text.parse().unwrap();
    assert_eq!(parsed.to_string(), text);
}
