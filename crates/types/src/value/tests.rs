use super::*;
use crate::row::tests::{any_type, value_of};
use proptest::prelude::*;

fn any_value() -> impl Strategy<Value = Value> {
    any_type().prop_flat_map(|sql_type| value_of(&sql_type))
}

/// NaN equals itself here.
fn same(left: &Value, right: &Value) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

proptest! {
    #[test]
    fn values_survive_borrowing_and_the_wire(value in any_value()) {
        prop_assert!(same(&value.as_ref().to_value(), &value));
        prop_assert_eq!(value.as_ref().is_null(), value.is_null());
        let read = stdx::wire::from_bytes::<Value>(&stdx::wire::to_bytes(&value)).unwrap();
        prop_assert!(same(&read, &value));
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = stdx::wire::from_bytes::<Value>(&bytes);
    }
}
