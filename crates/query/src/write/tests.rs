use super::*;
use expression::Settings;
use expression::context::SqlMode;
use types::{ColumnFlags, Date, DateTime, DefaultValue};

fn column(sql_type: SqlType) -> ColumnDefinition {
    ColumnDefinition {
        name: "a".to_owned(),
        sql_type,
        default: DefaultValue::Missing,
        flags: ColumnFlags::default(),
        comment: String::new(),
        format: types::NumberFormat::default(),
        absent: None,
    }
}

fn zero_of(sql_type: &SqlType) -> Value {
    if *sql_type == SqlType::Date { Value::Date(Date::ZERO) } else { Value::DateTime(DateTime::ZERO) }
}

/// A driver's parameter is of the column's own type, and is a zero date all the same.
#[test]
fn a_date_of_the_columns_own_type_is_checked_by_the_statements_mode() {
    let mode = StoreMode::Strict;
    for sql_type in [SqlType::Date, SqlType::DateTime { fraction: 0 }, SqlType::Timestamp { fraction: 0 }] {
        let definition = column(sql_type.clone());
        let stored = |no_zero_date: bool| {
            let sql_mode = SqlMode { no_zero_date, ..SqlMode::default() };
            let context = Context::from_settings(Settings { sql_mode, ..Settings::default() });
            let value = store_value(zero_of(&sql_type), &sql_type, &definition, (mode, 1), &context)?;
            timestamp_in_range(value, &definition, (mode, 1), &context)
        };
        assert_eq!(stored(false), Ok(zero_of(&sql_type)), "{sql_type:?}");
        assert_eq!(stored(true).unwrap_err().code, 1292, "{sql_type:?}");
    }
}

/// Each column holds the characters of its character set, whoever says what the value is.
#[test]
fn characters_that_a_column_does_not_have_are_refused_or_replaced() {
    let varchar = |collation: &str| SqlType::VarChar {
        length: 20,
        collation: types::Collation::by_name(collation).expect("a collation"),
    };
    let stored = |text: &[u8], from: &SqlType, to: &SqlType, mode: StoreMode| {
        let context = Context::from_settings(Settings::default());
        let value = store_value(Value::Bytes(text.to_vec()), from, &column(to.clone()), (mode, 1), &context);
        (value, context.warnings.take().into_iter().map(|warning| warning.code).collect::<Vec<_>>())
    };
    let (utf8mb4, utf8mb3, latin1) =
        (varchar("utf8mb4_0900_ai_ci"), varchar("utf8mb3_general_ci"), varchar("latin1_swedish_ci"));
    let binary = SqlType::VarBinary { length: 20 };
    let emoji = "aé😀b".as_bytes();
    let (refused, _) = stored(emoji, &utf8mb4, &utf8mb3, StoreMode::Strict);
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, 1366);
    assert_eq!(refused.message, "Incorrect string value: '\\xF0\\x9F\\x98\\x80b' for column 'a' at row 1");
    // A value of the column's own type is looked at, too.
    assert_eq!(stored(emoji, &utf8mb3, &utf8mb3, StoreMode::Strict).0.unwrap_err().code, 1366);
    assert_eq!(stored("я".as_bytes(), &utf8mb4, &latin1, StoreMode::Strict).0.unwrap_err().code, 1366);
    assert_eq!(stored(emoji, &utf8mb4, &utf8mb3, StoreMode::Lenient), (Ok(Value::text("aé?b")), vec![1366]));
    assert_eq!(stored("é".as_bytes(), &utf8mb4, &latin1, StoreMode::Strict), (Ok(Value::text("é")), vec![]));
    // Between text and bytes the character set's own bytes count.
    assert_eq!(stored(b"\xe9", &binary, &latin1, StoreMode::Strict).0, Ok(Value::text("é")));
    assert_eq!(stored("é".as_bytes(), &latin1, &binary, StoreMode::Strict).0, Ok(Value::Bytes(vec![0xe9])));
    assert_eq!(stored(b"\xff", &binary, &utf8mb4, StoreMode::Strict).0.unwrap_err().code, 1366);
}
