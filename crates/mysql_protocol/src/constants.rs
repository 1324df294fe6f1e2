//! The protocol's numbers: capabilities, server status, column types and column flags, by their MySQL names.
//!
//! Flags are newtypes over the integer on the wire. Bits that we don't know are kept, so that reading and writing
//! a value changes nothing; column types that we don't know are refused where they are read.

use std::fmt;
use std::ops::BitOr;

macro_rules! flags {
    (
        $(#[$documentation:meta])*
        $name:ident: $integer:ty {
            $($(#[$flag_documentation:meta])* $flag:ident = $value:expr;)*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name($integer);

        impl $name {
            pub const EMPTY: Self = Self(0);
            $($(#[$flag_documentation])* pub const $flag: Self = Self($value);)*

            #[must_use]
            pub const fn from_bits(bits: $integer) -> Self {
                Self(bits)
            }

            #[must_use]
            pub const fn bits(self) -> $integer {
                self.0
            }

            /// All of `flags` are set.
            #[must_use]
            pub const fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            #[must_use]
            pub const fn union(self, flags: Self) -> Self {
                Self(self.0 | flags.0)
            }

            #[must_use]
            pub const fn intersection(self, flags: Self) -> Self {
                Self(self.0 & flags.0)
            }

            #[must_use]
            pub const fn without(self, flags: Self) -> Self {
                Self(self.0 & !flags.0)
            }

            /// `flags`, if `condition` holds, else nothing: for building a set in one expression.
            #[must_use]
            pub const fn given(flags: Self, condition: bool) -> Self {
                if condition { flags } else { Self::EMPTY }
            }
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, flags: Self) -> Self {
                self.union(flags)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut set = formatter.debug_set();
                let mut unnamed = *self;
                $(
                    if self.contains(Self::$flag) {
                        set.entry(&format_args!(stringify!($flag)));
                        unnamed = unnamed.without(Self::$flag);
                    }
                )*
                if unnamed != Self::EMPTY {
                    set.entry(&format_args!("{:#x}", unnamed.0));
                }
                set.finish()
            }
        }
    };
}

flags! {
    /// `CLIENT_*`: what both sides can do. The intersection of the two offers holds for the connection.
    Capabilities: u32 {
        LONG_PASSWORD = 1;
        /// Affected rows count rows found, not rows changed.
        FOUND_ROWS = 1 << 1;
        LONG_FLAG = 1 << 2;
        CONNECT_WITH_DB = 1 << 3;
        NO_SCHEMA = 1 << 4;
        COMPRESS = 1 << 5;
        ODBC = 1 << 6;
        LOCAL_FILES = 1 << 7;
        IGNORE_SPACE = 1 << 8;
        PROTOCOL_41 = 1 << 9;
        /// `interactive_timeout` instead of `wait_timeout`.
        INTERACTIVE = 1 << 10;
        SSL = 1 << 11;
        IGNORE_SIGPIPE = 1 << 12;
        TRANSACTIONS = 1 << 13;
        RESERVED = 1 << 14;
        SECURE_CONNECTION = 1 << 15;
        MULTI_STATEMENTS = 1 << 16;
        MULTI_RESULTS = 1 << 17;
        PS_MULTI_RESULTS = 1 << 18;
        PLUGIN_AUTH = 1 << 19;
        CONNECT_ATTRS = 1 << 20;
        PLUGIN_AUTH_LENENC_CLIENT_DATA = 1 << 21;
        CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        SESSION_TRACK = 1 << 23;
        /// No EOF packet after the columns; an OK packet with header 0xFE after the rows.
        DEPRECATE_EOF = 1 << 24;
        OPTIONAL_RESULTSET_METADATA = 1 << 25;
        ZSTD_COMPRESSION_ALGORITHM = 1 << 26;
        QUERY_ATTRIBUTES = 1 << 27;
        MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        CAPABILITY_EXTENSION = 1 << 29;
        SSL_VERIFY_SERVER_CERT = 1 << 30;
        REMEMBER_OPTIONS = 1 << 31;
    }
}

impl Capabilities {
    /// The capabilities of this codec as a server. TLS depends on the caller.
    pub const SERVER: Self = Self(
        Self::LONG_PASSWORD.0
            | Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::NO_SCHEMA.0
            | Self::ODBC.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::INTERACTIVE.0
            | Self::IGNORE_SIGPIPE.0
            | Self::TRANSACTIONS.0
            | Self::RESERVED.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
            | Self::CAN_HANDLE_EXPIRED_PASSWORDS.0
            | Self::DEPRECATE_EOF.0
            | Self::QUERY_ATTRIBUTES.0,
    );

    /// The capabilities that the client half asks for. Found rows, interactive and multi-statements are its user's
    /// choice.
    pub const CLIENT: Self = Self(
        Self::LONG_PASSWORD.0
            | Self::LONG_FLAG.0
            | Self::PROTOCOL_41.0
            | Self::TRANSACTIONS.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
            | Self::DEPRECATE_EOF.0
            | Self::QUERY_ATTRIBUTES.0,
    );
}

flags! {
    /// `SERVER_STATUS_*`, in every OK and EOF packet.
    StatusFlags: u16 {
        IN_TRANSACTION = 1;
        AUTOCOMMIT = 1 << 1;
        MORE_RESULTS_EXISTS = 1 << 3;
        NO_GOOD_INDEX_USED = 1 << 4;
        NO_INDEX_USED = 1 << 5;
        CURSOR_EXISTS = 1 << 6;
        LAST_ROW_SENT = 1 << 7;
        DATABASE_DROPPED = 1 << 8;
        NO_BACKSLASH_ESCAPES = 1 << 9;
        METADATA_CHANGED = 1 << 10;
        QUERY_WAS_SLOW = 1 << 11;
        OUT_PARAMETERS = 1 << 12;
        IN_READ_ONLY_TRANSACTION = 1 << 13;
        SESSION_STATE_CHANGED = 1 << 14;
    }
}

flags! {
    /// `*_FLAG` of a column definition.
    ColumnFlags: u16 {
        NOT_NULL = 1;
        PRIMARY_KEY = 1 << 1;
        UNIQUE_KEY = 1 << 2;
        MULTIPLE_KEY = 1 << 3;
        BLOB = 1 << 4;
        UNSIGNED = 1 << 5;
        ZEROFILL = 1 << 6;
        BINARY = 1 << 7;
        ENUM = 1 << 8;
        AUTO_INCREMENT = 1 << 9;
        TIMESTAMP = 1 << 10;
        SET = 1 << 11;
        NO_DEFAULT_VALUE = 1 << 12;
        ON_UPDATE_NOW = 1 << 13;
        PART_KEY = 1 << 14;
        NUMBER = 1 << 15;
    }
}

macro_rules! column_types {
    ($($(#[$documentation:meta])* $name:ident = $byte:literal,)*) => {
        /// `MYSQL_TYPE_*` of columns and parameters.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum ColumnType {
            $($(#[$documentation])* $name = $byte,)*
        }

        impl ColumnType {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// `None` for a number that no MySQL version sends.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$name),)*
                    _ => None,
                }
            }

            #[must_use]
            pub const fn byte(self) -> u8 {
                self as u8
            }
        }
    };
}

column_types! {
    /// DECIMAL of old servers; some clients still bind it.
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    NewDate = 14,
    VarChar = 15,
    Bit = 16,
    Timestamp2 = 17,
    DateTime2 = 18,
    Time2 = 19,
    Vector = 242,
    Bool = 244,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

#[cfg(test)]
mod tests;
