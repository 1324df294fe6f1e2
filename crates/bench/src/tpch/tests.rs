use super::*;

#[test]
fn there_are_22_queries_with_their_numbers() {
    let found = queries(0.1);
    let numbers: Vec<usize> = found.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=QUERY_COUNT).collect::<Vec<_>>());
    assert!(found.iter().all(|(_, text)| text.starts_with("SELECT") && !text.contains('{')));
    assert!(found[10].1.contains("* 0.0010000000\n"), "{}", found[10].1);
}

#[test]
fn rows_that_differ_are_told() {
    let row =
        |texts: &[Option<&str>]| -> TextRow { texts.iter().map(|text| text.map(str::to_owned)).collect() };
    let right = [row(&[Some("1"), None]), row(&[Some("2"), Some("x")])];
    assert_eq!(difference(&right, &right.clone()), None);
    let wrong = [right[0].clone(), row(&[Some("2"), Some("y")])];
    assert_eq!(difference(&right, &wrong).as_deref(), Some("row 2: (2, y), not (2, x)"));
    assert_eq!(difference(&right, &right[..1]).as_deref(), Some("1 rows, not 2"));
    assert_eq!(difference(&right[..1], &right).as_deref(), Some("2 rows, not 1"));
}

#[test]
fn a_line_says_what_is_missed() {
    let outcome = |seconds: &[f64]| Outcome {
        number: 3,
        seconds: seconds.to_vec(),
        row_count: 10,
        faults: vec!["wrong".to_owned()],
    };
    assert_eq!(line(&outcome(&[0.5, 0.25])), "Q3       0.500 s     0.250 s     2.00 ×  10 rows\n    wrong");
    assert!(line(&outcome(&[0.6, 0.25])).contains("2.40 ×  missed"));
    assert!(
        sum(&[outcome(&[1.0, 2.0]), outcome(&[2.0, 0.5])])
            .ends_with("3.000 s     2.500 s     1.20 ×  missed")
    );
}

#[test]
fn the_median_is_in_the_middle() {
    assert_eq!(median(vec![3.0, 1.0, 2.0]).total_cmp(&2.0), std::cmp::Ordering::Equal);
    assert!(median(Vec::new()).is_nan());
}
