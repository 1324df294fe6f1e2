//! MySQL's warnings where the character set utf8mb3, or a collation of it, is named.

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
