use super::*;
use crate::model::operation::{Graph, Reach, Stage};
use crate::model::topology::{ClientsAt, Shape};

/// A cluster in which nothing costs anything but what a test says.
fn free() -> Costs {
    Costs::default()
}

fn shape(nodes: u16, cpus: u16) -> Shape {
    Shape {
        nodes,
        replicas: if nodes > 1 { 2 } else { 1 },
        cpus,
        is_one_machine: false,
        clients: ClientsAt::Elsewhere,
        tables: 4,
    }
}

/// Statements that only their sessions have work with.
fn session_work(ns: f64) -> Statements {
    let graph = Graph { stages: vec![Stage { role: Role::Session, ns }], link_ns: 0.0 };
    let main = Operation { reach: Reach::Write, here: graph.clone(), elsewhere: graph, answer_ns: 0.0 };
    Statements { main, beside: None }
}

/// Updates with so much work at each stage.
fn writes(ns: f64) -> Statements {
    let roles = [Role::Session, Role::Primary, Role::Backups, Role::Primary, Role::Session];
    let graph = Graph { stages: roles.map(|role| Stage { role, ns }).into(), link_ns: 2_000.0 };
    let main = Operation { reach: Reach::Write, here: graph.clone(), elsewhere: graph, answer_ns: 0.0 };
    Statements { main, beside: None }
}

fn load(statements: &Statements, clients: u32, client_ns: f64) -> Load<'_> {
    Load { statements, clients, beside: 0, client_ns, seed: 1 }
}

fn close(value: f64, wanted: f64) {
    assert!((value / wanted - 1.0).abs() < 0.01, "{value}, not {wanted}");
}

/// A closed network of one server with a fixed service time S and N customers who think for Z: as long as nobody
/// waits N / (Z + S), then 1 / S.
#[test]
fn one_thread_is_a_closed_network_with_a_known_answer() {
    let topology = Topology::new(shape(1, 1)).unwrap();
    let (work, think) = (10_000.0, 90_000.0);
    let statements = session_work(work);
    let one = run(&topology, &load(&statements, 1, think), &free());
    close(one.per_second, 1e9 / (work + think));
    close(one.mean_us, 10.0);
    close(one.busy, 0.1);
    let many = run(&topology, &load(&statements, 40, think), &free());
    close(many.per_second, 1e9 / work);
    close(many.busy, 1.0);
    // Little's law: all that do not think are at the server.
    close(many.mean_us, 40.0 * 10.0 - 90.0);
}

#[test]
fn costs_of_packets_and_answers_are_the_servers() {
    let topology = Topology::new(shape(1, 1)).unwrap();
    let mut statements = session_work(2_000.0);
    statements.main.answer_ns = 3_000.0;
    let costs = Costs { receive: 5_000.0, ..free() };
    close(run(&topology, &load(&statements, 16, 0.0), &costs).per_second, 1e9 / 10_000.0);
}

/// A single client wakes its thread for each statement. It waits for the delay, too, but only the thread's half of the
/// wake is work.
#[test]
fn a_thread_that_sleeps_is_woken() {
    let topology = Topology::new(shape(1, 1)).unwrap();
    let statements = session_work(2_000.0);
    let costs = Costs { wake: 4_000.0, delay: 6_000.0, ..free() };
    let outcome = run(&topology, &load(&statements, 1, 2_000.0), &costs);
    close(outcome.per_second, 1e9 / 12_000.0);
    close(outcome.busy, 4.0 / 12.0);
}

/// Nodes and clients on the same CPUs: each takes its part of the time.
#[test]
fn clients_on_the_same_cpus_take_a_part_of_them() {
    let beside = Shape { is_one_machine: true, clients: ClientsAt::Beside, ..shape(2, 2) };
    let statements = session_work(6_000.0);
    let outcome = run(&Topology::new(beside).unwrap(), &load(&statements, 64, 4_000.0), &free());
    close(outcome.per_second, 2.0 * 1e9 / 10_000.0);
    let apart = Shape { clients: ClientsAt::Apart(2), ..beside };
    let outcome = run(&Topology::new(apart).unwrap(), &load(&statements, 64, 4_000.0), &free());
    close(outcome.per_second, 2.0 * 1e9 / 6_000.0);
}

#[test]
fn more_cpus_answer_more() {
    let costs = Costs { hop: 200.0, wake: 3_000.0, receive: 2_000.0, send: 2_000.0, ..free() };
    for statements in [session_work(4_000.0), writes(2_000.0)] {
        let of = |cpus: u16| {
            let topology = Topology::new(shape(2, cpus)).unwrap();
            run(&topology, &load(&statements, 16 * u32::from(cpus), 1_000.0), &costs).per_second
        };
        let found = [1, 2, 4, 8, 16].map(of);
        assert!(found.is_sorted(), "{found:?}");
        assert!(found[4] > found[0] * 8.0, "{found:?}");
    }
}

#[test]
fn dearer_hops_and_wakes_answer_no_more() {
    let topology = Topology::new(shape(2, 4)).unwrap();
    let statements = writes(3_000.0);
    let of = |factor: f64| {
        let costs = Costs { hop: 300.0 * factor, wake: 3_000.0 * factor, ..free() };
        run(&topology, &load(&statements, 32, 1_000.0), &costs).per_second
    };
    let found = [2.0, 1.0, 0.5].map(of);
    assert!(found.is_sorted(), "{found:?}");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let topology = Topology::new(shape(4, 3)).unwrap();
    let statements = writes(3_000.0);
    let costs =
        Costs { hop: 200.0, wake: 2_500.0, delay: 8_000.0, receive: 2_000.0, send: 2_500.0, ..free() };
    let of = |seed| run(&topology, &Load { seed, ..load(&statements, 50, 1_000.0) }, &costs);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

/// Two clients scan on a node with many threads: those that wait take pieces, so both scans together use more than
/// the two threads that they came to.
#[test]
fn threads_that_wait_read_for_long_statements() {
    let topology = Topology::new(shape(1, 8)).unwrap();
    let mut statements = session_work(5_000.0);
    let scan = Graph { stages: vec![Stage { role: Role::Session, ns: 20e6 }], link_ns: 0.0 };
    statements.beside =
        Some(Operation { reach: Reach::All, here: scan.clone(), elsewhere: scan, answer_ns: 0.0 });
    let load = Load { beside: 2, ..load(&statements, 1, 20_000.0) };
    let outcome = run(&topology, &load, &free());
    assert!(outcome.busy * 8.0 > 4.0, "{outcome:?}");
}
