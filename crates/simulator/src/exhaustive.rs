//! Worlds so small that everything that can happen in them is tried: every order of deliveries, every moment of every
//! crash.
//!
//! ```text
//! depth first: world --choice--> world --choice--> ... --> nothing is left to happen: what must hold at the end
//!                        |            after each step: what must hold always
//!                        +--> a state with a digest that was met before is not gone into again
//! ```
//! A world is small to copy: modules, which own memory, are not part of it but named by it (`blocks`). A schedule is
//! the list of its choices; a failure prints it. [`walk`] draws schedules from a seed instead of trying all: for worlds
//! that are too large for that.
//!
//! `replicas`: commits over several slots, view changes, takeovers, rejoins, between real ldms and tcs in their
//! wrappers (the fence). `leases`: failure detectors with clocks that tick, and views that leave a node out.
//! `restarts`: losses of all rows of a group, and the disks from which the cluster starts again.
//!
//! Invariants: a world's digest covers everything that decides what may happen next and what is checked; choices are
//! listed in one order.
//!
//! Deliberately not here: partial-order reduction (most orders that commute meet in one digest), and time except as a
//! counted choice.

mod blocks;
pub mod leases;
pub mod replicas;
pub mod restarts;

use std::fmt::Debug;
use stdx::{FixedSet, Prng};

/// A world small enough to try everything.
pub trait SmallWorld: Clone {
    /// Something that may happen next.
    type Choice: Copy + Debug;

    /// All that may happen now, in one order. Nothing: the schedule is over.
    fn choices(&self) -> Vec<Self::Choice>;

    /// A description of a choice, for readers of a schedule.
    fn describe(&self, choice: Self::Choice) -> String {
        format!("{choice:?}")
    }

    /// Whether everything that has to happen has: what is left to choose are faults.
    fn is_quiet(&self, choices: &[Self::Choice]) -> bool;

    /// Lets it happen, and checks what must hold always.
    fn apply(&mut self, choice: Self::Choice) -> Result<(), String>;

    /// Checks what must hold when the world is quiet.
    fn check_end(&self) -> Result<(), String>;

    /// A digest of all that decides what follows.
    fn digest(&self) -> u64;
}

/// The report of an enumeration.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Different states.
    pub states: u64,
    /// Steps from one state to another, the last into one that was known included.
    pub steps: u64,
    /// Quiet states: ends of schedules that were checked.
    pub ends: u64,
    /// The longest schedule.
    pub depth: usize,
    /// Everything was tried.
    pub is_complete: bool,
    /// The invariant that does not hold, and the schedule that shows it.
    pub failure: Option<String>,
}

/// A moment on the way: what may happen in it, and how much of that was tried.
struct Moment<W: SmallWorld> {
    world: W,
    choices: Vec<W::Choice>,
    next: usize,
}

/// Tries everything, up to a number of states.
pub fn explore<W: SmallWorld>(make: impl Fn() -> W, states_max: u64) -> Report {
    let mut report = Report::default();
    let mut seen: FixedSet<u64> = FixedSet::default();
    let world = make();
    seen.insert(world.digest());
    let mut path: Vec<Moment<W>> = Vec::new();
    match enter(world, &mut report) {
        Ok(moment) => path.push(moment),
        Err(failure) => report.failure = Some(failure),
    }
    while report.failure.is_none()
        && let Some(moment) = path.last_mut()
    {
        let Some(choice) = moment.choices.get(moment.next).copied() else {
            path.pop();
            continue;
        };
        if report.states >= states_max {
            return report;
        }
        moment.next += 1;
        report.steps += 1;
        let mut world = moment.world.clone();
        let entered = guarded(|| world.apply(choice)).and_then(|()| {
            if !seen.insert(world.digest()) {
                return Ok(None);
            }
            guarded(|| enter(world, &mut report)).map(Some)
        });
        match entered {
            Ok(None) => {}
            Ok(Some(moment)) => {
                path.push(moment);
                report.depth = report.depth.max(path.len());
            }
            Err(failure) => {
                let taken = path.iter().map(|moment| (&moment.world, moment.choices[moment.next - 1]));
                let schedule: Vec<String> = taken.map(|(world, choice)| world.describe(choice)).collect();
                report.failure = Some(format!("{failure}\nafter {}", schedule.join("\n      ")));
            }
        }
    }
    report.is_complete = report.failure.is_none();
    report
}

