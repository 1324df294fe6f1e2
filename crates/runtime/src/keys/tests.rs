use super::*;
use crate::signing::{Authority, SignedKey, Wish, today};
use crate::tls::TlsProgress;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A cluster's authority, which signs for tests.
pub(crate) struct Realm {
    authority: SignedKey,
    signer: Authority,
}

impl Realm {
    pub(crate) fn new(cluster: &str) -> Self {
        let authority = Authority::create(cluster, 24 * HOUR).unwrap();
        let signer = Authority::open(cluster, &authority.key_pem).unwrap();
        Self { authority, signer }
    }

    /// The same authority, which signs for another cluster.
    pub(crate) fn abused_for(self, cluster: &str) -> Self {
        Self { signer: self.signer.abused_for(cluster), ..self }
    }

    fn files(&self, wish: &Wish) -> (String, String) {
        let signed = self.signer.sign(wish).unwrap();
        (signed.certificate_pem + &self.authority.certificate_pem, signed.key_pem)
    }

    pub(crate) fn keys_of(&self, node: u16, role: NodeRole) -> NodeKeys {
        self.keys(&Self::wish(node, role))
    }

    pub(crate) fn keys(&self, wish: &Wish) -> NodeKeys {
        let (certificates, key) = self.files(wish);
        NodeKeys::from_pem(&certificates, &key).unwrap()
    }

    pub(crate) fn wish(node: u16, role: NodeRole) -> Wish {
        Wish::for_time(Bearer::Node(NodeId(node), role), Some("127.0.0.1".to_owned()), HOUR)
    }

    /// It was valid until an hour ago.
    pub(crate) fn expired(node: u16, role: NodeRole) -> Wish {
        let now = today();
        Wish { not_before: now - 2 * HOUR, not_after: now - HOUR, ..Self::wish(node, role) }
    }

    pub(crate) fn forgetful(&self, node: u16, forgets: Forgets) -> NodeKeys {
        let (certificates, key) = self.files(&Self::wish(node, NodeRole::Data));
        let forget = |verifier| PeerVerifier { forgets: Some(forgets), ..verifier };
        NodeKeys::with_verifier(&certificates, &key, forget).unwrap()
    }
}

/// Runs a handshake in memory; what the accepting end and the connecting end make of it.
fn meet(
    accepting: &NodeKeys,
    connecting: &NodeKeys,
) -> (Result<TlsFilter, String>, Result<TlsFilter, String>) {
    let (mut server, mut client) = (accepting.accept().unwrap(), connecting.connect().unwrap());
    let (mut server_failed, mut client_failed) = (false, false);
    client.begin();
    while !client.outgoing.is_empty() || !server.outgoing.is_empty() {
        let mut plain = Vec::new();
        let from_client = std::mem::take(&mut client.outgoing);
        if !server_failed && !from_client.is_empty() {
            server_failed = server.receive(&from_client, &mut plain) == TlsProgress::Failed;
        }
        let from_server = std::mem::take(&mut server.outgoing);
        if !client_failed && !from_server.is_empty() {
            client_failed = client.receive(&from_server, &mut plain) == TlsProgress::Failed;
        }
    }
    let end = |filter: TlsFilter, failed: bool| {
        if failed || !filter.is_established() { Err(filter.failure().to_owned()) } else { Ok(filter) }
    };
    (end(server, server_failed), end(client, client_failed))
}

fn identity(node: u16) -> Identity<'static> {
    Identity { node: NodeId(node), role: NodeRole::Data, host: "127.0.0.1" }
}

/// Whether the accepting end lets the other one in as data node 2; and the connecting end the accepting one, as data
/// node 1.
fn lets_in(accepting: &NodeKeys, connecting: &NodeKeys) -> (bool, bool) {
    let (server, client) = meet(accepting, connecting);
    let is_right = |met: Result<TlsFilter, String>, node| {
        met.and_then(|filter| NodeKeys::judge(&filter, identity(node))).is_ok()
    };
    (is_right(server, 2), is_right(client, 1))
}

#[test]
fn nodes_of_a_cluster_let_each_other_in() {
    let realm = Realm::new("shop");
    let (one, two) = (realm.keys_of(1, NodeRole::Data), realm.keys_of(2, NodeRole::Data));
    assert_eq!(lets_in(&one, &two), (true, true));
    assert_eq!(one.own().bearer, Some(("shop".to_owned(), Bearer::Node(NodeId(1), NodeRole::Data))));
    assert_eq!(one.authorities().len(), 1);
    let renewed = realm.keys_of(2, NodeRole::Data);
    assert_ne!(renewed.own().serial, two.own().serial);
    assert_eq!(lets_in(&one, &renewed), (true, true), "keys are renewed one node after the other");
}

