use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

#[test]
fn command_lines_as_users_type_them() {
    let parse = |line: &str| CommandLine::try_parse_from(line.split(' '));
    for line in [
        "latsdb dev",
        "latsdb dev --dir /tmp/x --mysql-port 0 --management-port 0 --data-port 0 --max-connections 10",
        "latsdb mgmd -f config.ini --configdir /tmp --ndb-nodeid 1",
        "latsdb data --ndb-nodeid 2 --ndb-connectstring 127.0.0.1:1186 --angel-pid 77",
        "latsdb sql --ndb-nodeid 4 -c host --port 3307 --socket /tmp/s",
        "latsdb mgm -c 127.0.0.1:1186 -e show",
        "latsdb mgm",
        "latsdb check --ndb-connectstring 127.0.0.1:1186",
    ] {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).err());
    }
    for line in [
        "latsdb",
        "latsdb mgmd",
        "latsdb dev --config x --mysql-port 1",
        "latsdb dev --data-nodes 0",
        "latsdb data --ndb-nodeid 0",
        "latsdb data --ndb-connectstring host:0",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}
