//! Values as text (skeleton: signatures are final).
use crate::{SqlType, ValueRef};

/// Appends `value` of type `sql_type` as the MySQL text protocol shows it; nothing for NULL.
pub fn format_text(_value: ValueRef<'_>, _sql_type: &SqlType, _text: &mut Vec<u8>) {
    unimplemented!()
}
/// Appends a DOUBLE as MySQL prints it.
pub fn format_double(_number: f64, _text: &mut Vec<u8>) {
    unimplemented!()
}
/// Appends a FLOAT as MySQL prints it.
pub fn format_float(_number: f32, _text: &mut Vec<u8>) {
    unimplemented!()
}
