use super::*;

#[test]
fn the_book_of_this_build_has_what_the_model_is_made_of() {
    let book = Book::of_this_build().unwrap();
    for operation in ["point_select", "in_100", "range_100", "locked_read_own", "locked_read_other"] {
        assert!(book.of(operation).unwrap().instructions() > 1_000.0, "{operation}");
    }
    let update = book.of("update_own").unwrap();
    assert!(update.ldm > 0.0 && update.per_signal() > 0.0 && update.signals_cluster > 1.0);
    assert!(book.of("tolerance").is_err());
}

#[test]
fn instructions_are_added_up_by_where_they_are_executed() {
    let text = "# a book\n[tolerance]\ninstructions = 2\n\n[one]\nbytes = 3\ninstructions = 60\n\
                instructions_sql = 10\ninstructions_tc = 5\ninstructions_ldm = 20\ninstructions_link = 25\nsignals_cluster = 5\n";
    let counts = Book::parse(text).unwrap().of("one").unwrap();
    assert_eq!(counts, Counts { session: 15.0, ldm: 20.0, link: 25.0, signals_cluster: 5.0 });
    assert!((counts.instructions() - 60.0).abs() < 1e-9 && (counts.per_signal() - 5.0).abs() < 1e-9);
    assert!(Book::parse("[one]\nbytes = many\n").unwrap_err().starts_with("counts.toml:2:"));
}
