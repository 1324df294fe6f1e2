use super::*;
use crate::command::Command;
use crate::framing::{HEADER_SIZE, next_packet};
use crate::handshake::AuthSwitchRequest;
use proptest::prelude::*;

const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";

fn options(transport: Transport) -> HandshakeOptions<'static> {
    HandshakeOptions {
        server_version: "8.0.39-LatsDB",
        connection_id: 5,
        nonce: Nonce::from_random(NONCE),
        capabilities: Capabilities::SERVER | Capabilities::SSL,
        collation: 255,
        status: StatusFlags::AUTOCOMMIT,
        default_plugin: AuthPlugin::CachingSha2Password,
        transport,
    }
}

fn begin(transport: Transport) -> ServerHandshake {
    ServerHandshake::begin(&options(transport), &mut Vec::new())
}

fn login(plugin: &str, auth_response: &[u8], capabilities: Capabilities) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketWriter::new(&mut bytes, 1).handshake_response(&HandshakeResponse {
        capabilities,
        payload_size_max: 1 << 24,
        collation: 45,
        user: b"me",
        auth_response,
        database: None,
        plugin: capabilities.contains(Capabilities::PLUGIN_AUTH).then_some(plugin.as_bytes()),
        attributes: ConnectAttributes::default(),
    });
    bytes.split_off(HEADER_SIZE)
}

fn scramble(plugin: AuthPlugin, password: &[u8]) -> Vec<u8> {
    auth::scramble(plugin, password, &Nonce::from_random(NONCE))
}

/// Payloads of the packets in `out`, whose numbers must go on from `sequence`.
fn sent(out: &[u8], mut sequence: u8) -> Vec<Vec<u8>> {
    let (mut rest, mut payloads) = (out, Vec::new());
    while let Some(packet) = next_packet(rest, Expected { sequence, payload_size_max: 1 << 20 }).unwrap() {
        payloads.push(rest[packet.payload].to_vec());
        rest = &rest[packet.consumed..];
        sequence += 1;
    }
    payloads
}

fn slow(password: &[u8]) -> Verifier {
    let mut hash = auth::slow::SlowHash::of_password(password, [7; auth::slow::SALT_SIZE]).unwrap();
    Verifier::Slow(hash.run(u32::MAX).unwrap())
}

#[test]
fn a_trusted_client_is_let_in_whatever_it_sends() {
    for (client, response, sent_before) in
        [(SHA2, &b"wrong"[..], vec![vec![1, 3]]), (SHA2, b"", vec![]), (NATIVE, b"wrong", vec![])]
    {
        let (mut handshake, mut out) = (begin(Transport::UnixSocket), Vec::new());
        handshake.on_packet(&login(client.name(), response, Capabilities::CLIENT), &mut out).unwrap();
        assert_eq!(handshake.on_trusted(&mut out), HandshakeStep::Accepted);
        assert_eq!(sent(&out, 2), sent_before);
    }
}

const SHA2: AuthPlugin = AuthPlugin::CachingSha2Password;
const NATIVE: AuthPlugin = AuthPlugin::MysqlNativePassword;

#[test]
fn the_right_scramble_takes_the_fast_path() {
    let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
    let hello = login(SHA2.name(), &scramble(SHA2, b"secret"), Capabilities::CLIENT);
    assert_eq!(handshake.expected().sequence, 1);
    assert_eq!(handshake.on_packet(&hello, &mut out), Ok(HandshakeStep::FindAccount));
    assert_eq!((handshake.login().user.as_str(), handshake.login().used_password), ("me", true));
    let verifier = Verifier::from_password(SHA2, b"secret");
    assert_eq!(handshake.on_account(Some(&verifier), &mut out), Ok(HandshakeStep::Accepted));
    assert_eq!(sent(&out, 2), [vec![1, 3]]);
    assert_eq!(handshake.sequence(), 3);
}

