//! Character sets and collations that a statement names: found or refused, with MySQL's warnings about utf8mb3.

use crate::statement::CollationClause;
use protocol::SqlError;
use types::{CharacterSet, Collation};

/// MySQL's warning where a character set is named.
pub fn character_set_deprecation(name: &str) -> Option<(u16, String)> {
    if name.eq_ignore_ascii_case("utf8") {
        let message = "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future \
                       release. Please consider using UTF8MB4 in order to be unambiguous.";
        return Some((3719, message.to_owned()));
    }
    name.eq_ignore_ascii_case("utf8mb3").then(|| {
        let message =
            "'utf8mb3' is deprecated and will be removed in a future release. Please use utf8mb4 instead";
        (1287, message.to_owned())
    })
}

/// MySQL's warning where a collation is named.
pub fn collation_deprecation(name: &str) -> Option<(u16, String)> {
    let collation = Collation::by_name(name)?;
    (collation.set() == CharacterSet::Utf8mb3).then(|| {
        let message = format!(
            "'{}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 with an appropriate \
             collation instead.",
            collation.name()
        );
        (3778, message)
    })
}

/// The default collation of a character set by its name, or 1115.
pub(crate) fn named_character_set(name: &str) -> Result<Collation, SqlError> {
    Collation::by_character_set(name)
        .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{name}'")))
}

/// A collation by name, or 1273.
pub fn named_collation(name: &str) -> Result<Collation, SqlError> {
    Collation::by_name(name).ok_or_else(|| SqlError::new(1273, format!("Unknown collation: '{name}'")))
}

/// The collation of a clause; COLLATE says more than CHARACTER SET, and must be of that character set.
pub(crate) fn resolved_collation(clause: &CollationClause) -> Result<Option<Collation>, SqlError> {
    let by_set = clause.character_set.as_deref().map(named_character_set).transpose()?;
    let Some(name) = &clause.collation else { return Ok(by_set) };
    let collation = named_collation(name)?;
    match by_set {
        Some(by_set) if by_set.character_set() != collation.character_set() => {
            let message = format!(
                "COLLATION '{}' is not valid for CHARACTER SET '{}'",
                collation.name(),
                by_set.character_set()
            );
            Err(SqlError::new(1253, message))
        }
        Some(_) | None => Ok(Some(collation)),
    }
}
