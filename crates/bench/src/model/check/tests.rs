use super::*;

fn compared(cpus: u16, measured: f64, model: f64) -> Compared {
    let figure = Figure {
        workload: Workload::Point,
        cpus,
        clients: 8,
        client_cpus: 0,
        per_second: measured,
        cpu_us: 8.0,
        client_us: 5.0,
    };
    let model = Outcome { per_second: model, mean_us: 100.0, busy: 1.0, cpu_us: 8.0 };
    Compared { figure, model }
}

#[test]
fn every_figure_has_to_be_met() {
    assert_eq!(judge(&[compared(1, 100.0, 86.0), compared(2, 200.0, 229.0)]), Verdict::Met);
    assert_eq!(judge(&[compared(1, 100.0, 84.0), compared(2, 200.0, 200.0)]), Verdict::Missed);
    let one_of_three = [compared(1, 100.0, 100.0), compared(2, 200.0, 200.0), compared(2, 300.0, 350.0)];
    assert_eq!(judge(&one_of_three), Verdict::Missed);
}

#[test]
fn one_cpu_and_two_have_to_be_measured() {
    assert_eq!(judge(&[compared(1, 100.0, 100.0)]), Verdict::NotMeasured(2));
    assert_eq!(judge(&[compared(2, 100.0, 100.0)]), Verdict::NotMeasured(1));
    assert_eq!(judge(&[]), Verdict::NotMeasured(1));
}
