//! xtask: tidy, test, simulate, bench, sysbench.
fn main() {}
