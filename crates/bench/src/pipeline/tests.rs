use super::*;

fn options() -> Options {
    Options {
        setups: Setup::ALL.to_vec(),
        workloads: vec![Workload::Point, Workload::Range],
        clients: vec![1, 8],
        rounds: 3,
        time: Duration::from_secs(1),
        rows: 1_000,
        folder: PathBuf::from("nowhere"),
        binary: PathBuf::from("nothing"),
    }
}

fn measured(figures: &[(Workload, u32, Setup, f64)]) -> BTreeMap<Key, Vec<Figures>> {
    let mut map: BTreeMap<Key, Vec<Figures>> = BTreeMap::new();
    for (workload, clients, setup, per_second) in figures {
        let one =
            Figures { per_second: *per_second, p99_ms: 1.0, cpu_us: 10.0, user_us: 5.0, client_us: 5.0 };
        map.entry((*workload, *clients, *setup)).or_default().push(one);
    }
    map
}

#[test]
fn a_verdict_compares_with_the_better_fixed_setup() {
    let figures = measured(&[
        (Workload::Point, 1, Setup::Receive, 100.0),
        (Workload::Point, 8, Setup::Receive, 500.0),
        (Workload::Point, 1, Setup::Split, 50.0),
        (Workload::Point, 8, Setup::Split, 700.0),
        (Workload::Point, 1, Setup::Adaptive, 100.0),
        (Workload::Point, 8, Setup::Adaptive, 575.0),
    ]);
    let (share, best) = verdict(&options(), &figures, Workload::Point).unwrap();
    assert_eq!(best, Setup::Split);
    assert!((share - 0.9).abs() < 1e-9);
    assert!(
        report(&options(), &figures, 2)
            .contains("adaptive: 90 % of split, the better fixed setup (goal 97 %: missed)")
    );
}

#[test]
fn what_was_not_measured_has_no_verdict() {
    let figures = measured(&[(Workload::Point, 1, Setup::Adaptive, 100.0)]);
    assert_eq!(verdict(&options(), &figures, Workload::Point), None);
    assert_eq!(verdict(&options(), &figures, Workload::Range), None);
    assert!(report(&options(), &figures, 2).contains('–'));
}

#[test]
fn split_setups_have_threads_of_each_kind_on_any_machine() {
    for (cpus, setup) in
        [1, 2, 4, 64].into_iter().flat_map(|cpus| [(cpus, Setup::Split), (cpus, Setup::Pipeline)])
    {
        let parameters = setup.parameters(cpus);
        let threads = &parameters.iter().find(|(name, _)| *name == "ThreadConfig").unwrap().1;
        assert!(!threads.contains("count=0"), "{cpus}: {threads}");
    }
}
