use super::*;

#[test]
fn parts_of_a_table_are_the_table() {
    for table in TABLES {
        let whole: Vec<String> = rows(table.name, 0.001, 1, 1).collect();
        let parts: Vec<String> = (1..=3).flat_map(|part| rows(table.name, 0.001, part, 3)).collect();
        assert_eq!(whole, parts, "{}", table.name);
        assert!(!whole.is_empty());
    }
}

#[test]
fn a_row_has_a_kind_for_each_column() {
    for table in TABLES {
        let row = rows(table.name, 0.001, 1, 1).next().unwrap();
        assert_eq!(row.matches('|').count(), table.kinds.len(), "{}: {row}", table.name);
    }
}

#[test]
fn texts_are_quoted_and_numbers_are_not() {
    let region = TABLES[0];
    let rows = ["0|AFRICA|it's|".to_owned(), "1|A\\B|x|".to_owned()];
    assert_eq!(insert(&region, &rows), "INSERT INTO region VALUES (0,'AFRICA','it''s'),(1,'A\\\\B','x')");
}
