use super::*;
use crate::costs::RowCost;
use figures::Figure;
use std::path::Path;

fn costs() -> Costs {
    let row = RowCost { cached: 50.0, memory: 300.0 };
    let instructions = ["point_select", "in_100", "range_100", "update", "scan_count"];
    Costs {
        machine: "a test, 2 CPUs".to_owned(),
        hop: 150.0,
        wake: 2_500.0,
        delay: 10_000.0,
        receive: 2_000.0,
        send: 3_000.0,
        kilobyte: 150.0,
        read: row,
        keys: row,
        scan: row,
        stage: row,
        apply: row,
        instructions: instructions.map(|name| (name.to_owned(), 300.0)).into(),
    }
}

/// Measured figures that are so many times what the model gives.
fn figures_of(workload: Workload, factor: f64) -> Vec<Figure> {
    let figure = |cpus: u16| Figure {
        workload,
        cpus,
        clients: 16,
        client_cpus: 2 - cpus,
        per_second: 1.0,
        cpu_us: 10.0,
        client_us: 5.0,
    };
    let guess =
        Measured { machine: "a test, 2 CPUs".to_owned(), rows: 10_000, figures: [1, 2].map(figure).into() };
    let check = check::check(workload, &Book::of_this_build().unwrap(), &costs(), &guess, 1).unwrap();
    check
        .compared
        .iter()
        .map(|one| Figure { per_second: one.model.per_second * factor, ..one.figure })
        .collect()
}

/// Point selects as the model has them, and updates that are ten times as quick.
fn measured() -> Measured {
    let figures = [figures_of(Workload::Point, 1.0), figures_of(Workload::Update, 10.0)].concat();
    Measured { machine: "a test, 2 CPUs".to_owned(), rows: 10_000, figures }
}

#[test]
fn what_is_not_met_is_not_predicted() {
    let folder = std::env::temp_dir().join(format!("latsdb-model-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, value: serde_json::Value| {
        crate::put(&folder, name, &value.to_string()).unwrap();
        folder.join(name)
    };
    let options = Options {
        workloads: vec![Workload::Point, Workload::Update, Workload::ReadWrite],
        cpus: vec![2, 4],
        nodes: vec![2, 4],
        clients: 4,
        seed: 1,
        costs: write("costs.json", costs().json()),
        figures: write("figures.json", measured().json()),
        folder: folder.clone(),
    };
    run(&options, &AtomicBool::new(false), &|_| {}).unwrap();
    let text = fs::read_to_string(folder.join("model.txt")).unwrap();
    let json = fs::read_to_string(folder.join("model.json")).unwrap();
    run(&options, &AtomicBool::new(false), &|_| {}).unwrap();
    assert_eq!(fs::read_to_string(folder.join("model.json")).unwrap(), json);
    fs::remove_dir_all(&folder).unwrap();
    assert!(text.contains("point: the model meets what was measured"), "{text}");
    assert!(text.contains("update: the model misses what was measured"), "{text}");
    assert!(text.contains("read-write: docs/counts.toml does not count its statements"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let predictions = json["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), 4);
    for one in predictions {
        assert_eq!(one["workload"], "point");
        let (low, high) = (one["range"][0].as_f64().unwrap(), one["range"][1].as_f64().unwrap());
        let middle = one["model"].as_f64().unwrap();
        assert!(low <= middle && middle <= high && low < high, "{one}");
    }
}

#[test]
fn files_that_are_something_else_are_refused() {
    let error = Costs::read(Path::new("/nowhere/costs.json")).unwrap_err();
    assert!(error.starts_with("/nowhere/costs.json: "));
}
