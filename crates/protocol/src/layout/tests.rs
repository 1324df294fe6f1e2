use super::{CpuFacts, CpuShare, LDM_MAX, Layout, LayoutError, LayoutRequest, ThreadKind, WORKERS_MAX};
use crate::ModuleKind;
use crate::ModuleKind::{Disk, Ldm, Main, Membership, Query, Sql, Tc};
use stdx::Duration;

const DATA: &[ModuleKind] = &[Sql, Tc, Ldm, Query, Main, Membership];

fn plan(thread_config: &str) -> Result<Layout, LayoutError> {
    let request =
        LayoutRequest { thread_config: Some(thread_config), share: CpuShare::ONE, cpus: &[], kinds: DATA };
    Layout::plan(&request)
}

/// A node that has so many CPUs alone.
fn alone(cpus: u16) -> CpuFacts {
    CpuFacts { usable: cpus, has_quota: false, configured: None, sharing: 1, has_neighbours: false }
}

fn automatic(facts: &CpuFacts, kinds: &[ModuleKind]) -> Layout {
    let cpus: Vec<u16> = (10..10 + facts.usable).collect();
    let share = CpuShare::of(facts);
    Layout::plan(&LayoutRequest { thread_config: None, share, cpus: &cpus, kinds }).unwrap()
}

fn shape(layout: &Layout) -> Vec<(String, Vec<(ModuleKind, u8)>)> {
    layout.threads.iter().map(|thread| (thread.name.clone(), thread.modules.clone())).collect()
}

#[test]
fn a_worker_per_cpu_carries_one_of_each() {
    let layout = automatic(&alone(2), DATA);
    assert_eq!(
        shape(&layout),
        [
            ("main".into(), vec![(Main, 0)]),
            ("recv0".into(), vec![(Sql, 0), (Tc, 0), (Ldm, 0), (Query, 0)]),
            ("recv1".into(), vec![(Sql, 1), (Tc, 1), (Ldm, 1), (Query, 1)]),
            ("membership".into(), vec![(Membership, 0)]),
        ]
    );
    assert!(layout.notes.is_empty());
    let cpus: Vec<Option<u16>> = layout.threads.iter().map(super::ThreadPlan::cpu).collect();
    assert_eq!(cpus, [None, Some(10), Some(11), None], "main and membership run where there is room");
}

#[test]
fn some_of_the_receiving_threads_may_host_a_kind() {
    let layout =
        plan("recv={count=3},ldm={count=1,host=recv},query={host=RECV,count=2},tc={count=9,host=recv}");
    assert_eq!(
        shape(&layout.unwrap()),
        [
            ("recv0".into(), vec![(Sql, 0), (Tc, 0), (Ldm, 0), (Query, 0), (Main, 0)]),
            ("recv1".into(), vec![(Sql, 1), (Tc, 1), (Query, 1)]),
            ("recv2".into(), vec![(Sql, 2), (Tc, 2)]),
            ("membership".into(), vec![(Membership, 0)]),
        ]
    );
    for wrong in ["recv={count=2,host=recv}", "ldm={count=0,host=recv}", "ldm={count=1,host=tc}"] {
        assert!(matches!(plan(wrong), Err(LayoutError::BadValue { .. })), "{wrong}");
    }
}

#[test]
fn the_pipeline_of_the_papers() {
    let layout = plan(
        "ldm={count=1,cpubind=0},query={count=1,cpubind=1},tc={count=0,cpubind=2},\
         recv={count=2,cpubind=32,33},send={count=0,cpubind=35},main={count=0,cpubind=36},io={count=1,cpubind=33}",
    )
    .unwrap();
    assert_eq!(
        shape(&layout),
        [
            ("ldm0".into(), vec![(Ldm, 0)]),
            ("query0".into(), vec![(Query, 0)]),
            ("recv0".into(), vec![(Sql, 0), (Tc, 0), (Main, 0)]),
            ("recv1".into(), vec![(Sql, 1), (Tc, 1)]),
            ("membership".into(), vec![(Membership, 0)]),
        ]
    );
    assert_eq!(
        layout.threads.iter().map(|thread| thread.cpu()).collect::<Vec<_>>(),
        [Some(0), Some(1), Some(32), Some(33), None]
    );
    assert_eq!(layout.notes.len(), 1, "{:?}", layout.notes);
}

#[test]
fn options_lists_and_repeated_kinds() {
    let layout = plan(
        "main, ldm = { cpubind = 2-3, spintime=50, thread_prio=7, realtime=1 }, ldm={count=1,cpuset=4}, \
         recv={count=2, cpuset=0,1 ,spintime=0}",
    )
    .unwrap();
    let threads: Vec<_> = layout.threads.iter().map(|thread| (&*thread.name, &thread.cpus[..])).collect();
    assert_eq!(
        threads[..5],
        [
            ("main", &[][..]),
            ("ldm0", &[2][..]),
            ("ldm1", &[3][..]),
            ("ldm2", &[2][..]),
            ("recv0", &[0, 1][..])
        ]
    );
    assert_eq!(layout.threads[1].spin, Some(Duration::from_micros(50)));
    assert_eq!(layout.threads[1].priority, Some(7));
    assert_eq!(layout.threads[4].spin, Some(Duration::ZERO));
    assert_eq!(layout.count(Query), 2, "query lives in the recv threads");
}

#[test]
fn somebody_always_receives() {
    assert_eq!(plan("").unwrap().threads[0].name, "recv0");
    let layout = plan("ldm={count=1},main={count=1},recv={count=0}").unwrap();
    assert_eq!(layout.threads[0].modules, [(Sql, 0), (Tc, 0), (Query, 0), (Main, 0)]);
    assert_eq!(plan("ldm={count=1}").unwrap().threads.last().unwrap().kind, ThreadKind::Membership);
}

