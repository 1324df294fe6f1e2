//! ALTER TABLE of columns: what is one version, and what writes the rows again.

use super::*;
use expression::{ColumnSlot, Expression};
use stdx::wire::{from_bytes, to_bytes};
use types::DefaultValue;

fn modify(from: &str, spec: ColumnSpec) -> AlterAction {
    AlterAction::ModifyColumn { from: from.into(), spec: Box::new(spec) }
}

fn place(column: &str, after: Option<&str>) -> AlterAction {
    AlterAction::MoveColumn { column: column.into(), after: after.map(str::to_owned) }
}

fn columns_of(table: &TableDefinition) -> Vec<String> {
    let shown = |column: &types::ColumnDefinition| {
        let null = if column.flags.nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", column.name, crate::column_type_text(column))
    };
    table.visible_columns().map(|(_, column)| shown(column)).collect()
}

/// Runs it on `item`, which must take one version; gives the columns.
fn in_place(world: &mut World, actions: Vec<AlterAction>) -> Vec<String> {
    let version = world.item().version;
    let lines = world.run(&alter("item", actions)).expect("an ALTER TABLE");
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!((world.item().version, world.item().id), (version + 1, TableId(100)));
    columns_of(world.item())
}

#[test]
fn rows_stay_where_they_read_the_same() {
    let mut world = World::with_item();
    let columns = in_place(&mut world, vec![modify("price", ColumnSpec::new("cost", INT))]);
    assert_eq!(columns, ["id int NOT NULL", "sku varchar(20)", "cost int"]);
    let note = ColumnSpec { comment: "c".into(), ..not_null("note", varchar(5)) };
    in_place(&mut world, vec![AlterAction::AddColumn(note)]);
    let longer = ColumnSpec { comment: "c".into(), ..not_null("note", varchar(9)) };
    let columns = in_place(&mut world, vec![modify("NOTE", longer)]);
    assert_eq!(columns[3], "note varchar(9) NOT NULL");
    let columns = in_place(&mut world, vec![modify("note", ColumnSpec::new("note", varchar(9)))]);
    assert_eq!(columns[3], "note varchar(9)", "NULL is allowed from now on");
    assert_eq!(world.item().columns[3].absent, Some(Value::text("")), "as the rows before it have it");
}

#[test]
fn another_default_is_not_that_of_rows_before_the_column() {
    let mut world = World::with_item();
    let default = |text: &str| DefaultSpec::Literal(Value::text(text));
    let weight = ColumnSpec { default: default("7"), ..not_null("weight", INT) };
    in_place(&mut world, vec![AlterAction::AddColumn(weight)]);
    let set = |default| vec![AlterAction::SetDefault { column: "Weight".into(), default }];
    in_place(&mut world, set(default("8")));
    let column = world.item().columns[3].clone();
    assert_eq!((column.default, column.absent), (DefaultValue::Literal(Value::Int(8)), Some(Value::Int(7))));
    in_place(&mut world, set(DefaultSpec::Unspecified));
    assert_eq!(world.item().columns[3].default, DefaultValue::Missing);
    let row = types::RowLayout::of_table(world.item());
    let mut before = Vec::new();
    let layout = types::RowLayout::new(&world.item().columns[..3]);
    layout.encode(&[types::ValueRef::Int(1), types::ValueRef::Null, types::ValueRef::Null], &mut before);
    assert_eq!(row.column(&before, types::ColumnIndex(3)), types::ValueRef::Int(7));
    check(world.run(&alter("item", set(default("x")))), "1067 Invalid default value for 'weight'");
    let unknown = AlterAction::SetDefault { column: "no".into(), default: default("1") };
    check(world.run(&alter("item", vec![unknown])), "1054 Unknown column 'no' in 'item'");
}

#[test]
fn another_type_is_a_copy_that_takes_the_name() {
    let mut world = World::with_item();
    let big = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
    check(
        world.run(&alter("item", vec![modify("price", not_null("price", big))])),
        "write 4: 100@2 shop.item [0:PRIMARY:Public 1:sku→101:Public], \
102@1 shop.item [0:PRIMARY:Public 1:sku→103:Public], 103@1 shop.$unique_102_1 [0:PRIMARY:Public]
         install 4, 100 below 2, 102 below 1, 103 below 1 or back
         write 5: 100@3 shop.item [0:PRIMARY:Public 1:sku→101:Public]
         install 5, 100 below 3 or back
         copy 100@3 into 102 [0 1 2]
         write 6: no 100, no 101, 102@2 shop.item [0:PRIMARY:Public 1:sku→103:Public]
         install 6
         done",
    );
    assert_eq!(columns_of(world.item()), ["id int NOT NULL", "sku varchar(20)", "price bigint NOT NULL"]);
    assert_eq!(world.item().kind, types::TableKind::User);
}

