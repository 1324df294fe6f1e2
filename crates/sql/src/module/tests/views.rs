//! Views: where their rows are looked for, and what clients are told of them.

use super::harness::Harness;
use super::{errno, read_in, texts};
use mysql_protocol::client::Response;
use protocol::program::Access;
use std::sync::Arc;
use types::{
    Collation, TableDefinition, TableId, UserName, Value, ViewAlgorithm, ViewCheck, ViewDefinition,
    ViewSecurity,
};

fn view(name: &str, query: &str) -> ViewDefinition {
    let columns =
        vec![fixtures::column("id", fixtures::integer()), fixtures::column("w", fixtures::integer())];
    let table = TableDefinition {
        database: "test".to_owned(),
        name: name.to_owned(),
        indexes: Vec::new(),
        ..fixtures::table(TableId(0), columns)
    };
    ViewDefinition {
        table: Arc::new(table),
        query: query.to_owned(),
        definer: UserName::new("root", "%"),
        security: ViewSecurity::Definer,
        algorithm: ViewAlgorithm::Undefined,
        check: ViewCheck::None,
        is_merged: true,
        is_updatable: true,
        collation: Collation::Utf8mb40900AiCi,
        character_set: "utf8mb4".to_owned(),
    }
}

const FIRST: &str = "select `test`.`t`.`id` AS `id`,`test`.`t`.`v` AS `w` from `test`.`t`";
const SECOND: &str = "select `test`.`t`.`id` AS `id`,-(`test`.`t`.`v`) AS `w` from `test`.`t`";

fn harness() -> (Harness, usize) {
    let mut harness = Harness::new();
    harness.change_schema(|schema| schema.put_view(view("seen", FIRST)));
    let client = harness.connect();
    (harness, client)
}

fn shown(response: Response) -> Vec<String> {
    texts(response).into_iter().map(|row| row.join(",")).collect()
}

#[test]
fn conditions_on_a_view_find_rows_by_the_keys_of_its_table() {
    let (mut harness, client) = harness();
    for sign in [1, -1] {
        harness.query(client, "SELECT w FROM test.seen WHERE id = 7");
        let read = read_in(harness.only_signal());
        assert!(matches!(&read.access, Access::Keys(keys) if keys.len() == 1), "{:?}", read.access);
        // Only the column that is wanted is read.
        harness.read_done(&read, &[vec![Value::Int(70)]]);
        assert_eq!(shown(harness.response(client)), [(sign * 70).to_string()]);
        // The next statement meets the view as it is then, though its text is the same.
        harness.change_schema(|schema| schema.put_view(view("seen", SECOND)));
    }
    harness.change_schema(|schema| schema.remove_view("test", "seen"));
    assert_eq!(errno(harness.ask(client, "SELECT w FROM test.seen WHERE id = 7")), 1146);
}

#[test]
fn a_view_whose_table_is_gone_is_invalid() {
    let (mut harness, client) = harness();
    harness.change_schema(|schema| schema.remove_table(TableId(100)));
    assert_eq!(errno(harness.ask(client, "SELECT * FROM test.seen")), 1356);
    // It can still be shown.
    let shown = shown(harness.ask(client, "SHOW CREATE VIEW test.seen"));
    assert!(shown[0].contains(FIRST), "{shown:?}");
}

#[test]
fn clients_are_told_of_views() {
    let (mut harness, client) = harness();
    let mut ask = |text: &str| shown(harness.ask(client, text));
    assert_eq!(ask("SHOW FULL TABLES FROM test"), ["seen,VIEW", "t,BASE TABLE"]);
    assert_eq!(
        ask("SELECT table_name, table_type, engine, table_comment FROM information_schema.tables \
             WHERE table_schema = 'test' ORDER BY 1"),
        ["seen,VIEW,Null,VIEW", "t,BASE TABLE,LatsDB,"]
    );
    assert_eq!(
        ask(
            "SELECT view_definition, check_option, is_updatable, definer, security_type, character_set_client, \
             collation_connection FROM information_schema.views WHERE table_schema = 'test'"
        ),
        [format!("{FIRST},NONE,YES,root@%,DEFINER,utf8mb4,utf8mb4_0900_ai_ci")]
    );
    assert_eq!(ask("SHOW COLUMNS FROM test.seen"), ["id,int,NO,,Null,", "w,int,NO,,Null,"]);
    let created = "CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW";
    let tail = "utf8mb4,utf8mb4_0900_ai_ci";
    for statement in ["SHOW CREATE VIEW test.seen", "SHOW CREATE TABLE test.seen"] {
        assert_eq!(ask(statement), [format!("seen,{created} `test`.`seen` AS {FIRST},{tail}")]);
    }
    assert_eq!(ask("SHOW TABLE STATUS FROM test LIKE 'seen'").len(), 1);
    harness.ask(client, "USE test");
    let short = "select `t`.`id` AS `id`,`t`.`v` AS `w` from `t`";
    let shown = shown(harness.ask(client, "SHOW CREATE VIEW seen"));
    assert_eq!(shown, [format!("seen,{created} `seen` AS {short},{tail}")]);
    assert_eq!(errno(harness.ask(client, "SHOW CREATE VIEW t")), 1347);
}

#[test]
fn the_fields_of_a_view_are_listed() {
    let (mut harness, client) = harness();
    assert!(matches!(harness.ask(client, "USE test"), Response::Ok(_)));
    harness.client(client).field_list(b"seen", b"");
    let Response::Fields(columns) = harness.response(client) else { panic!("fields") };
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["id", "w"]);
}
