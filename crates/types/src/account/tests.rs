use super::*;

#[test]
fn host_patterns() {
    let check = |pattern: &str, host: &str, expected: bool| {
        assert_eq!(matches_host(pattern, host), expected, "{pattern} {host}");
    };
    check("%", "", true);
    check("", "db.example.com", true);
    check("%.example.com", "db.example.com", true);
    check("%.example.com", "example.com", false);
    check("192.168.0._", "192.168.0.7", true);
    check("192.168.0._", "192.168.0.77", false);
    check("%a%b", "xaaxbxb", true);
    check("%a%b", "xaaxbxc", false);
    check("LOCALHOST", "localhost", true);
    check("10.1.0.0/16", "10.1.200.3", true);
    check("10.1.0.0/16", "10.2.0.1", false);
    check("10.1.0.0/255.255.0.0", "10.1.200.3", true);
    check("10.1.0.0/255.255.0.0", "db.example.com", false);
    check("10.1.2.3/16", "10.1.2.3", false);
    check("0.0.0.0/0", "10.1.2.3", true);
    check("10.1.0.0/33", "10.1.0.0", false);
}

#[test]
fn specific_hosts_come_first() {
    let mut patterns =
        ["%", "10.1.0.0/255.255.0.0", "", "10.1.2.3", "10.1.0.0/24", "10.%", "10.1.0.0/16", "10.1.%"];
    patterns.sort_by_key(|pattern| HostSpecificity::of(pattern));
    assert_eq!(
        patterns,
        ["", "%", "10.%", "10.1.%", "10.1.0.0/255.255.0.0", "10.1.0.0/16", "10.1.0.0/24", "10.1.2.3"]
    );
}