#[test]
fn expired_certificates_are_refused_by_both_ends() {
    let realm = Realm::new("shop");
    let (one, two) = (realm.keys_of(1, NodeRole::Data), realm.keys_of(2, NodeRole::Data));
    let old_one = realm.keys(&Realm::expired(1, NodeRole::Data));
    let old_two = realm.keys(&Realm::expired(2, NodeRole::Data));
    assert!(!lets_in(&one, &old_two).0);
    assert!(!lets_in(&old_one, &two).1);
    let early =
        Wish { not_before: today() + HOUR, not_after: today() + 2 * HOUR, ..Realm::wish(2, NodeRole::Data) };
    assert!(!lets_in(&one, &realm.keys(&early)).0);
    // This is what a check that forgets it would do: so the lines above would notice.
    assert!(lets_in(&realm.forgetful(1, Forgets::Expiry), &old_two).0);
    assert!(lets_in(&old_one, &realm.forgetful(2, Forgets::Expiry)).1);
}

#[test]
fn certificates_of_another_cluster_are_refused_by_both_ends() {
    let (realm, other) = (Realm::new("shop"), Realm::new("shop"));
    let (one, two) = (realm.keys_of(1, NodeRole::Data), realm.keys_of(2, NodeRole::Data));
    // The same name, another authority.
    assert_eq!(lets_in(&one, &other.keys_of(2, NodeRole::Data)), (false, false));
    assert!(lets_in(&realm.forgetful(1, Forgets::Authority), &other.forgetful(2, Forgets::Authority)).0);
    // The same authority, another name.
    let (forgetful_one, forgetful_two) =
        (realm.forgetful(1, Forgets::Cluster), realm.forgetful(2, Forgets::Cluster));
    let abused = realm.abused_for("shelf");
    // A stranger does not mind whom it meets.
    let (foreign_one, foreign_two) =
        (abused.forgetful(1, Forgets::Cluster), abused.forgetful(2, Forgets::Cluster));
    assert!(!lets_in(&one, &foreign_two).0);
    assert!(!lets_in(&foreign_one, &two).1);
    assert!(lets_in(&forgetful_one, &foreign_two).0);
    assert!(lets_in(&foreign_one, &forgetful_two).1);
}

#[test]
fn certificates_of_another_node_are_refused_by_both_ends() {
    let realm = Realm::new("shop");
    let (one, two) = (realm.keys_of(1, NodeRole::Data), realm.keys_of(2, NodeRole::Data));
    assert!(!lets_in(&one, &realm.keys_of(3, NodeRole::Data)).0, "another id");
    assert!(!lets_in(&realm.keys_of(3, NodeRole::Data), &two).1, "another id");
    assert!(!lets_in(&one, &realm.keys_of(2, NodeRole::Sql)).0, "another role");
    let client = Wish { bearer: Bearer::Client, ..Realm::wish(2, NodeRole::Data) };
    assert!(!lets_in(&one, &realm.keys(&client)).0, "a client's");
    let elsewhere = Wish { host: Some("10.0.0.7".to_owned()), ..Realm::wish(2, NodeRole::Data) };
    assert!(!lets_in(&one, &realm.keys(&elsewhere)).0, "another host");
    let nowhere = Wish { host: None, ..Realm::wish(2, NodeRole::Data) };
    assert!(!lets_in(&one, &realm.keys(&nowhere)).0, "no host");
}

#[test]
fn hosts_are_compared_by_what_they_mean() {
    assert!(is_same_host("DB3.example", "db3.EXAMPLE"));
    assert!(is_same_host("fd00:0::3", "fd00::3"));
    assert!(!is_same_host("10.0.0.3", "10.0.0.4"));
    assert!(!is_same_host("db3", "db3.example"));
}

#[test]
fn a_node_looks_at_its_own_keys_first() {
    let realm = Realm::new("shop");
    let keys = realm.keys_of(1, NodeRole::Data);
    let now = keys.own().not_before + 60;
    assert_eq!(keys.verify_own(), Ok(()));
    // Signed by one authority, beside the certificate of another one.
    let stranger = Realm { authority: Realm::new("shop").authority, ..Realm::new("shop") };
    assert!(stranger.keys_of(1, NodeRole::Data).verify_own().is_err());
    assert_eq!(keys.refuse_own("shop", identity(1), now), None);
    assert!(keys.refuse_own("shelf", identity(1), now).unwrap().contains("of cluster 'shop'"));
    assert!(keys.refuse_own("shop", identity(2), now).unwrap().contains("of data node 1"));
    assert!(keys.refuse_own("shop", identity(1), keys.own().not_after + 1).unwrap().contains("has expired"));
    assert!(
        keys.refuse_own("shop", identity(1), keys.own().not_before - 1).unwrap().contains("not valid yet")
    );
}

#[test]
fn files_without_what_they_need_are_refused() {
    let realm = Realm::new("shop");
    let (certificates, key) = realm.files(&Realm::wish(1, NodeRole::Data));
    let (_, other_key) = realm.files(&Realm::wish(1, NodeRole::Data));
    let own = realm.signer.sign(&Realm::wish(1, NodeRole::Data)).unwrap();
    for (certificates, key) in [
        ("", key.as_str()),
        (certificates.as_str(), ""),
        (certificates.as_str(), other_key.as_str()),
        (own.certificate_pem.as_str(), own.key_pem.as_str()),
        (realm.authority.certificate_pem.as_str(), realm.authority.key_pem.as_str()),
    ] {
        assert!(NodeKeys::from_pem(certificates, key).is_err());
    }
}
