use super::*;

fn user(name: &str, host: &str) -> User {
    User::new(name, host)
}

#[test]
fn the_most_specific_account_is_taken() {
    let users = [
        user("", "%"),
        user("ann", "%"),
        user("ann", "10.%"),
        user("ann", "10.0.0.1"),
        user("", "localhost"),
    ];
    let schema = Schema::new(SchemaVersion(1), [], [], users).expect("a schema");
    let check = |name: &str, hosts: &[&str], expected: Option<(&str, &str)>| {
        let found = schema.user_of_client(name, hosts).map(|user| (user.name.as_str(), user.host.as_str()));
        assert_eq!(found, expected, "{name}@{hosts:?}");
    };
    check("ann", &["10.0.0.1"], Some(("ann", "10.0.0.1")));
    check("ann", &["10.0.0.2"], Some(("ann", "10.%")));
    check("ann", &["11.0.0.2"], Some(("ann", "%")));
    check("ann", &["localhost", "127.0.0.1"], Some(("", "localhost")));
    check("bob", &["11.0.0.2"], Some(("", "%")));
}
