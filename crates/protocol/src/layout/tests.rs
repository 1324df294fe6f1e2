use super::{Layout, LayoutError, LayoutRequest, ThreadKind, automatic};
use crate::ModuleKind;
use crate::ModuleKind::{Ldm, Main, Membership, Query, Sql, Tc};
use stdx::Duration;

const DATA: &[ModuleKind] = &[Sql, Tc, Ldm, Query, Main, Membership];

fn plan(thread_config: &str) -> Result<Layout, LayoutError> {
    Layout::plan(&LayoutRequest { thread_config: Some(thread_config), cpu_count: 1, kinds: DATA })
}

fn shape(layout: &Layout) -> Vec<(String, Vec<(ModuleKind, u8)>)> {
    layout.threads.iter().map(|thread| (thread.name.clone(), thread.modules.clone())).collect()
}

#[test]
fn the_receive_setup_carries_everything_in_recv_threads() {
    let layout = Layout::plan(&LayoutRequest { thread_config: None, cpu_count: 2, kinds: DATA }).unwrap();
    assert_eq!(
        shape(&layout),
        [
            ("recv0".into(), vec![(Sql, 0), (Tc, 0), (Ldm, 0), (Query, 0), (Main, 0)]),
            ("recv1".into(), vec![(Sql, 1), (Tc, 1), (Ldm, 1), (Query, 1)]),
            ("membership".into(), vec![(Membership, 0)]),
        ]
    );
    assert!(layout.notes.is_empty());
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
fn other_roles_get_only_their_modules() {
    let sql = LayoutRequest { thread_config: None, cpu_count: 8, kinds: &[Sql, Main, Membership] };
    assert_eq!(Layout::plan(&sql).unwrap().count(Sql), 8);
    let management = LayoutRequest { thread_config: None, cpu_count: 8, kinds: &[Main, Membership] };
    assert_eq!(
        shape(&Layout::plan(&management).unwrap()),
        [("recv0".into(), vec![(Main, 0)]), ("membership".into(), vec![(Membership, 0)])]
    );
}

#[test]
fn every_layout_holds_its_invariants() {
    for cpu_count in 1..400 {
        let layout = Layout::plan(&LayoutRequest { thread_config: None, cpu_count, kinds: DATA }).unwrap();
        for kind in DATA {
            let mut instances: Vec<u8> =
                layout.modules().filter(|(module, _)| module == kind).map(|(_, instance)| instance).collect();
            instances.sort_unstable();
            let expected: Vec<u8> = (0..layout.count(*kind)).collect();
            assert_eq!(instances, expected, "{kind:?} with {cpu_count} CPUs");
            assert!(!instances.is_empty());
        }
        assert!(layout.threads.iter().all(|thread| !thread.modules.is_empty()));
    }
}

#[test]
fn between_rows_the_row_below_beyond_the_table_steps() {
    let counts = |cpus| {
        let groups = automatic(cpus);
        [ThreadKind::Main, ThreadKind::Ldm, ThreadKind::Query, ThreadKind::Tc, ThreadKind::Recv]
            .map(|kind| groups[kind.index()].count)
    };
    assert_eq!(counts(0), [0, 0, 0, 0, 1]);
    assert_eq!(counts(3), [0, 0, 0, 0, 2]);
    assert_eq!(counts(7), [1, 2, 2, 0, 1]);
    assert_eq!(counts(23), [1, 5, 5, 5, 2]);
    assert_eq!(counts(95), [1, 16, 16, 16, 8]);
    assert_eq!(counts(143), [1, 32, 32, 32, 16]);
    assert_eq!(counts(160), [1, 40, 40, 40, 20]);
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
