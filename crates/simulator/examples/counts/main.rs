//! The counting mode: the production modules, one operation at a time, counted without a clock.
//!
//! `cargo xtask counts` runs it under callgrind and holds what it counts against `docs/counts.toml`. It prints a line
//! for each name: how often the operation ran while it was counted, then the sums over these runs. Instructions are
//! not among them: callgrind writes them, in the same order, one file for each line.
//!
//! The same build counts the same each time: no clock, no thread, no seed of the machine has a part in it.
#![expect(clippy::print_stdout, reason = "a program; the simulator itself prints nothing")]

mod cluster;
mod heartbeats;
mod meter;
mod operations;

fn main() {
    for counted in operations::run() {
        let traffic = counted.traffic;
        let values = [
            ("operations", counted.operations as u64),
            ("allocations", counted.allocations),
            ("foreign_frees", counted.foreign_frees),
            ("signals_thread", traffic.own_thread),
            ("signals_node", traffic.other_thread),
            ("signals_cluster", traffic.other_node),
            ("bytes", traffic.link_bytes),
            ("wakes", traffic.wakes),
        ];
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        println!("{} {}", counted.name, values.join(" "));
    }
}