#[test]
fn a_client_with_another_plugin_is_switched() {
    for (client, account) in
        [("mysql_native_password", SHA2), ("caching_sha2_password", NATIVE), ("dialog", NATIVE)]
    {
        for password in [&b"secret"[..], b"wrong"] {
            let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
            handshake.on_packet(&login(client, b"whatever", Capabilities::CLIENT), &mut out).unwrap();
            let verifier = Verifier::from_password(account, b"secret");
            assert_eq!(handshake.on_account(Some(&verifier), &mut out), Ok(HandshakeStep::Receive));
            let switch = &sent(&out, 2)[0];
            assert_eq!(AuthSwitchRequest::parse(switch).unwrap().plugin, account.name().as_bytes());
            assert_eq!(handshake.expected().sequence, 3);
            let expected = match (password == b"secret", account) {
                (true, _) => HandshakeStep::Accepted,
                (false, NATIVE) => HandshakeStep::Denied,
                // Full authentication is asked for.
                (false, SHA2) => HandshakeStep::Receive,
            };
            assert_eq!(handshake.on_packet(&scramble(account, password), &mut out), Ok(expected));
        }
    }
}

#[test]
fn a_client_without_plugins_speaks_the_native_one() {
    let old = Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
    for (account, expected) in
        [(NATIVE, Ok(HandshakeStep::Accepted)), (SHA2, Err(HandshakeError::PluginUnsupported))]
    {
        let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
        handshake.on_packet(&login("", &scramble(NATIVE, b"secret"), old), &mut out).unwrap();
        let verifier = Verifier::from_password(account, b"secret");
        assert_eq!(handshake.on_account(Some(&verifier), &mut out), expected);
        assert!(out.is_empty());
    }
}

#[test]
fn an_unknown_user_sees_what_one_with_a_wrong_password_sees() {
    let known = [slow(b"secret"), Verifier::from_password(SHA2, b"secret")];
    for (client, verifier) in ["mysql_native_password", "caching_sha2_password"].into_iter().zip(&known) {
        for response in [&b""[..], b"\0", &[5; 32], &scramble(SHA2, b"no such account")] {
            let mut seen = Vec::new();
            for account in [None, Some(verifier)] {
                let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
                handshake.on_packet(&login(client, response, Capabilities::CLIENT), &mut out).unwrap();
                let mut step = handshake.on_account(account, &mut out).unwrap();
                if step == HandshakeStep::Receive {
                    step = handshake.on_packet(response, &mut out).unwrap();
                }
                seen.push((step, out));
            }
            assert_eq!(seen[0], seen[1]);
            assert_ne!(seen[0].0, HandshakeStep::Accepted);
        }
    }
}

#[test]
fn an_account_without_a_password_takes_the_empty_answer_of_any_plugin() {
    for client in ["mysql_native_password", "caching_sha2_password"] {
        for (response, expected) in [(&b""[..], HandshakeStep::Accepted), (b"\0", HandshakeStep::Accepted)] {
            let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
            handshake.on_packet(&login(client, response, Capabilities::CLIENT), &mut out).unwrap();
            assert_eq!(handshake.on_account(Some(&Verifier::Empty), &mut out), Ok(expected));
            assert!(out.is_empty());
        }
        let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
        handshake.on_packet(&login(client, b"x", Capabilities::CLIENT), &mut out).unwrap();
        let step = handshake.on_account(Some(&Verifier::Empty), &mut out);
        assert_ne!(step, Ok(HandshakeStep::Accepted));
    }
}

#[test]
fn tls_comes_before_the_login() {
    let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
    let mut request = Vec::new();
    PacketWriter::new(&mut request, 1).tls_request(Capabilities::CLIENT, 1 << 24, 255);
    assert_eq!(handshake.on_packet(&request[HEADER_SIZE..], &mut out), Ok(HandshakeStep::StartTls));
    handshake.on_tls_established();
    assert_eq!(handshake.transport(), Transport::Tls);
    assert_eq!(handshake.expected().sequence, 2);
    // Once is enough.
    assert_eq!(handshake.on_packet(&request[HEADER_SIZE..], &mut out), Err(HandshakeError::Malformed));
    let hello = login(SHA2.name(), &scramble(SHA2, b"x"), Capabilities::CLIENT | Capabilities::SSL);
    assert_eq!(handshake.on_packet(&hello, &mut out), Ok(HandshakeStep::FindAccount));
}

#[test]
fn tls_that_was_not_offered_is_refused() {
    let capabilities = Capabilities::SERVER;
    let options = HandshakeOptions { capabilities, ..options(Transport::Tcp) };
    let mut handshake = ServerHandshake::begin(&options, &mut Vec::new());
    let mut request = Vec::new();
    PacketWriter::new(&mut request, 1).tls_request(Capabilities::CLIENT, 1 << 24, 255);
    let refused = handshake.on_packet(&request[HEADER_SIZE..], &mut Vec::new());
    assert_eq!(refused, Err(HandshakeError::TlsNotOffered));
}