#[test]
fn the_disk_is_beside_main() {
    let kinds: Vec<ModuleKind> = DATA.iter().copied().chain([Disk]).collect();
    let own_thread = automatic(&alone(1), &kinds);
    assert_eq!(own_thread.threads[0].modules, [(Main, 0), (Disk, 0)]);
    let request = LayoutRequest {
        thread_config: Some("ldm={count=1}"),
        share: CpuShare::ONE,
        cpus: &[],
        kinds: &kinds,
    };
    let hosted = Layout::plan(&request).unwrap();
    assert_eq!(hosted.threads[1].modules, [(Sql, 0), (Tc, 0), (Query, 0), (Main, 0), (Disk, 0)]);
}

#[test]
fn other_roles_get_only_their_modules() {
    let sql = automatic(&alone(192), &[Sql, Main, Membership]);
    assert_eq!((sql.count(Sql), sql.count(Ldm)), (192, 0));
    assert_eq!(
        shape(&automatic(&alone(8), &[Main, Membership])),
        [("recv0".into(), vec![(Main, 0)]), ("membership".into(), vec![(Membership, 0)])]
    );
}

#[test]
fn every_layout_holds_its_invariants() {
    for cpus in 1..400 {
        let layout = automatic(&alone(cpus), DATA);
        for kind in DATA {
            let mut instances: Vec<u8> =
                layout.modules().filter(|(module, _)| module == kind).map(|(_, instance)| instance).collect();
            instances.sort_unstable();
            let expected: Vec<u8> = (0..layout.count(*kind)).collect();
            assert_eq!(instances, expected, "{kind:?} with {cpus} CPUs");
            assert!(!instances.is_empty());
        }
        assert!(layout.threads.iter().all(|thread| !thread.modules.is_empty()));
    }
}

#[test]
fn every_cpu_has_a_worker_and_as_many_as_may_have_an_ldm() {
    for cpus in 1..=256 {
        let share = CpuShare::of(&alone(cpus));
        assert_eq!(share.workers, cpus.min(WORKERS_MAX));
        assert_eq!(share.ldm_count, cpus.min(LDM_MAX));
        assert!(share.may_spin && share.is_pinned);
        let layout = automatic(&alone(cpus), DATA);
        let counts = [Sql, Tc, Query, Ldm].map(|kind| u16::from(layout.count(kind)));
        assert_eq!(counts, [share.workers, share.workers, share.workers, share.ldm_count]);
        // Instance i of each kind is on worker i, and each worker has a CPU of its own.
        let workers: Vec<_> = layout.threads.iter().filter(|plan| plan.kind == ThreadKind::Recv).collect();
        for (index, worker) in (0..).zip(&workers) {
            assert!(worker.modules.iter().all(|(_, instance)| u16::from(*instance) == index));
            assert_eq!(worker.cpu(), Some(10 + index));
        }
    }
}

#[test]
fn quotas_neighbours_and_numcpus() {
    let share = |facts: CpuFacts| {
        let share = CpuShare::of(&facts);
        (share.workers, share.ldm_count, share.is_pinned, share.may_spin)
    };
    assert_eq!(share(alone(8)), (8, 8, true, true));
    // Two CPUs' worth of time on a machine with more: nobody is pinned, nobody spins.
    assert_eq!(share(CpuFacts { has_quota: true, ..alone(2) }), (2, 2, false, false));
    // A management node beside it: the CPUs are not its own.
    assert_eq!(share(CpuFacts { has_neighbours: true, ..alone(8) }), (8, 8, false, true));
    // Several nodes share them.
    let shared = |usable, sharing| share(CpuFacts { sharing, has_neighbours: true, ..alone(usable) });
    assert_eq!(shared(2, 2), (2, 1, false, false));
    assert_eq!(shared(1, 2), (1, 1, false, false));
    assert_eq!(shared(9, 2), (9, 4, false, false));
    assert_eq!(shared(64, 48), (64, 1, false, false));
    // NumCPUs counts as CPUs of the node alone, also where there are fewer.
    let configured = |usable, count| {
        let facts = CpuFacts { sharing: 2, has_neighbours: true, ..alone(usable) };
        share(CpuFacts { configured: Some(count), ..facts })
    };
    assert_eq!(configured(8, 4), (4, 4, false, true));
    assert_eq!(configured(2, 8), (8, 8, false, false));
    assert_eq!(configured(192, 1024), (240, 128, false, false));
    assert_eq!(share(CpuFacts { configured: Some(4), ..alone(8) }), (4, 4, true, true));
}

#[test]
fn errors_say_what_and_where() {
    let error = |text| plan(text).unwrap_err().to_string();
    assert_eq!(error("ldm={count=2"), "ThreadConfig: expected ',' or '}' at character 13");
    assert_eq!(error("ldm{count=2}"), "ThreadConfig: expected ',' or the end at character 4");
    assert_eq!(error("=3"), "ThreadConfig: expected the name of a thread kind at character 1");
    assert_eq!(error("ldm={count=x}"), "ThreadConfig: count=x is not a number");
    assert_eq!(error("ldm={cpubind=3-1}"), "ThreadConfig: cpubind=3-1 is not a list of CPUs such as 0,1,4-7");
    assert_eq!(error("ldm={count=900}"), "ThreadConfig: 900 ldm threads, at most 128 are possible");
    assert_eq!(error("main={count=2}"), "ThreadConfig: 2 main threads, at most 1 are possible");
    assert!(
        error("lmd={count=1}").starts_with("ThreadConfig: no thread kind 'lmd' (there are main, rep, ldm")
    );
    assert!(error("ldm={cnt=1}").starts_with("ThreadConfig: no option 'cnt' (there are count, cpubind"));
}
