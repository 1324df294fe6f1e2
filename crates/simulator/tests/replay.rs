//! A seed twice gives the same run, step by step.
//!
//! It has a process of its own. When memory comes back depends on the readers of all threads of a process
//! (`memory::quiescence`). So simulations with little memory repeat exactly only if nothing else runs beside them.

use simulator::run_seed;

#[test]
fn the_same_seed_gives_the_same_transcript() {
    for seed in [1, 7, 42] {
        let (first, second) = (run_seed(seed), run_seed(seed));
        assert_eq!(first.digest, second.digest, "seed {seed}");
        assert_eq!(first.steps, second.steps, "seed {seed}");
    }
}
