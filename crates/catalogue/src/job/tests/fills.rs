//! CREATE TABLE … SELECT: the table has no name before it has its rows, and goes when they cannot come.

use super::*;
use types::TableKind;

fn filled() -> DdlRequest {
    let auto = ColumnSpec { auto_increment: true, ..not_null("id", INT) };
    let keys = vec![primary(&["id"]), key(KeySpecKind::Unique, None, &["a"])];
    create_filled("made", vec![auto, ColumnSpec::new("a", INT)], keys)
}

#[test]
fn a_table_is_named_when_it_is_filled() {
    let mut world = World::with_item();
    check(
        world.run(&filled()),
        "write 4: 102@1 shop.made [0:PRIMARY:Public 1:a→103:Public], 103@1 shop.$unique_102_1 [0:PRIMARY:Public], 102 from 1
         install 4, 102 below 1, 103 below 1 or back
         fill 102@1
         write 5: 102@2 shop.made [0:PRIMARY:Public 1:a→103:Public]
         install 5
         done",
    );
    let made = world.schema.table("shop", "made").expect("the table");
    assert_eq!((made.kind, made.version), (TableKind::User, 2));
    check(world.run(&filled()), "1050 Table 'made' already exists");
}

#[test]
fn a_table_that_is_not_filled_goes() {
    let mut world = World::with_item();
    let before = world.schema.clone();
    check(
        world.run_with(&filled(), Faults { backfill: Some(0), ..Faults::default() }),
        "write 4: 102@1 shop.made [0:PRIMARY:Public 1:a→103:Public], 103@1 shop.$unique_102_1 [0:PRIMARY:Public], 102 from 1
         install 4, 102 below 1, 103 below 1 or back
         fill 102@1
         write 5: no 102, no 103, no sequence 102
         install 5
         failed 1062",
    );
    assert!(world.schema.table("shop", "made").is_none());
    assert_eq!(world.schema.tables().len(), before.tables().len());
    assert!(world.run(&filled()).is_ok(), "the name is free");
}
