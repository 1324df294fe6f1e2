//! Comments, and what they ask for.

use super::TableModifiers;

#[test]
fn a_comment_asks_for_durability() {
    let awaits = |comment| TableModifiers::of_comment(comment).map(|modifiers| modifiers.awaits_durable);
    for comment in [
        "NDB_TABLE=DURABILITY=epoch",
        "ndb_table=durability=EPOCH",
        "NDB_TABLE=READ_BACKUP=1,DURABILITY=epoch orders, never to be lost",
        "orders: NDB_TABLE=DURABILITY=epoch,PARTITION_BALANCE=FOR_RP_BY_NODE,NOLOGGING,FULLY_REPLICATED=0",
        "käse NDB_TABLE=DURABILITY=epoch\tNDB_TABLE=nothing",
    ] {
        assert_eq!(awaits(comment), Ok(true), "{comment}");
    }
    for comment in
        ["", "DURABILITY=epoch", "NDB_TABLE", "NDB_TABLE=DURABILITY=memory", "NDB_TABLE=READ_BACKUP=0"]
    {
        assert_eq!(awaits(comment), Ok(false), "{comment}");
    }
}

#[test]
fn what_is_no_option_is_named() {
    for (comment, wrong) in [
        ("NDB_TABLE=DURABILITY=fsync", "DURABILITY=fsync"),
        ("NDB_TABLE=DURABILITY", "DURABILITY"),
        ("NDB_TABLE=READ_BACKUP=1,DURABLE=epoch", "DURABLE=epoch"),
        ("NDB_TABLE=READ_BACKUP=2", "READ_BACKUP=2"),
        ("NDB_TABLE=PARTITION_BALANCE=", "PARTITION_BALANCE="),
        ("NDB_TABLE=NOLOGGING,NOLOGGING=1", "NOLOGGING=1"),
        ("NDB_TABLE= DURABILITY=epoch", ""),
        ("NDB_TABLE=NOLOGGING,", ""),
    ] {
        assert_eq!(TableModifiers::of_comment(comment), Err(wrong), "{comment}");
    }
}