#[test]
fn a_copy_that_fails_leaves_the_table_open_and_nothing_behind() {
    let request = alter("item", vec![modify("price", not_null("price", INT))]);
    for faults in [
        Faults { backfill: Some(0), ..Faults::default() },
        Faults { held_up: Some(0), ..Faults::default() },
        Faults { held_up: Some(1), ..Faults::default() },
        Faults { backfill: Some(0), crash: Some(&|step| step == 1), ..Faults::default() },
        Faults { backfill: Some(0), crash: Some(&|step| step == 5), ..Faults::default() },
    ] {
        let mut world = World::with_item();
        let before = world.item().clone();
        let lines = world.run_with(&request, faults).expect("it steps back");
        assert!(lines.last().is_some_and(|line| line.starts_with("failed")), "{lines:?}");
        let after = TableDefinition { version: before.version, ..world.item().clone() };
        assert_eq!(after, before);
        assert_eq!(world.schema.table_by_id(TableId(102)), None, "the copy");
        assert_eq!(world.schema.table_by_id(TableId(103)), None, "its hidden table");
    }
}

#[test]
fn a_runner_that_dies_leaves_a_copy_to_the_next() {
    for dead_after in 0..7 {
        let mut world = World::with_item();
        let actions = vec![modify("price", not_null("price", INT)), AlterAction::RenameTo(table("goods"))];
        let faults = Faults { crash: Some(&|step| step == dead_after), ..Faults::default() };
        let lines = world.run_with(&alter("item", actions), faults).expect("the next one finishes it");
        assert_eq!(lines.last().map(String::as_str), Some("done"));
        let goods = world.schema.table("shop", "goods").expect("the table");
        assert_eq!((goods.id, goods.copied_to), (TableId(102), None));
        assert_eq!(world.schema.table("shop", "item"), None);
    }
}

/// The line of the copy, if the actions need one.
fn copied(world: &mut World, name: &str, actions: Vec<AlterAction>) -> String {
    let lines = world.run(&alter(name, actions)).expect("an ALTER TABLE");
    lines.into_iter().find(|line| line.starts_with("copy")).expect("a copy")
}

#[test]
fn columns_come_and_go_anywhere() {
    let mut world = World::with_item();
    let first = vec![AlterAction::AddColumn(ColumnSpec::new("a", INT)), place("a", None)];
    assert_eq!(copied(&mut world, "item", first), "copy 100@3 into 102 [- 0 1 2]");
    let behind = vec![AlterAction::AddColumn(ColumnSpec::new("b", INT)), place("b", Some("ID"))];
    assert_eq!(copied(&mut world, "item", behind), "copy 102@4 into 104 [0 1 - 2 3]");
    let moved = vec![modify("a", ColumnSpec::new("a", INT)), place("a", Some("price"))];
    assert_eq!(copied(&mut world, "item", moved), "copy 104@4 into 106 [1 2 3 4 0]");
    assert_eq!(
        columns_of(world.item()),
        ["id int NOT NULL", "b int", "sku varchar(20)", "price int", "a int"]
    );
    let dropped = vec![AlterAction::DropColumn { name: "SKU".into() }];
    assert_eq!(copied(&mut world, "item", dropped), "copy 106@4 into 108 [0 1 3 4]");
    let indexes: Vec<&str> = world.item().indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(indexes, ["PRIMARY"], "an index goes with its last column");
    let unknown = AlterAction::DropColumn { name: "sku".into() };
    check(world.run(&alter("item", vec![unknown])), "1091 Can't DROP 'sku'; check that column/key exists");
}

#[test]
fn tables_get_primary_keys_and_keep_row_ids() {
    let mut world = World::with_item();
    let columns = vec![ColumnSpec::new("a", INT), ColumnSpec::new("b", INT)];
    world.run(&create("t", columns, vec![])).expect("a table");
    let line = copied(&mut world, "t", vec![AlterAction::AddColumn(ColumnSpec::new("c", INT))]);
    assert_eq!(line, "copy 102@3 into 103 [0 1 - 2]", "the row id stays the last");
    let line = copied(&mut world, "t", vec![AlterAction::AddIndex(primary(&["b"]))]);
    assert_eq!(line, "copy 103@4 into 104 [0 1 2]");
    let table = world.schema.table("shop", "t").expect("the table").clone();
    assert_eq!(columns_of(&table), ["a int", "b int NOT NULL", "c int"]);
    assert!(!table.has_sequence());
    check(
        world.run(&alter("t", vec![AlterAction::AddIndex(primary(&["a"]))])),
        "1068 Multiple primary key defined",
    );
    let other = vec![AlterAction::DropPrimaryKey, AlterAction::AddIndex(primary(&["a"]))];
    assert_eq!(copied(&mut world, "t", other), "copy 104@4 into 105 [0 1 2]");
    let line = copied(&mut world, "t", vec![AlterAction::DropPrimaryKey]);
    assert_eq!(line, "copy 105@4 into 106 [0 1 2 -]", "rows get ids");
    let table = world.schema.table("shop", "t").expect("the table").clone();
    assert!(table.has_hidden_row_id() && table.has_sequence());
    check(
        world.run(&alter("t", vec![AlterAction::DropPrimaryKey])),
        "1091 Can't DROP 'PRIMARY'; check that column/key exists",
    );
}