fn enter<W: SmallWorld>(world: W, report: &mut Report) -> Result<Moment<W>, String> {
    report.states += 1;
    let choices = world.choices();
    if world.is_quiet(&choices) {
        report.ends += 1;
        world.check_end()?;
    }
    Ok(Moment { world, choices, next: 0 })
}

/// A broken invariant of a block is a failure like any other.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(crate::scenario::text_of_panic(panic.as_ref())))
}

/// Draws schedules of a world until one fails: so many, each with a generator of its own.
pub fn walk<W: SmallWorld>(world: &W, prng: &mut Prng, schedules: u32) -> Option<String> {
    (0..schedules).find_map(|_| {
        let (mut world, mut taken) = (world.clone(), Vec::new());
        let failure = loop {
            let choices = world.choices();
            if world.is_quiet(&choices) {
                let checked = guarded(|| world.check_end()).err();
                if checked.is_some() || choices.is_empty() || prng.chance(1, 2) {
                    break checked;
                }
            }
            let choice = choices[prng.index(choices.len())];
            taken.push(world.describe(choice));
            if let Err(failure) = guarded(|| world.apply(choice)) {
                break Some(failure);
            }
        };
        failure.map(|failure| format!("{failure}\nafter {}", taken.join("\n      ")))
    })
}

/// Schedules of one drawn world.
const SCHEDULES: u32 = 64;

/// A world of replicas that the seed draws, and some of its schedules: what fails.
#[must_use]
pub fn walk_seed(seed: u64) -> Option<String> {
    let plan = replicas::Plan::drawn(seed);
    let walked = guarded(|| {
        let world = replicas::ReplicaWorld::new(&plan);
        walk(&world, &mut Prng::new(seed), SCHEDULES).map_or(Ok(()), Err)
    });
    walked.err().map(|failure| format!("{failure}\nin {plan:?}"))
}

/// A world that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name to ask for.
    pub name: &'static str,
    /// A description.
    pub about: &'static str,
    /// Runs it, up to a number of states.
    pub run: fn(u64) -> Report,
}

/// All of them.
pub const WORLDS: &[Named] = &[
    Named {
        name: "commit-one",
        about: "a one-primary commit on three replicas, and a crash of any node at any moment",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::commit_one()), states),
    },
    Named {
        name: "commit-two",
        about: "a commit over two slots on three replicas, and a crash of any node at any moment",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::commit_two()), states),
    },
    Named {
        name: "double-takeover",
        about: "a commit over two slots on three replicas, and two crashes at any moments",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::double_takeover()), states),
    },
    Named {
        name: "rejoin",
        about: "a node is copied to while a row is changed and another deleted",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::rejoin()), states),
    },
    Named {
        name: "rejoin-cut",
        about: "the same, and a crash of any node at any moment",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::rejoin_cut()), states),
    },
    Named {
        name: "rejoin-two",
        about: "two slots are copied to a node while a commit changes a row and deletes one, and a node that copies dies at any moment",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::rejoin_two()), states),
    },
    Named {
        name: "return",
        about: "a node with the rows of its disk is compared with, while a row is changed, one deleted and one added",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::return_with_rows()), states),
    },
    Named {
        name: "return-cut",
        about: "the same with fewer rows, and a crash of any node at any moment",
        run: |states| explore(|| replicas::ReplicaWorld::new(&replicas::Plan::return_cut()), states),
    },
    Named {
        name: "restart",
        about: "two groups of two restorable nodes, and two losses of one process or of all at any moments",
        run: |states| explore(|| restarts::RestartWorld::durable(1, 2), states),
    },
    Named {
        name: "restart-founding",
        about: "the same when the cluster has just been founded, and one loss",
        run: |states| explore(|| restarts::RestartWorld::new(2, 1), states),
    },
    Named {
        name: "lease",
        about: "two replicas and a witness: one stands still, is cut off or dies, and a view leaves it out",
        run: |states| explore(leases::LeaseWorld::new, states),
    },
];
