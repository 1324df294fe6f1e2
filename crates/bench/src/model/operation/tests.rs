use super::*;
use crate::costs::RowCost;
use std::collections::BTreeMap;

const NAMES: [&str; 5] = ["point_select", "in_100", "range_100", "update", "scan_count"];

/// A thousand instructions take a thousand nanoseconds.
fn costs() -> Costs {
    let instructions: BTreeMap<String, f64> = NAMES.map(|name| (name.to_owned(), 1_000.0)).into();
    Costs { instructions, ..Costs::default() }
}

fn made(workload: Workload, costs: &Costs, groups: f64) -> Statements {
    let book = Book::of_this_build().unwrap();
    statements(workload, &book, costs, Rows { table: 2_000.0, groups }).unwrap().unwrap()
}

fn sum(graph: &Graph) -> f64 {
    graph.stages.iter().map(|stage| stage.ns).sum()
}

#[test]
fn stages_add_up_to_what_is_counted() {
    let book = Book::of_this_build().unwrap();
    for (workload, name) in
        [(Workload::Point, "point_select"), (Workload::Keys, "in_100"), (Workload::Range, "range_100")]
    {
        let here = sum(&made(workload, &costs(), 1.0).main.here);
        assert!((here - book.of(name).unwrap().instructions()).abs() < 1.0, "{name}");
    }
    let counts = book.of("update_own").unwrap().between(&book.of("update_near").unwrap());
    let update = made(Workload::Update, &costs(), 1.0).main.here;
    // Two signals between nodes are between stages.
    assert!((sum(&update) + 2.0 * update.link_ns - counts.instructions()).abs() < 1.0);
}

#[test]
fn rows_in_memory_cost_more_than_rows_in_the_cache() {
    let far = RowCost { cached: 50.0, memory: 450.0 };
    let with = Costs { read: far, keys: far, scan: far, stage: far, apply: far, ..costs() };
    for (workload, rows) in
        [(Workload::Point, 1.0), (Workload::Keys, 100.0), (Workload::Range, 100.0), (Workload::Update, 2.0)]
    {
        let (near, far) = (made(workload, &costs(), 1.0).main.here, made(workload, &with, 1.0).main.here);
        assert!((sum(&far) - sum(&near) - 400.0 * rows).abs() < 1.0, "{workload:?}");
    }
}

#[test]
fn reads_of_many_rows_are_shared_by_all_groups() {
    let other = |groups| made(Workload::Keys, &costs(), groups).main.elsewhere.stages[1];
    assert_eq!(other(8.0).role, Role::Others);
    assert!((other(2.0).ns / other(8.0).ns - 4.0).abs() < 1e-6);
}

#[test]
fn a_workload_is_made_if_its_statements_are_counted() {
    let book = Book::of_this_build().unwrap();
    for workload in Workload::ALL {
        let made = statements(workload, &book, &costs(), Rows { table: 1_000.0, groups: 1.0 }).unwrap();
        assert_eq!(made.is_some(), is_counted(workload), "{workload:?}");
    }
    let none = statements(Workload::Point, &book, &Costs::default(), Rows { table: 1.0, groups: 1.0 });
    assert!(none.unwrap_err().contains("point_select"));
}
