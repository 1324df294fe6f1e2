//! The registry is the process's, and tests run side by side. So each test asks only about periods that it began itself
//! and about threads of its own.
#![expect(clippy::disallowed_methods, reason = "tests of threads")]

use super::*;
use std::sync::mpsc;

/// Waits until other tests let go of what they hold.
fn wait_until_passed(period: Period) {
    while passed() < period {
        std::thread::yield_now();
    }
}

/// A thread that does as it is told.
struct Puppet {
    orders: mpsc::Sender<fn(&mut Stage)>,
    done: mpsc::Receiver<()>,
}

#[derive(Default)]
struct Stage {
    slot: Option<ThreadSlot>,
    guards: Vec<Guard>,
}

impl Puppet {
    fn new() -> Self {
        let (orders, inbox) = mpsc::channel::<fn(&mut Stage)>();
        let (outbox, done) = mpsc::channel();
        std::thread::spawn(move || {
            let mut stage = Stage::default();
            for order in inbox {
                order(&mut stage);
                outbox.send(()).unwrap();
            }
            stage.guards.clear();
        });
        Self { orders, done }
    }

    fn run(&self, order: fn(&mut Stage)) {
        self.orders.send(order).unwrap();
        self.done.recv().unwrap();
    }
}

#[test]
fn an_unregistered_thread_is_waited_for_while_it_holds_a_guard() {
    let puppet = Puppet::new();
    puppet.run(|stage| stage.guards.push(Guard::enter()));
    let period = begin_period();
    assert!(passed() < period);
    puppet.run(|stage| stage.guards.push(Guard::enter()));
    puppet.run(|stage| drop(stage.guards.remove(0)));
    assert!(passed() < period, "guards nest");
    puppet.run(|stage| stage.guards.clear());
    wait_until_passed(period);
}

#[test]
fn a_registered_thread_is_waited_for_until_it_announces_or_parks() {
    let puppet = Puppet::new();
    puppet.run(|stage| stage.slot = Some(register_thread()));
    let period = begin_period();
    assert!(passed() < period);
    puppet.run(|stage| {
        stage.guards.push(Guard::enter());
        stage.guards.clear();
    });
    assert!(passed() < period, "the end of a guard is no announcement");
    puppet.run(|stage| stage.slot.as_ref().unwrap().announce());
    wait_until_passed(period);
    let period = begin_period();
    assert!(passed() < period);
    puppet.run(|stage| stage.slot.as_ref().unwrap().park());
    wait_until_passed(period);
    // Parked, it may still read.
    puppet.run(|stage| stage.guards.push(Guard::enter()));
    let period = begin_period();
    assert!(passed() < period);
    puppet.run(|stage| stage.guards.clear());
    wait_until_passed(period);
    puppet.run(|stage| stage.slot.as_ref().unwrap().unpark());
    let period = begin_period();
    assert!(passed() < period);
    puppet.run(|stage| stage.slot = None);
    wait_until_passed(period);
}

#[test]
#[should_panic(expected = "a guard is alive")]
fn announcing_under_a_guard_is_a_bug() {
    let slot = register_thread();
    let _guard = Guard::enter();
    slot.announce();
}

#[test]
fn slots_are_used_again() {
    let mut numbers = Vec::new();
    for _ in 0..2000 {
        numbers.push(std::thread::spawn(thread_number).join().unwrap());
    }
    assert!(numbers.iter().all(|number| *number < THREADS_MAX / 2));
}
