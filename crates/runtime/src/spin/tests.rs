use super::{SPIN_MAX, Spinner};
use crate::config::SpinMethod;
use stdx::Duration;

fn after(method: SpinMethod, waits_us: &[u64]) -> Duration {
    let mut spinner = Spinner::new(method, None, true);
    for _ in 0..20 {
        for wait in waits_us {
            spinner.learn(Duration::from_micros(*wait));
        }
    }
    spinner.spin_time()
}

#[test]
fn short_waits_are_worth_spinning_long_ones_are_not() {
    assert_eq!(after(SpinMethod::CostBasedSpinning, &[10]), Duration::from_micros(12));
    assert_eq!(after(SpinMethod::CostBasedSpinning, &[2000]), Duration::ZERO);
    assert_eq!(after(SpinMethod::CostBasedSpinning, &[45]), Duration::ZERO);
    assert_eq!(after(SpinMethod::LatencyOptimisedSpinning, &[45]), SPIN_MAX);
    // One short wait among many long ones does not pay.
    assert_eq!(after(SpinMethod::CostBasedSpinning, &[5, 900, 900, 900, 900, 900]), Duration::ZERO);
}

#[test]
fn an_idle_node_stops_spinning_at_once() {
    let mut spinner = Spinner::new(SpinMethod::CostBasedSpinning, None, true);
    for _ in 0..100 {
        spinner.learn(Duration::from_micros(5));
    }
    assert!(spinner.spin_time() > Duration::ZERO);
    for _ in 0..60 {
        spinner.learn(Duration::from_millis(100));
    }
    assert_eq!(spinner.spin_time(), Duration::ZERO);
}

#[test]
fn the_operator_has_the_last_word() {
    let fixed = |method, time, has_cpus| Spinner::new(method, time, has_cpus).spin_time();
    let long = Duration::from_micros(500);
    assert_eq!(fixed(SpinMethod::StaticSpinning, Some(long), false), long);
    assert_eq!(fixed(SpinMethod::StaticSpinning, None, false), SPIN_MAX);
    assert_eq!(fixed(SpinMethod::NoSpinning, Some(long), true), Duration::ZERO);
    let mut spinner = Spinner::new(SpinMethod::DatabaseMachineSpinning, Some(Duration::ZERO), true);
    spinner.learn(Duration::from_micros(1));
    assert_eq!(spinner.spin_time(), Duration::ZERO);
    let mut crowded = Spinner::new(SpinMethod::DatabaseMachineSpinning, None, false);
    crowded.learn(Duration::from_micros(1));
    assert_eq!(crowded.spin_time(), Duration::ZERO);
}
