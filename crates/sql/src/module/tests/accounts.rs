//! Logins, and the limits of accounts.

use super::*;
use mysql_protocol::auth::slow::SlowHash;
use mysql_protocol::client::ClientError;
use mysql_protocol::{AuthPlugin, Capabilities, Verifier};
use types::{AccountAttributes, PasswordLockTime, RequiredSecurity, User};

fn slow(password: &str) -> Vec<u8> {
    let mut hash = SlowHash::of_password(password.as_bytes(), [9; 20]).expect("a short one");
    hash.run(u32::MAX).expect("all rounds").to_bytes()
}

fn account(name: &str, password: &str, change: impl FnOnce(&mut AccountAttributes)) -> User {
    let verifier = if password.is_empty() { Vec::new() } else { slow(password) };
    let mut user = User { verifier, ..User::new(name, "%") };
    change(&mut user.attributes);
    user
}

fn with_users(users: &[User]) -> Harness {
    let mut harness = Harness::new();
    harness.put_users(users);
    harness
}

fn by_socket(harness: &mut Harness, name: &str, password: &str) -> usize {
    harness.connect_by_socket(false, ClientOptions::new(name, password))
}

fn error_of(harness: &mut Harness, client: usize) -> (u16, String) {
    match harness.response(client) {
        Response::Error(error) => (error.errno, error.message),
        other => panic!("an error was expected: {other:?}"),
    }
}

/// The client would have to send it over an open connection.
fn is_asked_for_the_password(harness: &mut Harness, client: usize) -> bool {
    for _ in 0..8 {
        harness.pump(client);
        match harness.client(client).next_response() {
            Ok(None) => {}
            answer => return answer == Err(ClientError::FullAuthenticationNeeded),
        }
    }
    false
}

#[test]
fn a_password_is_checked_slowly_once_and_then_fast_by_any_transport() {
    let mut harness = with_users(&[account("ann", "secret", |_| {})]);
    let remote = |harness: &mut Harness| harness.connect_from(false, ClientOptions::new("ann", "secret"));
    // Not seen in clear yet.
    let client = remote(&mut harness);
    assert!(is_asked_for_the_password(&mut harness, client));
    for (password, expected) in [("wrong", false), ("", false), ("secret", true), ("wrong", false)] {
        let client = by_socket(&mut harness, "ann", password);
        let response = harness.response(client);
        assert_eq!(response == Response::Connected, expected, "{password}");
        if !expected {
            assert_eq!(errno(response), 1045);
            assert!(harness.is_closed(client));
        }
    }
    let client = remote(&mut harness);
    assert_eq!(harness.response(client), Response::Connected);
    assert_eq!(
        rows(harness.ask(client, "SELECT USER(), CURRENT_USER()")),
        [[text("ann@10.0.0.1"), text("ann@%")]]
    );
    // Another password: what was seen is worth nothing.
    harness.put_users(&[account("ann", "other", |_| {})]);
    let client = remote(&mut harness);
    assert!(is_asked_for_the_password(&mut harness, client));
    let client = by_socket(&mut harness, "ann", "other");
    assert_eq!(harness.response(client), Response::Connected);
}

#[test]
fn verifiers_of_every_kind_let_their_clients_in() {
    let of = |plugin| Verifier::from_password(plugin, b"secret").to_stored();
    for (plugin, verifier) in [
        ("mysql_native_password", of(AuthPlugin::MysqlNativePassword)),
        // Older builds stored the fast digest.
        ("caching_sha2_password", of(AuthPlugin::CachingSha2Password)),
        ("caching_sha2_password", slow("secret")),
    ] {
        let user = User { plugin: plugin.to_owned(), verifier, ..User::new("ann", "%") };
        let mut harness = with_users(&[user]);
        for (password, is_right) in [("secret", true), ("wrong", false)] {
            let client = by_socket(&mut harness, "ann", password);
            assert_eq!(harness.response(client) == Response::Connected, is_right, "{plugin} {password}");
        }
    }
}

#[test]
fn accounts_without_a_password_come_from_this_machine_only() {
    let anonymous = User::new("", "%");
    let mut harness = with_users(&[account("ann", "", |_| {}), anonymous]);
    for name in ["ann", "root", "whoever"] {
        let local = harness.connect_from(true, ClientOptions::new(name, ""));
        assert_eq!(harness.response(local), Response::Connected, "{name}");
        let socket = by_socket(&mut harness, name, "");
        assert_eq!(harness.response(socket), Response::Connected, "{name}");
        let remote = harness.connect_from(false, ClientOptions::new(name, ""));
        let denied = format!("Access denied for user '{name}'@'10.0.0.1' (using password: NO)");
        assert_eq!(error_of(&mut harness, remote), (1045, denied));
    }
}

