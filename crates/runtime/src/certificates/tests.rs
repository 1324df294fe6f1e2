use super::*;
use crate::signing::{Authority, Wish};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::time::{Duration, UNIX_EPOCH};

fn der(pem: &str) -> Vec<u8> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

fn signed(bearer: Bearer, host: &str) -> Vec<u8> {
    let authority = Authority::create("shop", Duration::from_secs(1000)).unwrap();
    let authority = Authority::open("shop", &authority.key_pem).unwrap();
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    let host = Some(host.to_owned());
    // 18 December 2023, and 1 January 2060, which is written in another form.
    let wish = Wish { bearer, host, not_before: at(1_702_857_600), not_after: at(2_840_140_800) };
    der(&authority.sign(&wish).unwrap().certificate_pem)
}

#[test]
fn what_was_signed_is_what_is_read() {
    let facts = read(&signed(Bearer::Node(NodeId(3), NodeRole::Data), "db3.example")).unwrap();
    assert_eq!(facts.bearer, Some(("shop".to_owned(), Bearer::Node(NodeId(3), NodeRole::Data))));
    assert_eq!(facts.hosts, ["db3.example"]);
    assert_eq!(facts.name, "LatsDB data node 3 of shop");
    assert_eq!((facts.not_before, facts.not_after), (1_702_857_600, 2_840_140_800));
    assert_eq!(facts.expires(), "01-Jan-2060");
    assert!(facts.serial.len() > 8 && facts.serial.contains(':'), "{}", facts.serial);
    for host in ["10.0.0.3", "fd00::3"] {
        let facts = read(&signed(Bearer::Client, host)).unwrap();
        assert_eq!(facts.bearer, Some(("shop".to_owned(), Bearer::Client)));
        assert_eq!(facts.hosts, [host]);
    }
    let authority = Authority::create("shop", Duration::from_secs(1000)).unwrap();
    assert_eq!(read(&der(&authority.certificate_pem)).unwrap().bearer, None);
}

#[test]
fn names_that_are_no_bearers_are_refused() {
    for uri in [
        "latsdb://shop",
        "latsdb://shop/data",
        "latsdb://shop/data/x",
        "latsdb://shop/root/1",
        "x://shop/client",
    ] {
        assert_eq!(Bearer::parse(uri), None, "{uri}");
    }
}

#[test]
fn damaged_certificates_end_in_an_answer() {
    let whole = signed(Bearer::Node(NodeId(3), NodeRole::Sql), "db3.example");
    for end in 0..whole.len() {
        // Cut off before its last field, it has lost something that it needs.
        assert!(read(&whole[..end]).is_err(), "{end}");
        for value in [0, 1, 0x7f, 0x80, 0x82, 0xff] {
            let mut damaged = whole.clone();
            damaged[end] = value;
            let _ = read(&damaged);
        }
    }
    assert_eq!(read(&[]), Err(Unreadable));
}
