//! The variables of character sets and collations: SET NAMES, SET CHARACTER SET, and which variable follows which.
//!
//! `character_set_X` and `collation_X` (X is connection, database or server) say the same: setting one sets the other.
//! The client's and the results' character set have no collation. A client cannot speak a character set whose ASCII
//! characters are no ASCII bytes.

use super::{SessionVariables, shown, wrong_value};
use protocol::SqlError;
use types::{CharacterSet, Collation, Value};

/// Pairs of which one follows the other.
const PAIRS: [(&str, &str); 3] = [
    ("character_set_connection", "collation_connection"),
    ("character_set_database", "collation_database"),
    ("character_set_server", "collation_server"),
];

/// The value of a variable that is a character set's name.
pub(super) fn checked(variable: &str, name: &str) -> Result<Value, SqlError> {
    let set = CharacterSet::by_name(name)
        .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{name}'")))?;
    if variable == "character_set_client" && !set.is_for_clients() {
        return Err(wrong_value(variable, &Value::text(set.name())));
    }
    Ok(Value::text(set.name()))
}

/// The collation with that number, or 1273; 1115 if its character set is not here.
pub(super) fn numbered_collation(id: i128) -> Result<Collation, SqlError> {
    let id = u16::try_from(id).unwrap_or(u16::MAX);
    match (Collation::by_mysql_id(id), Collation::mysql_name(id)) {
        (Some(collation), _) => Ok(collation),
        (None, Some(known)) => {
            Err(SqlError::new(1115, format!("Unknown character set: '{}'", known.character_set)))
        }
        (None, None) => Err(SqlError::new(1273, format!("Unknown collation: '{id}'"))),
    }
}

impl SessionVariables {
    /// The default collation of a character set, as default_collation_for_utf8mb4 says for utf8mb4.
    pub(super) fn default_of(&self, name: &str) -> Option<Collation> {
        let set = CharacterSet::by_name(name)?;
        let for_utf8mb4 = self.changed.get("default_collation_for_utf8mb4");
        match for_utf8mb4 {
            Some(value) if set == CharacterSet::Utf8mb4 => Collation::by_name(&shown(value)),
            Some(_) | None => Some(set.default_collation()),
        }
    }

    /// Brings the other variable of a pair in line.
    pub(super) fn set_companion(&mut self, name: &'static str, value: &Value) {
        let text = shown(value);
        for (set, collation) in PAIRS {
            if name == set
                && let Some(default) = self.default_of(&text)
            {
                self.changed.insert(collation, Value::text(default.name()));
            }
            if name == collation
                && let Some(named) = Collation::by_name(&text)
            {
                self.changed.insert(set, Value::text(named.character_set()));
            }
        }
    }

    /// SET NAMES: client, connection and results at once.
    pub(crate) fn set_names(&mut self, names: Option<&Value>) -> Result<(), SqlError> {
        let name = names.map_or_else(|| CharacterSet::Utf8mb4.name().to_owned(), shown);
        // `SET NAMES x COLLATE y` arrives as the collation's name.
        let collation = match self.default_of(&name) {
            Some(collation) => collation,
            None => Collation::by_name(&name)
                .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{name}'")))?,
        };
        self.set_client_collation(collation)
    }

    /// SET CHARACTER SET: client and results; the connection has the database's.
    pub(crate) fn set_character_set(&mut self, name: Option<&Value>) -> Result<(), SqlError> {
        let default = Value::text(CharacterSet::Utf8mb4.name());
        for variable in ["character_set_client", "character_set_results"] {
            self.set(variable, Some(name.unwrap_or(&default)))?;
        }
        let database = self.get("collation_database", super::Scope::Session).map(|(value, _)| value);
        self.set("collation_connection", database.as_ref())
    }

    /// The database that is used has this collation; None: there is none, and it is the server's.
    pub(crate) fn follow_database(&mut self, collation: Option<Collation>) {
        let collation = collation.unwrap_or(self.server_collation);
        self.changed.insert("collation_database", Value::text(collation.name()));
        self.changed.insert("character_set_database", Value::text(collation.character_set()));
    }

    /// Client, connection and results are of this collation.
    fn set_client_collation(&mut self, collation: Collation) -> Result<(), SqlError> {
        for variable in ["character_set_client", "character_set_results"] {
            self.set(variable, Some(&Value::text(collation.character_set())))?;
        }
        self.set("collation_connection", Some(&Value::text(collation.name())))
    }

    /// The number that the client's handshake says. MySQL takes its default for a number that it does not know.
    pub(crate) fn set_client_number(&mut self, id: u16) -> Result<(), SqlError> {
        match (Collation::by_mysql_id(id), Collation::mysql_name(id)) {
            // MySQL lets nobody in with a character set that clients cannot speak; it takes its own.
            (Some(collation), _) if collation.set().is_for_clients() => self.set_client_collation(collation),
            (Some(_), _) | (None, None) => Ok(()),
            (None, Some(known)) => {
                Err(SqlError::new(1115, format!("Unknown character set: '{}'", known.character_set)))
            }
        }
    }

    /// The key that plans depend on: `collation` and `results` as a number of fifteen bits that no other pair has.
    pub(super) fn character_key(&self) -> u64 {
        // A collation's number has nine bits, a character set's position six.
        let results = self.results.map_or(0, |set| set as u64 + 1);
        results << 9 | u64::from(self.collation.mysql_id())
    }

    /// True if the client's statements or results are not UTF-8.
    pub(crate) fn is_foreign(&self) -> bool {
        !matches!(self.client, CharacterSet::Utf8mb4 | CharacterSet::Binary)
            || self.results.is_some_and(|set| set != CharacterSet::Utf8mb4)
    }

    /// The collation that descriptions of text columns name; None: each column's own.
    pub(crate) fn result_collation(&self) -> Option<Collation> {
        let results = self.results?;
        Some(if self.collation.set() == results { self.collation } else { results.default_collation() })
    }
}
