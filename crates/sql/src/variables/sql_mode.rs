//! The value of sql_mode: a set of modes, told by names or as the number whose bits they are.
//!
//! ANSI and TRADITIONAL are modes and stand for others. The value that is read back holds them and all that they stand
//! for, in the order of the bits, as in MySQL 8. Modes that MySQL 8 has dropped (NO_AUTO_CREATE_USER, ORACLE) are
//! unknown.

#[cfg(test)]
mod tests;

/// Bit and name of each mode, in order.
const MODES: [(u32, &str); 21] = [
    (0, "REAL_AS_FLOAT"),
    (1, "PIPES_AS_CONCAT"),
    (2, "ANSI_QUOTES"),
    (3, "IGNORE_SPACE"),
    (5, "ONLY_FULL_GROUP_BY"),
    (6, "NO_UNSIGNED_SUBTRACTION"),
    (7, "NO_DIR_IN_CREATE"),
    (18, "ANSI"),
    (19, "NO_AUTO_VALUE_ON_ZERO"),
    (20, "NO_BACKSLASH_ESCAPES"),
    (21, "STRICT_TRANS_TABLES"),
    (22, "STRICT_ALL_TABLES"),
    (23, "NO_ZERO_IN_DATE"),
    (24, "NO_ZERO_DATE"),
    (25, "ALLOW_INVALID_DATES"),
    (26, "ERROR_FOR_DIVISION_BY_ZERO"),
    (27, "TRADITIONAL"),
    (29, "HIGH_NOT_PRECEDENCE"),
    (30, "NO_ENGINE_SUBSTITUTION"),
    (31, "PAD_CHAR_TO_FULL_LENGTH"),
    (32, "TIME_TRUNCATE_FRACTIONAL"),
];

/// A mode, and those that come with it.
const COMBINATIONS: [(&str, &[&str]); 2] = [
    ("ANSI", &["REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE", "ONLY_FULL_GROUP_BY"]),
    (
        "TRADITIONAL",
        &[
            "STRICT_TRANS_TABLES",
            "STRICT_ALL_TABLES",
            "NO_ZERO_IN_DATE",
            "NO_ZERO_DATE",
            "ERROR_FOR_DIVISION_BY_ZERO",
            "NO_ENGINE_SUBSTITUTION",
        ],
    ),
];

fn bit_of(name: &str) -> Option<u64> {
    let (bit, _) = MODES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name))?;
    Some(1 << bit)
}

/// The modes of a list of names, as they are read back; else the name that is unknown.
pub(super) fn from_names(names: &str) -> Result<String, &str> {
    let mut bits = 0;
    for name in names.trim_end().split(',').filter(|name| !name.is_empty()) {
        bits |= bit_of(name).ok_or(name)?;
    }
    Ok(shown(bits))
}

/// The modes of a number, as they are read back; none if one of its bits is no mode.
pub(super) fn from_number(number: u64) -> Option<String> {
    let all = MODES.iter().fold(0, |all, (bit, _)| all | 1 << bit);
    (number & !all == 0).then(|| shown(number))
}

fn shown(mut bits: u64) -> String {
    for (combination, members) in COMBINATIONS {
        if bit_of(combination).is_some_and(|bit| bits & bit != 0) {
            bits |= members.iter().filter_map(|member| bit_of(member)).fold(0, |all, bit| all | bit);
        }
    }
    let names = MODES.iter().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(",")
}
