use super::{Scope, SessionVariables, TABLE, time_zone_offset};
use mysql_protocol::StatusFlags;
use types::Value;

fn set(variables: &mut SessionVariables, name: &str, value: &str) -> u16 {
    variables.set(name, Some(&Value::text(value))).err().map_or(0, |error| error.code)
}

#[test]
fn the_table_is_sorted() {
    assert!(TABLE.windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn set_checks_names_values_and_permissions() {
    let mut variables = SessionVariables::default();
    assert_eq!(set(&mut variables, "no_such_thing", "1"), 1193);
    assert_eq!(set(&mut variables, "version", "1"), 1238);
    assert_eq!(set(&mut variables, "autocommit", "maybe"), 1231);
    assert_eq!(set(&mut variables, "AUTOCOMMIT", "off"), 0);
    assert!(!variables.autocommit);
    assert_eq!(variables.get("autocommit", Scope::Session).map(|(value, _)| value), Some(Value::Int(0)));
    assert_eq!(variables.get("autocommit", Scope::Global).map(|(value, _)| value), Some(Value::Int(1)));
    assert!(variables.set("autocommit", None).is_ok() && variables.autocommit);
    assert_eq!(set(&mut variables, "transaction_isolation", "REPEATABLE-READ"), 1235);
    assert_eq!(set(&mut variables, "tx_isolation", "read-committed"), 0);
}

#[test]
fn sql_mode_is_normalised_and_read() {
    let mut variables = SessionVariables::default();
    assert!(variables.modes.is_strict && !variables.modes.evaluation.strict);
    assert_eq!(set(&mut variables, "sql_mode", "no_zero_date,NO_UNSIGNED_SUBTRACTION"), 0);
    assert!(!variables.modes.is_strict && variables.modes.evaluation.no_unsigned_subtraction);
    assert_eq!(set(&mut variables, "sql_mode", "NONSENSE"), 1231);
    assert_eq!(variables.set("sql_mode", Some(&Value::Double(4.0))).map_err(|error| error.code), Err(1232));
    assert_eq!(variables.set("sql_mode", Some(&Value::Null)).map_err(|error| error.code), Err(1231));
    let shown = variables.get("sql_mode", Scope::Session).map(|(value, _)| value);
    assert_eq!(shown, Some(Value::text("NO_UNSIGNED_SUBTRACTION,NO_ZERO_DATE")));
}

#[test]
fn modes_of_texts_keep_plans_apart_and_clients_informed() {
    let mut variables = SessionVariables::default();
    let plain = variables.bind_key;
    assert!(!variables.status.contains(StatusFlags::NO_BACKSLASH_ESCAPES));
    assert_eq!(set(&mut variables, "sql_mode", "NO_BACKSLASH_ESCAPES"), 0);
    assert!(variables.status.contains(StatusFlags::NO_BACKSLASH_ESCAPES | StatusFlags::AUTOCOMMIT));
    let escapes = variables.bind_key;
    assert_eq!(set(&mut variables, "sql_mode", "ANSI_QUOTES"), 0);
    assert!(variables.modes.text.ansi_quotes && !variables.modes.text.no_backslash_escapes);
    assert!(plain != escapes && escapes != variables.bind_key && plain != variables.bind_key);
}

#[test]
fn time_zones_are_offsets() {
    assert_eq!(time_zone_offset("SYSTEM"), Ok(None));
    assert_eq!(time_zone_offset("+05:30"), Ok(Some(19_800)));
    assert_eq!(time_zone_offset("-08:00"), Ok(Some(-28_800)));
    for wrong in ["Europe/Berlin", "+15:00", "5:00", "+1", "+aa:00", "", "+01:60"] {
        assert_eq!(time_zone_offset(wrong).map_err(|error| error.code), Err(1298), "{wrong}");
    }
}
