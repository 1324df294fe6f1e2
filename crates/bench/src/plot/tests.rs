use super::*;

#[test]
fn a_chart_shows_what_was_measured_and_escapes_text() {
    let chart = Chart {
        title: "a < b".to_owned(),
        unit: "per second".to_owned(),
        labels: vec!["1".to_owned(), "8".to_owned(), "64".to_owned()],
        series: vec![Series {
            name: "R&D".to_owned(),
            values: vec![Some(10.0), None, Some(40.0)],
            ranges: Vec::new(),
        }],
    };
    let text = page(&[chart.clone(), chart]);
    assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
    assert!(text.contains("a &lt; b") && text.contains("R&amp;D"));
    // Two values of each chart.
    assert_eq!(text.matches("<circle").count(), 4);
    assert!(!text.contains("hatch") && !text.contains("dasharray"));
}

#[test]
fn values_of_a_model_are_hatched() {
    let chart = Chart {
        title: "model".to_owned(),
        unit: "per second".to_owned(),
        labels: vec!["16".to_owned(), "64".to_owned()],
        series: vec![Series {
            name: "2 nodes".to_owned(),
            values: vec![Some(10.0), Some(30.0)],
            ranges: vec![Some((8.0, 12.0)), Some((20.0, 90.0))],
        }],
    };
    let text = page(&[chart]);
    assert!(text.contains("url(#hatch0)") && text.contains("stroke-dasharray"));
    // The axis holds the upper end of the range.
    assert!(text.contains(">100</text>"));
}

#[test]
fn the_axis_ends_at_a_round_number_above_all_values() {
    for (value, top) in [(0.0, 1.0), (1.0, 1.0), (1.1, 2.0), (37.0, 40.0), (99.0, 100.0), (2_400.0, 4_000.0)]
    {
        assert!((round_up(value) - top).abs() < 1e-9, "{value}");
    }
}