#[test]
fn root_is_let_in_by_the_socket_from_the_owner_of_the_process() {
    let locked = account("root", "secret", |attributes| attributes.is_locked = true);
    // More specific than root's account, and not root's.
    let anonymous = User::new("", "localhost");
    let mut harness = with_users(&[locked, anonymous]);
    for password in ["", "wrong", "secret"] {
        let owner = harness.connect_by_socket(true, ClientOptions::new("root", password));
        assert_eq!(harness.response(owner), Response::Connected, "{password}");
        assert_eq!(rows(harness.ask(owner, "SELECT CURRENT_USER()")), [[text("root@%")]]);
    }
    let other = by_socket(&mut harness, "root", "wrong");
    assert_eq!(errno(harness.response(other)), 1045);
    let ann = harness.connect_by_socket(true, ClientOptions::new("ann", "x"));
    assert_eq!(errno(harness.response(ann)), 1045);
}

#[test]
fn a_locked_account_says_so_to_those_who_know_its_password() {
    let mut harness = with_users(&[account("ann", "secret", |attributes| attributes.is_locked = true)]);
    let client = by_socket(&mut harness, "ann", "secret");
    let locked = "Access denied for user 'ann'@'localhost'. Account is locked.";
    assert_eq!(error_of(&mut harness, client), (3118, locked.to_owned()));
    let client = by_socket(&mut harness, "ann", "wrong");
    assert_eq!(errno(harness.response(client)), 1045);
}

#[test]
fn require_ssl_is_enforced() {
    let ssl = |attributes: &mut AccountAttributes| attributes.security = RequiredSecurity::Ssl;
    let mut harness = with_users(&[account("ann", "secret", ssl)]);
    let client = by_socket(&mut harness, "ann", "secret");
    assert_eq!(errno(harness.response(client)), 1045);
}

#[test]
fn too_many_wrong_passwords_lock_an_account() {
    let mut harness = with_users(&[account("ann", "secret", |attributes| {
        (attributes.failed_login_attempts, attributes.password_lock_time) = (2, PasswordLockTime::Unbounded);
    })]);
    for expected in [1045, 3955] {
        let client = by_socket(&mut harness, "ann", "wrong");
        assert_eq!(errno(harness.response(client)), expected);
    }
    let client = by_socket(&mut harness, "ann", "secret");
    assert_eq!(errno(harness.response(client)), 3955);
    harness.put_users(&[account("ann", "secret", |attributes| {
        (attributes.failed_login_attempts, attributes.password_lock_time) = (2, PasswordLockTime::Unbounded);
        attributes.login_resets = 1;
    })]);
    let client = by_socket(&mut harness, "ann", "secret");
    assert_eq!(harness.response(client), Response::Connected);
}

#[test]
fn an_expired_password_must_be_changed_first() {
    let expired = |attributes: &mut AccountAttributes| attributes.is_password_expired = true;
    let mut harness = with_users(&[account("ann", "secret", expired)]);
    let mut old = ClientOptions::new("ann", "secret");
    old.capabilities = old.capabilities.without(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS);
    let client = harness.connect_by_socket(false, old);
    assert_eq!(errno(harness.response(client)), 1862);

    let mut new = ClientOptions::new("ann", "secret");
    new.capabilities = new.capabilities | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS;
    let client = harness.connect_by_socket(false, new);
    assert_eq!(harness.response(client), Response::Connected);
    for statement in
        ["SELECT 1", "SELECT v FROM test.t WHERE id = 1", "INSERT INTO test.t VALUES (1, 1)", "USE test"]
    {
        let error = (
            1820,
            "You must reset your password using ALTER USER statement before executing this statement."
                .to_owned(),
        );
        harness.query(client, statement);
        assert_eq!(error_of(&mut harness, client), error, "{statement}");
    }
    assert!(matches!(harness.ask(client, "SET NAMES utf8mb4"), Response::Ok(_)));
    harness.put_users(&[account("ann", "other", |_| {})]);
    assert_eq!(rows(harness.ask(client, "SELECT 1")), [[text("1")]]);
}