fn full_authentication(transport: Transport) -> ServerHandshake {
    let (mut handshake, mut out) = (begin(transport), Vec::new());
    handshake.on_packet(&login(SHA2.name(), &scramble(SHA2, b"x"), Capabilities::CLIENT), &mut out).unwrap();
    let step = handshake.on_account(Some(&slow(b"secret")), &mut out);
    assert_eq!(step, Ok(HandshakeStep::Receive));
    assert_eq!(sent(&out, 2), [vec![1, 4]]);
    handshake
}

#[test]
fn a_secure_transport_brings_the_password_in_clear() {
    let mut handshake = full_authentication(Transport::UnixSocket);
    let step = handshake.on_packet(b"secret\0", &mut Vec::new());
    assert_eq!(step, Ok(HandshakeStep::CheckPassword { password: b"secret".to_vec() }));
    let mut handshake = full_authentication(Transport::Tls);
    assert_eq!(handshake.on_packet(b"secret", &mut Vec::new()), Err(HandshakeError::Malformed));
}

#[test]
fn an_open_transport_brings_it_encrypted() {
    let (mut handshake, mut out) = (full_authentication(Transport::Tcp), Vec::new());
    assert_eq!(handshake.on_packet(&[2], &mut out), Ok(HandshakeStep::PublicKeyRequested));
    assert_eq!(handshake.send_public_key(b"PEM", &mut out), HandshakeStep::Receive);
    assert_eq!(sent(&out, 4), [b"\x01PEM".to_vec()]);
    let step = handshake.on_packet(&[9; 256], &mut out);
    assert_eq!(step, Ok(HandshakeStep::DecryptPassword { encrypted: vec![9; 256] }));
    assert_eq!(handshake.sequence(), 6);
}

#[test]
fn a_change_of_user_goes_the_same_way() {
    let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
    handshake.on_packet(&login(SHA2.name(), b"", Capabilities::CLIENT), &mut out).unwrap();
    handshake.on_account(Some(&Verifier::Empty), &mut out).unwrap();
    let mut request = b"\x11you\0\x14".to_vec();
    request.extend_from_slice(&scramble(NATIVE, b"secret"));
    request.extend_from_slice(b"db\0\x2D\0mysql_native_password\0");
    let Ok(Command::ChangeUser(change_user)) = Command::parse(&request, Capabilities::CLIENT) else {
        panic!()
    };
    assert_eq!(handshake.on_change_user(0, &change_user), HandshakeStep::FindAccount);
    assert_eq!((handshake.login().user.as_str(), handshake.login().database.as_deref()), ("you", Some("db")));
    let verifier = Verifier::from_password(NATIVE, b"secret");
    assert_eq!(handshake.on_account(Some(&verifier), &mut out), Ok(HandshakeStep::Accepted));
    assert_eq!(handshake.sequence(), 1);
}

proptest! {
    #[test]
    fn any_packets_are_handled(
        packets in proptest::collection::vec(any::<Vec<u8>>(), 1..4),
        valid_first: bool,
        account in 0usize..4,
    ) {
        let accounts = [
            None,
            Some(Verifier::Empty),
            Some(Verifier::from_password(NATIVE, b"x")),
            Some(slow(b"x")),
        ];
        let (mut handshake, mut out) = (begin(Transport::Tcp), Vec::new());
        let first = valid_first.then(|| login("caching_sha2_password", &[1; 32], Capabilities::CLIENT));
        for payload in first.iter().chain(&packets) {
            let mut step = handshake.on_packet(payload, &mut out);
            if step == Ok(HandshakeStep::FindAccount) {
                step = handshake.on_account(accounts[account].as_ref(), &mut out);
            }
            match step {
                Ok(HandshakeStep::StartTls) => handshake.on_tls_established(),
                Ok(HandshakeStep::PublicKeyRequested) => {
                    handshake.send_public_key(b"PEM", &mut out);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn attributes_are_kept_as_far_as_they_fit() {
    let of = |sizes: &[usize]| {
        let mut bytes = Vec::new();
        for size in sizes {
            ConnectAttributes::append(&mut bytes, b"name", &vec![b'x'; *size]);
        }
        attributes(ConnectAttributes::new(&bytes)).len()
    };
    assert_eq!(of(&[100, 404]), 2);
    assert_eq!(of(&[100, 405]), 1);
    assert_eq!(of(&[1_000_000, 1]), 0);
}