#[test]
fn rows_are_numbered_in_a_new_column() {
    let mut world = World::with_item();
    world.run(&create("t", vec![ColumnSpec::new("a", INT)], vec![])).expect("a table");
    let auto = ColumnSpec { auto_increment: true, ..not_null("id", INT) };
    let alone = vec![AlterAction::AddColumn(auto.clone())];
    check(
        world.run(&alter("t", alone)),
        "1075 Incorrect table definition; there can be only one auto column and it must be defined as a key",
    );
    let with_key = vec![
        AlterAction::AddColumn(auto.clone()),
        AlterAction::MoveColumn { column: "id".into(), after: None },
        AlterAction::AddIndex(primary(&["id"])),
    ];
    assert_eq!(copied(&mut world, "t", with_key), "copy 102@3 into 103 [- 0]");
    let table = world.schema.table("shop", "t").expect("the table").clone();
    assert!(!table.has_hidden_row_id() && table.has_sequence());
    let dropped = vec![AlterAction::DropColumn { name: "id".into() }];
    assert_eq!(copied(&mut world, "t", dropped), "copy 103@4 into 104 [1 -]", "the key goes with its column");
}

#[test]
fn auto_increment_goes_on() {
    let mut world = World::with_item();
    let auto = ColumnSpec { auto_increment: true, ..not_null("id", INT) };
    let lines = world.run(&alter("item", vec![modify("id", auto), AlterAction::AutoIncrement(50)]));
    let lines = lines.expect("an ALTER TABLE");
    assert!(lines[0].contains("102 from 1"), "{lines:?}");
    assert!(world.item().has_sequence());
    check(
        world.run(&alter("item", vec![AlterAction::AutoIncrement(70)])),
        "raise 102 above 69
         write 7: 102@3 shop.item [0:PRIMARY:Public 1:sku→103:Public]
         install 7
         done",
    );
    let plain = not_null("id", INT);
    let lines = world.run(&alter("item", vec![modify("id", plain)])).expect("an ALTER TABLE");
    assert!(lines.iter().any(|line| line.contains("no sequence 102")), "{lines:?}");
}

#[test]
fn defaults_follow_the_columns_that_they_name() {
    let mut world = World::with_item();
    let price = Expression::column(ColumnSlot(2), INT, true);
    let encoded = to_bytes(&price);
    let default = DefaultSpec::Expression { encoded, text: "price".into() };
    let version = world.item().version;
    let half = ColumnSpec { default, ..ColumnSpec::new("half", INT) };
    let stale = vec![AlterAction::AddColumn(half.clone()), AlterAction::BoundTo(version + 1)];
    assert_eq!(world.run(&alter("item", stale)).expect_err("bound to another version").code, 1412);
    let actions = vec![AlterAction::AddColumn(half), place("half", None), AlterAction::BoundTo(version)];
    assert_eq!(copied(&mut world, "item", actions), "copy 100@3 into 102 [- 0 1 2]");
    let DefaultValue::Expression { encoded, .. } = &world.item().columns[0].default else {
        panic!("a default")
    };
    let moved: Expression = from_bytes(encoded).expect("an expression");
    assert_eq!(moved.columns(), [ColumnSlot(3)]);
    for action in [
        AlterAction::DropColumn { name: "price".into() },
        AlterAction::RenameColumn { from: "price".into(), to: "p".into() },
        modify("price", ColumnSpec::new("p", INT)),
    ] {
        let error = world.run(&alter("item", vec![action])).expect_err("its text names it");
        assert_eq!(error.code, 3774);
    }
}

#[test]
fn other_character_sets_and_their_limits() {
    let mut world = World::with_item();
    let latin = Collation::by_name("latin1_swedish_ci").expect("a collation");
    assert_eq!(copied(&mut world, "item", vec![AlterAction::Convert(latin)]), "copy 100@3 into 102 [0 1 2]");
    assert_eq!(world.item().columns[1].sql_type.character_collation(), Some(latin));
    let same = world.run(&alter("item", vec![AlterAction::Convert(latin)])).expect("an ALTER TABLE");
    assert_eq!(same.len(), 3, "nothing changes");
    let wide = vec![modify("sku", ColumnSpec::new("sku", varchar(16_000)))];
    assert_eq!(world.run(&alter("item", wide)).expect_err("its key is too long").code, 1071);
}
