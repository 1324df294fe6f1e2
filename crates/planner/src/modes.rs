//! The parts of sql_mode that say what a statement's text means.
//!
//! They are read while a text is lexed, parsed and bound, and never while its plan runs: plans of sessions that differ
//! in them are kept apart (`SessionVariables::bind_key`).

/// How the texts of a session are read. It is a word of the machine, because every text that is normalised copies it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(align(8))]
pub struct TextModes {
    /// ANSI_QUOTES: `"…"` is a name.
    pub ansi_quotes: bool,
    /// NO_BACKSLASH_ESCAPES: a backslash is a character like any other, in texts and in LIKE patterns.
    pub no_backslash_escapes: bool,
    /// PIPES_AS_CONCAT: `||` joins texts.
    pub pipes_as_concat: bool,
    /// HIGH_NOT_PRECEDENCE: NOT binds as `!` does.
    pub high_not_precedence: bool,
    /// IGNORE_SPACE: white space may stand between the name of a function and its parenthesis.
    pub ignore_space: bool,
    /// REAL_AS_FLOAT: REAL is FLOAT, not DOUBLE.
    pub real_as_float: bool,
    /// PAD_CHAR_TO_FULL_LENGTH: values of CHAR columns keep the spaces they were padded with.
    pub pad_char_to_full_length: bool,
}

impl TextModes {
    /// One bit for each.
    pub fn bits(self) -> u64 {
        let Self {
            ansi_quotes,
            no_backslash_escapes,
            pipes_as_concat,
            high_not_precedence,
            ignore_space,
            real_as_float,
            pad_char_to_full_length,
        } = self;
        let flags = [
            ansi_quotes,
            no_backslash_escapes,
            pipes_as_concat,
            high_not_precedence,
            ignore_space,
            real_as_float,
            pad_char_to_full_length,
        ];
        flags.into_iter().fold(0, |bits, flag| bits << 1 | u64::from(flag))
    }

    /// Whether a backslash within these quotes takes the next character's meaning away.
    pub(crate) fn escapes(self, quote: u8) -> bool {
        match quote {
            b'`' => false,
            b'"' if self.ansi_quotes => false,
            _ => !self.no_backslash_escapes,
        }
    }
}

/// Functions that are keywords, but only if their parenthesis follows at once (or behind spaces, with IGNORE_SPACE):
/// else they are names.
pub(crate) fn is_function_keyword(word: &str) -> bool {
    const NAMES: [&str; 32] = [
        "ADDDATE",
        "BIT_AND",
        "BIT_OR",
        "BIT_XOR",
        "CAST",
        "COUNT",
        "CURDATE",
        "CURTIME",
        "DATE_ADD",
        "DATE_SUB",
        "EXTRACT",
        "GROUP_CONCAT",
        "MAX",
        "MID",
        "MIN",
        "NOW",
        "POSITION",
        "SESSION_USER",
        "STD",
        "STDDEV",
        "STDDEV_POP",
        "STDDEV_SAMP",
        "SUBDATE",
        "SUBSTR",
        "SUBSTRING",
        "SUM",
        "SYSDATE",
        "SYSTEM_USER",
        "TRIM",
        "VARIANCE",
        "VAR_POP",
        "VAR_SAMP",
    ];
    NAMES.iter().any(|name| word.eq_ignore_ascii_case(name))
}
