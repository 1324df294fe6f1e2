use super::*;

#[test]
fn a_transaction_is_the_one_of_sysbench() {
    let script = Mix::read_write().script();
    assert_eq!(script.len(), 20);
    assert_eq!(script.first(), Some(&Kind::Begin));
    assert_eq!(script.last(), Some(&Kind::Commit));
    assert_eq!(script.iter().filter(|kind| **kind == Kind::PointSelect).count(), 10);
    assert_eq!(script.windows(2).filter(|pair| *pair == [Kind::Delete, Kind::Insert]).count(), 1);
}

#[test]
fn a_statement_has_as_many_parameters_as_question_marks() {
    let mixes = [
        Mix::read_write(),
        Mix { has_filter: true, ..Mix::read_write() },
        Mix { keys_per_select: 100, ..Mix::read_write() },
    ];
    let mut inputs = Inputs::new(1, 1_000);
    for mix in mixes {
        for kind in mix.script() {
            let table = inputs.table(kind, 4);
            let marks = mix.text(kind, table).matches('?').count();
            assert_eq!(inputs.parameters(&mix, kind, table).len(), marks, "{kind:?} of {mix:?}");
        }
    }
}

#[test]
fn an_insert_puts_back_what_the_delete_before_it_took() {
    let mix = Mix::read_write();
    let mut inputs = Inputs::new(7, 1_000);
    for _ in 0..100 {
        let table = inputs.table(Kind::Delete, 8);
        let deleted = format!("{:?}", inputs.parameters(&mix, Kind::Delete, table).first());
        assert_eq!(inputs.table(Kind::Insert, 8), table);
        assert_eq!(format!("{:?}", inputs.parameters(&mix, Kind::Insert, table).first()), deleted);
    }
}

#[test]
fn ranges_lie_within_the_table() {
    let mix = Mix { range_size: 100, ..Mix::read_only() };
    for rows in [50, 100, 101] {
        let mut inputs = Inputs::new(rows, rows);
        for _ in 0..200 {
            let range = inputs.parameters(&mix, Kind::SimpleRange, 1);
            let [ParameterValue::UInt(first), ParameterValue::UInt(last)] = range[..] else {
                panic!("{range:?}")
            };
            assert_eq!(last - first, 99);
            assert!(first >= 1 && (rows < 100 || last <= rows), "{first} to {last} of {rows}");
        }
    }
}

#[test]
fn texts_are_groups_of_eleven_digits() {
    let text = digits(&mut Prng::new(3), GROUPS_OF_C);
    assert_eq!(text.len(), 119);
    assert!(
        text.split('-').all(|group| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit()))
    );
}
