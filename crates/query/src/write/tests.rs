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
