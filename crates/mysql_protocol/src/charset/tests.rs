use super::*;

#[test]
fn the_table_is_sorted() {
    assert!(COLLATIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn ids_have_the_names_of_mysql() {
    for (id, name, charset) in [
        (LATIN1_SWEDISH_CI, "latin1_swedish_ci", "latin1"),
        (UTF8MB3_GENERAL_CI, "utf8mb3_general_ci", "utf8mb3"),
        (UTF8MB4_GENERAL_CI, "utf8mb4_general_ci", "utf8mb4"),
        (UTF8MB4_BIN, "utf8mb4_bin", "utf8mb4"),
        (BINARY, "binary", "binary"),
        (UTF8MB3_BIN, "utf8mb3_bin", "utf8mb3"),
        (UTF8MB4_UNICODE_CI, "utf8mb4_unicode_ci", "utf8mb4"),
        (UTF8MB4_0900_AI_CI, "utf8mb4_0900_ai_ci", "utf8mb4"),
        (UTF8MB4_0900_AS_CS, "utf8mb4_0900_as_cs", "utf8mb4"),
        (UTF8MB4_0900_AS_CI, "utf8mb4_0900_as_ci", "utf8mb4"),
        (UTF8MB4_0900_BIN, "utf8mb4_0900_bin", "utf8mb4"),
    ] {
        let expected = Collation { id, name, charset };
        assert_eq!(collation(id), Some(expected));
        assert_eq!(collation_by_name(&name.to_uppercase()), Some(expected));
    }
    assert_eq!(collation(0), None);
    assert_eq!(collation(2048), None);
    assert_eq!(collations().count(), COLLATIONS.len());
}