#[test]
fn statements_and_connections_are_limited() {
    let mut harness = with_users(&[account("ann", "secret", |attributes| {
        attributes.limits.queries_per_hour = 3;
        attributes.limits.updates_per_hour = 1;
        attributes.limits.user_connections = 1;
    })]);
    let client = by_socket(&mut harness, "ann", "secret");
    assert_eq!(harness.response(client), Response::Connected);
    let second = by_socket(&mut harness, "ann", "secret");
    let message = "User 'ann' has exceeded the 'max_user_connections' resource (current value: 1)";
    assert_eq!(error_of(&mut harness, second), (1226, message.to_owned()));
    assert_eq!(errno(harness.ask(client, "CREATE TABLE")), 1064);
    assert_eq!(errno(harness.ask(client, "CREATE TABLE")), 1226);
    assert_eq!(rows(harness.ask(client, "SELECT 1")), [[text("1")]]);
    assert_eq!(rows(harness.ask(client, "SELECT 1")), [[text("1")]]);
    harness.query(client, "SELECT 1");
    let message = "User 'ann' has exceeded the 'max_queries_per_hour' resource (current value: 3)";
    assert_eq!(error_of(&mut harness, client), (1226, message.to_owned()));
    harness.disconnect(client);
    let third = by_socket(&mut harness, "ann", "secret");
    assert_eq!(harness.response(third), Response::Connected);
    assert_eq!(errno(harness.ask(third, "SELECT 1")), 1226);
    // FLUSH begins the hour anew; connections that there are count on.
    let root = harness.connect();
    for flush in ["FLUSH USER_RESOURCES", "FLUSH LOGS, PRIVILEGES"] {
        assert_eq!(errno(harness.ask(third, "SELECT 1")), 1226, "before {flush}");
        assert!(matches!(harness.ask(root, flush), Response::Ok(_)));
        for _ in 0..3 {
            assert_eq!(rows(harness.ask(third, "SELECT 1")), [[text("1")]], "{flush}");
        }
        let fourth = by_socket(&mut harness, "ann", "secret");
        assert_eq!(errno(harness.response(fourth)), 1226);
    }
    assert!(matches!(harness.ask(root, "FLUSH STATUS"), Response::Ok(_)));
    assert_eq!(errno(harness.ask(third, "SELECT 1")), 1226);
}

#[test]
fn set_password_of_nobody_says_what_mysql_says() {
    let mut harness = with_users(&[account("ann", "secret", |_| {})]);
    let root = harness.connect();
    harness.query(root, "SET PASSWORD FOR nobody = 'secret'");
    let message = "Can't find any matching row in the user table";
    assert_eq!(error_of(&mut harness, root), (1133, message.to_owned()));
    let ann = by_socket(&mut harness, "ann", "secret");
    assert_eq!(harness.response(ann), Response::Connected);
    // Others' accounts are hidden from those who may not change them.
    assert_eq!(errno(harness.ask(ann, "SET PASSWORD FOR nobody = 'secret'")), 1227);
}

#[test]
fn guessing_makes_the_pair_of_host_and_name_wait_and_nobody_else() {
    let mut harness = with_users(&[account("ann", "secret", |_| {}), account("bob", "secret", |_| {})]);
    for _ in 0..4 {
        let client = by_socket(&mut harness, "ann", "wrong");
        assert_eq!(errno(harness.response(client)), 1045);
    }
    assert_eq!(harness.log(), ["a login from localhost as 'ann' was refused"]);
    // The right password waits, too: nobody can tell them apart.
    let waiting = by_socket(&mut harness, "ann", "secret");
    assert!(harness.no_response(waiting));
    let other = by_socket(&mut harness, "bob", "secret");
    assert_eq!(harness.response(other), Response::Connected);
    harness.advance_ms(249);
    assert!(harness.no_response(waiting));
    harness.advance_ms(2);
    assert_eq!(harness.response(waiting), Response::Connected);
    assert_eq!(rows(harness.ask(waiting, "SELECT 1")), [[text("1")]]);
    // A client that was let in waits no more.
    let again = by_socket(&mut harness, "ann", "secret");
    assert_eq!(harness.response(again), Response::Connected);
}

#[test]
fn passwords_are_not_in_the_process_list() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "ALTER USER root IDENTIFIED BY 'secret'");
    let of_row = |row: Vec<types::Value>| match &row[7] {
        types::Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("a text was expected: {other:?}"),
    };
    let shown = harness.processes().into_iter().map(of_row).collect::<String>();
    assert_eq!(shown, "ALTER USER root IDENTIFIED BY <secret>");
}
