//! Strings on their way between binary columns and text in character sets whose bytes are not those of UTF-8.

use crate::{Collation, MalformedAt, SqlType};
use std::borrow::Cow;

/// A string of type `from` as `to` has it. It is recoded where one of them is binary and the other one text in a
/// character set whose bytes are not those of UTF-8. Any other string stays as it is.
pub fn recoded<'a>(bytes: Cow<'a, [u8]>, from: &SqlType, to: &SqlType) -> Result<Cow<'a, [u8]>, MalformedAt> {
    let other_bytes = |sql_type: &SqlType| {
        let set = sql_type.character_collation().and_then(Collation::narrow_set);
        set.filter(|set| !set.is_utf8())
    };
    let is_binary = |sql_type: &SqlType| {
        matches!(sql_type, SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. })
    };
    if is_binary(to)
        && let Some(set) = other_bytes(from)
    {
        let mut encoded = Vec::with_capacity(bytes.len());
        set.encode(&String::from_utf8_lossy(&bytes), &mut encoded);
        Ok(Cow::Owned(encoded))
    } else if is_binary(from)
        && let Some(set) = other_bytes(to)
    {
        Ok(Cow::Owned(set.decode(&set.filled(&bytes))?.into_owned().into_bytes()))
    } else {
        Ok(bytes)
    }
}
