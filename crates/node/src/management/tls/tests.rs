use super::*;
use protocol::Outputs;
use types::NodeId;

#[test]
fn what_protects_is_told_of_the_session_and_of_each_link() {
    let certificate = |name: &str| CertificateReport {
        name: name.to_owned(),
        expires: "18-Dec-2026".to_owned(),
        serial: "0A:1B".to_owned(),
    };
    let peer = |node, address: &str, security, certificate| PeerReport {
        node: NodeId(node),
        address: address.to_owned(),
        security,
        certificate,
    };
    let report = RuntimeReport {
        peers: vec![
            peer(2, "10.0.0.2", LinkSecurity::Tls, Some(certificate("two"))),
            peer(3, "localhost", LinkSecurity::Local, None),
            peer(4, "10.0.0.4", LinkSecurity::Plain, None),
        ],
        certificates: vec![certificate("one")],
        ..RuntimeReport::default()
    };
    let name = String::new;
    let mut management = Management::new(NodeId(1), name(), name(), name(), Vec::new());
    let session = ConnectionId { slot: 1, generation: 1 };
    management.welcome(session, "10.0.0.7:1".to_owned(), &mut Outputs::default());
    let told = "Certificate: 'one', expires on 18-Dec-2026, serial 0A:1B\nLinks of node 1:\n\
                id=2\t@10.0.0.2  (TLS: 'two', expires on 18-Dec-2026, serial 0A:1B)\n\
                id=3\t@localhost  (within this machine)\nid=4\t@10.0.0.4  (no TLS)\n";
    assert_eq!(management.tls_information(session, &report), format!("This session: no TLS\n{told}"));
    management.certify(session);
    let certified = format!("This session: TLS, with a certificate of this cluster\n{told}");
    assert_eq!(management.tls_information(session, &report), certified);
    let bare = management.tls_information(session, &RuntimeReport::default());
    assert!(bare.contains("This node has no keys"), "{bare}");
}
