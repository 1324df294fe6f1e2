//! Views: what CREATE VIEW keeps, and the plans of statements that read views. The file's views are made as it goes on.

use super::surroundings::schema;
use super::{BindContext, on_a_worker_stack, outcome, prepared, shown, with_context};
use crate::plan::Plan;
use crate::prepare;
use catalogue::DdlRequest;
use types::{Grants, PrivilegeSet, Privileges, Schema, TableGrants, User, UserName, ViewDefinition};

/// The test schema, and an account that may do everything.
fn with_root() -> Schema {
    let mut schema = schema();
    put_account(&mut schema, "root", &Grants::all());
    schema
}

fn put_account(schema: &mut Schema, name: &str, grants: &Grants) {
    schema.put_user(User::new(name, "localhost"));
    let tables = std::sync::Arc::make_mut(&mut schema.grants);
    grants.rows(&UserName::new(name, "localhost")).iter().for_each(|row| tables.put(row));
}

/// Makes the view that a statement makes.
fn made(schema: &mut Schema, statement: &str) -> Result<ViewDefinition, String> {
    let prepared =
        prepared(schema, statement, &[]).map_err(|error| format!("! {} {}\n", error.code, error.message))?;
    let Plan::Ddl(ddl) = prepared.plan else { return Err("no DDL\n".to_owned()) };
    let DdlRequest::PutView(request) = ddl.request else { return Err("no view\n".to_owned()) };
    schema.put_view(request.view.clone());
    Ok(request.view)
}

fn shown_view(view: &ViewDefinition) -> String {
    let (database, name) = view.full_name();
    let column = |column: &types::ColumnDefinition| {
        let null = if column.flags.nullable { "" } else { " not null" };
        format!("{} {}{null}", column.name, catalogue::column_type_text(column))
    };
    let columns: Vec<String> = view.table.columns.iter().map(column).collect();
    let merged = if view.is_merged { "merged" } else { "gathered" };
    let updatable = if view.is_updatable { ", updatable" } else { "" };
    format!("{database}.{name} ({}) {merged}{updatable}\n{}\n", columns.join(", "), view.query)
}

#[test]
fn views() {
    let golden = include_str!("views.txt");
    let mut schema = with_root();
    let mut actual = String::new();
    for block in golden.split("\n\n") {
        for line in block.lines() {
            if line.starts_with('#') {
                actual.push_str(&format!("{line}\n"));
            }
            let Some(statement) = line.strip_prefix("> ") else { continue };
            let is_made = statement.starts_with("CREATE") || statement.starts_with("ALTER");
            let answer = match is_made {
                true => made(&mut schema, statement).map_or_else(|error| error, |view| shown_view(&view)),
                false => outcome(&schema, statement),
            };
            actual.push_str(&format!("> {statement}\n{answer}"));
        }
        actual.push('\n');
    }
    assert!(golden.trim_end() == actual.trim_end(), "==== all of it ====\n{actual}==== end ====");
}

/// A printed text is printed again as the same.
#[test]
fn printed_queries_are_fixed_points() {
    let mut schema = with_root();
    for line in include_str!("views.txt").lines().filter_map(|line| line.strip_prefix("> CREATE")) {
        let Ok(view) = made(&mut schema, &format!("CREATE{line}")) else { continue };
        let again = made(&mut schema, &format!("CREATE VIEW again AS {}", view.query));
        assert_eq!(again.map(|again| again.query), Ok(view.query));
    }
}

