//! CHECK constraints and generated columns: their names, and what they allow to become of columns.

use super::*;
use crate::request::CheckSpec;
use expression::{ColumnSlot, Expression};
use stdx::wire::{from_bytes, to_bytes};

/// The encoded column at a position.
fn column(position: u16) -> Vec<u8> {
    to_bytes(&Expression::column(ColumnSlot(position), INT, true))
}

fn spec(name: Option<&str>, position: u16) -> CheckSpec {
    let text = format!("c{position}");
    CheckSpec { name: name.map(str::to_owned), encoded: column(position), text, is_enforced: true }
}

fn add(name: Option<&str>, position: u16) -> AlterAction {
    AlterAction::AddCheck(spec(name, position))
}

fn names(table: &TableDefinition) -> Vec<&str> {
    table.checks.iter().map(|check| check.name.as_str()).collect()
}

#[test]
fn names_are_generated_taken_once_and_follow_the_table() {
    let mut world = World::with_item();
    world.run(&alter("item", vec![add(None, 2), add(Some("Positive"), 2), add(None, 0)])).expect("added");
    assert_eq!(names(world.item()), ["item_chk_1", "item_chk_2", "Positive"]);
    let twice = alter("item", vec![add(Some("positive"), 2)]);
    check(world.run(&twice), "3822 Duplicate check constraint name 'positive'.");
    let columns = vec![ColumnSpec::new("a", INT)];
    let DdlRequest::CreateTable(mut other) = create("other", columns, vec![]) else { panic!("a table") };
    other.checks = vec![spec(Some("POSITIVE"), 0)];
    let other = DdlRequest::CreateTable(other);
    check(world.run(&other), "3822 Duplicate check constraint name 'POSITIVE'.");
    world.run(&DdlRequest::RenameTables(vec![(table("item"), table("goods"))])).expect("renamed");
    let goods = world.schema.table("shop", "goods").expect("the table").clone();
    assert_eq!(names(&goods), ["goods_chk_1", "goods_chk_2", "Positive"]);
    let like = DdlRequest::CreateTableLike { table: table("t"), if_not_exists: false, like: table("goods") };
    world.run(&like).expect("made like it");
    let like = world.schema.table("shop", "t").expect("the table").clone();
    assert_eq!(names(&like), ["t_chk_1", "t_chk_2", "t_chk_3"]);
}

/// MySQL takes such names for constraints, but not for tables, columns and keys.
#[test]
fn names_may_end_with_a_space() {
    let mut world = World::with_item();
    world.run(&alter("item", vec![add(Some("positive "), 2)])).expect("added");
    assert_eq!(names(world.item()), ["positive "]);
    let empty = alter("item", vec![add(Some(""), 2)]);
    check(world.run(&empty), "1280 Incorrect index name ''");
}

#[test]
fn constraints_come_with_a_copy_and_go_in_one_version() {
    let mut world = World::with_item();
    let lines = world.run(&alter("item", vec![add(Some("c"), 2)])).expect("added");
    assert!(lines.iter().any(|line| line.starts_with("copy")), "rows that are there are tested: {lines:?}");
    let enforce = |is_enforced| vec![AlterAction::EnforceCheck { name: "C".into(), is_enforced }];
    assert_eq!(world.run(&alter("item", enforce(false))).expect("not enforced").len(), 3);
    assert_eq!(world.run(&alter("item", enforce(true))).expect("enforced").len(), 8);
    let drop = AlterAction::DropConstraint { name: "C".into() };
    assert_eq!(world.run(&alter("item", vec![drop.clone()])).expect("dropped").len(), 3);
    check(world.run(&alter("item", vec![drop])), "3940 Constraint 'C' does not exist.");
    let gone = AlterAction::DropCheck { name: "c".into() };
    check(world.run(&alter("item", vec![gone])), "3821 Check constraint 'c' is not found in the table.");
    let key = AlterAction::DropConstraint { name: "sku".into() };
    world.run(&alter("item", vec![key])).expect("a unique key is a constraint");
    assert_eq!(world.item().indexes.len(), 1);
}

#[test]
fn columns_that_are_named_keep_their_names() {
    let mut world = World::with_item();
    let both = Expression::and([1, 2].map(|slot| from_bytes(&column(slot)).expect("a column")).to_vec());
    let pair = CheckSpec { encoded: to_bytes(&both), ..spec(Some("pair"), 2) };
    world.run(&alter("item", vec![AlterAction::AddCheck(pair), add(Some("alone"), 0)])).expect("added");
    let rename = AlterAction::RenameColumn { from: "price".into(), to: "p".into() };
    let expected =
        "3959 Check constraint 'pair' uses column 'price', hence column cannot be dropped or renamed.";
    check(world.run(&alter("item", vec![rename])), expected);
    check(world.run(&alter("item", vec![AlterAction::DropColumn { name: "price".into() }])), expected);
    let moved = AlterAction::MoveColumn { column: "price".into(), after: None };
    world.run(&alter("item", vec![moved])).expect("moved");
    let pair = world.item().checks.iter().find(|check| check.name == "pair").expect("the constraint");
    let expression: Expression = from_bytes(&pair.encoded).expect("an expression");
    assert_eq!(expression.columns(), [ColumnSlot(0), ColumnSlot(2)], "it names columns by their places");
}

#[test]
fn generated_columns_hold_what_they_are_made_of() {
    let mut world = World::with_item();
    let of =
        |position| DefaultSpec::Generated { encoded: column(position), text: "c".into(), is_stored: true };
    let twice = ColumnSpec { default: of(2), ..ColumnSpec::new("twice", INT) };
    let lines = world.run(&alter("item", vec![AlterAction::AddColumn(twice)])).expect("added");
    assert!(lines.iter().any(|line| line == "copy 100@3 into 102 [0 1 2 -]"), "{lines:?}");
    let expected = "3108 Column 'price' has a generated column dependency.";
    check(world.run(&alter("item", vec![AlterAction::DropColumn { name: "price".into() }])), expected);
    let rename = AlterAction::RenameColumn { from: "price".into(), to: "p".into() };
    check(world.run(&alter("item", vec![rename])), expected);
    let thrice = ColumnSpec { default: of(3), ..ColumnSpec::new("thrice", INT) };
    let first = AlterAction::MoveColumn { column: "thrice".into(), after: None };
    check(
        world.run(&alter("item", vec![AlterAction::AddColumn(thrice), first])),
        "3107 Generated column can refer only to generated columns defined prior to it.",
    );
    world.run(&alter("item", vec![AlterAction::DropColumn { name: "twice".into() }])).expect("dropped");
}
