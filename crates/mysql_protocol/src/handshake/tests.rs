use super::*;
use crate::framing::HEADER_SIZE;
use proptest::prelude::*;

fn payload(write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut PacketWriter::new(&mut bytes, 0));
    bytes.split_off(HEADER_SIZE)
}

fn greeting() -> Greeting<'static> {
    Greeting {
        server_version: b"8.0.39-LatsDB",
        connection_id: 0x0102_0304,
        nonce: Nonce::from_random(*b"abcdefghijklmnopqrst"),
        capabilities: Capabilities::SERVER | Capabilities::SSL,
        collation: 255,
        status: StatusFlags::AUTOCOMMIT,
        plugin: b"caching_sha2_password",
    }
}

fn response(attributes: &[u8]) -> HandshakeResponse<'_> {
    HandshakeResponse {
        capabilities: Capabilities::CLIENT | Capabilities::CONNECT_WITH_DB,
        payload_size_max: 1 << 24,
        collation: 45,
        user: b"root",
        auth_response: b"12345678901234567890",
        database: Some(b"test"),
        plugin: Some(b"mysql_native_password"),
        attributes: ConnectAttributes::new(attributes),
    }
}

#[test]
fn the_greeting_has_its_nonce_in_two_pieces() {
    let bytes = payload(|writer| writer.greeting(&greeting()));
    let version_end = 1 + "8.0.39-LatsDB".len() + 1;
    assert_eq!(bytes[0], 10);
    assert_eq!(&bytes[version_end + 4..version_end + 13], b"abcdefgh\0");
    assert!(bytes.ends_with(b"ijklmnopqrst\0caching_sha2_password\0"));
    assert_eq!(Greeting::parse(&bytes), Ok(greeting()));
}

#[test]
fn a_response_comes_back_with_all_its_parts() {
    let mut attributes = Vec::new();
    ConnectAttributes::append(&mut attributes, b"_client_name", b"test");
    ConnectAttributes::append(&mut attributes, b"long", &[b'x'; 300]);
    let bytes = payload(|writer| writer.handshake_response(&response(&attributes)));
    let Ok(ClientHello::Response(parsed)) = ClientHello::parse(&bytes, Capabilities::SERVER) else {
        panic!()
    };
    assert_eq!(parsed, response(&attributes));
    assert_eq!(parsed.attributes.iter().count(), 2);
}

#[test]
fn what_was_not_offered_is_not_read() {
    let bytes = payload(|writer| writer.handshake_response(&response(&[])));
    let offered = Capabilities::SERVER.without(Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS);
    let Ok(ClientHello::Response(parsed)) = ClientHello::parse(&bytes, offered) else { panic!() };
    assert_eq!(parsed.plugin, None);
    assert!(!parsed.capabilities.contains(Capabilities::PLUGIN_AUTH));
}

#[test]
fn clients_may_leave_out_the_last_nul() {
    let mut bytes = login_start(Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION, 0, 8).to_vec();
    bytes[0] |= 8;
    bytes.extend_from_slice(b"me\0\0db");
    let Ok(ClientHello::Response(parsed)) = ClientHello::parse(&bytes, Capabilities::SERVER) else {
        panic!()
    };
    assert_eq!((parsed.user, parsed.database, parsed.plugin), (&b"me"[..], Some(&b"db"[..]), None));
}

#[test]
fn a_login_of_only_its_start_asks_for_tls() {
    let bytes = payload(|writer| writer.tls_request(Capabilities::CLIENT, 1 << 24, 255));
    assert_eq!(
        ClientHello::parse(&bytes, Capabilities::SERVER | Capabilities::SSL),
        Ok(ClientHello::TlsRequest)
    );
    assert_eq!(ClientHello::parse(&bytes, Capabilities::SERVER), Err(Malformed));
}

#[test]
fn clients_from_before_4_1_are_malformed() {
    assert_eq!(ClientHello::parse(b"\x05\x80\0\0\x01root\0", Capabilities::SERVER), Err(Malformed));
}

#[test]
fn a_switch_carries_plugin_and_nonce() {
    let nonce = Nonce::from_random([7; NONCE_SIZE]);
    let bytes = payload(|writer| writer.auth_switch_request(AuthPlugin::MysqlNativePassword, &nonce));
    assert_eq!(
        AuthSwitchRequest::parse(&bytes),
        Ok(AuthSwitchRequest { plugin: b"mysql_native_password", nonce })
    );
    // The switch to the plugin from before 4.1 has nothing but its header.
    assert_eq!(AuthSwitchRequest::parse(&[0xFE]), Err(Malformed));
}

proptest! {
    #[test]
    fn any_bytes_are_handled(bytes: Vec<u8>, offered: u32) {
        let _ = Greeting::parse(&bytes);
        let _ = AuthSwitchRequest::parse(&bytes);
        let _ = ClientHello::parse(&bytes, Capabilities::from_bits(offered));
        let _ = ConnectAttributes::new(&bytes).iter().count();
    }

    #[test]
    fn truncated_and_damaged_packets_are_handled(cut in 0usize..400, position in 0usize..400, byte: u8) {
        let mut attributes = Vec::new();
        ConnectAttributes::append(&mut attributes, b"_client_name", &[b'x'; 260]);
        for mut bytes in [
            payload(|writer| writer.handshake_response(&response(&attributes))),
            payload(|writer| writer.greeting(&greeting())),
        ] {
            bytes.truncate(cut);
            if let Some(damaged) = bytes.get_mut(position) {
                *damaged = byte;
            }
            let _ = Greeting::parse(&bytes);
            if let Ok(ClientHello::Response(response)) = ClientHello::parse(&bytes, Capabilities::SERVER) {
                let _ = response.attributes.iter().count();
            }
        }
    }
}