#[test]
fn views_may_do_what_their_definers_may() {
    let mut schema = with_root();
    for name in ["nobody", "reader"] {
        put_account(&mut schema, name, &Grants::default());
    }
    let as_nobody = |schema: &Schema, text: &str| {
        let nobody = UserName::new("nobody", "localhost");
        let privileges = PrivilegeSet::of(&schema.grants, &nobody, std::iter::empty());
        with_context(schema, |context| {
            let context = BindContext { user: ("nobody", "localhost"), privileges: &privileges, ..*context };
            prepare(text, &context, &[]).map(|prepared| shown(&prepared)).map_err(|error| error.code)
        })
    };
    for text in [
        "CREATE VIEW of_root AS SELECT a FROM t",
        "CREATE SQL SECURITY INVOKER VIEW of_invoker AS SELECT a FROM t",
        "CREATE DEFINER = reader@localhost VIEW of_reader AS SELECT a FROM t",
    ] {
        made(&mut schema, text).expect("a view");
    }
    // To read the view is not permitted; then its tables are the definer's affair.
    assert_eq!(as_nobody(&schema, "SELECT a FROM of_root").err(), Some(1142));
    let mut grants = Grants::default();
    for table in ["of_root", "of_invoker", "of_reader"] {
        let name = ("d".to_owned(), table.to_owned());
        let held = TableGrants { table: Privileges::SELECT, ..TableGrants::default() };
        grants.tables.insert(name, held);
    }
    put_account(&mut schema, "nobody", &grants);
    assert!(as_nobody(&schema, "SELECT a FROM of_root").is_ok());
    assert_eq!(as_nobody(&schema, "SELECT a FROM of_invoker").err(), Some(1356));
    assert_eq!(as_nobody(&schema, "SELECT a FROM of_reader").err(), Some(1356));
    schema.remove_user("root", "localhost");
    assert_eq!(as_nobody(&schema, "SELECT a FROM of_root").err(), Some(1449));
}

#[test]
fn views_nest_sixty_four_deep() {
    on_a_worker_stack(nest_views);
}

fn nest_views() {
    let mut schema = with_root();
    made(&mut schema, "CREATE VIEW v1 AS SELECT id, a FROM t").expect("a view");
    made(&mut schema, "CREATE ALGORITHM = TEMPTABLE VIEW g1 AS SELECT id, a FROM t").expect("a view");
    for depth in 2..=64 {
        let below = depth - 1;
        let merged = format!("CREATE VIEW v{depth} AS SELECT id, a + 1 AS a FROM v{below} WHERE a > {below}");
        made(&mut schema, &merged).expect("a view");
        let gathered = format!("CREATE ALGORITHM = TEMPTABLE VIEW g{depth} AS SELECT id, a FROM g{below}");
        made(&mut schema, &gathered).expect("a view");
    }
    assert!(outcome(&schema, "SELECT a FROM v64 WHERE id = 1").contains("Lookup on t using PRIMARY (1)"));
    assert!(outcome(&schema, "SELECT a FROM g64").contains("Table scan on t"));
    made(&mut schema, "CREATE VIEW v65 AS SELECT a FROM v64").expect("a view");
    assert!(outcome(&schema, "SELECT a FROM v65").starts_with("! 1436"));
    // A view that reads itself.
    made(&mut schema, "CREATE OR REPLACE VIEW v1 AS SELECT 1 AS id, 2 AS a").expect("a view");
    let circle = made(&mut schema, "ALTER VIEW v1 AS SELECT id, a FROM v3");
    assert!(circle.is_ok(), "it is looked for when it is read");
    assert!(outcome(&schema, "SELECT a FROM v2").starts_with("! 1462"));
}

#[test]
fn queries_of_views_nest_together() {
    on_a_worker_stack(nest_queries);
}

fn nest_queries() {
    let mut schema = with_root();
    made(&mut schema, "CREATE VIEW n0 AS SELECT a FROM t").expect("a view");
    // Each is some queries deep, and all together are too deep.
    let nested = |view: &str, depth: usize| {
        format!("SELECT a FROM {}{view}{}", "(SELECT a FROM ".repeat(depth), " LIMIT 9) d".repeat(depth))
    };
    for number in 1..=5 {
        let text = format!(
            "CREATE ALGORITHM = TEMPTABLE VIEW n{number} AS {}",
            nested(&format!("n{}", number - 1), 20)
        );
        made(&mut schema, &text).expect("a view");
    }
    assert!(outcome(&schema, &nested("n5", 20)).contains("Table scan on t"));
    let values = format!("SELECT {}(SELECT MAX(a) FROM n5){}", "(SELECT ".repeat(30), ")".repeat(30));
    let refused = outcome(&schema, &values);
    assert!(refused.starts_with("! 1436 Statement too complex: query_depth_max"), "{refused}");
}
