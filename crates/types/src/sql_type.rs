//! SQL types as MySQL has them.

use crate::Collation;
use std::sync::Arc;
use wire_derive::Wire;

/// Storage width of an integer column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub enum IntegerWidth {
    /// TINYINT, 1 byte.
    Tiny,
    /// SMALLINT, 2 bytes.
    Small,
    /// MEDIUMINT, 3 bytes.
    Medium,
    /// INT, 4 bytes.
    Normal,
    /// BIGINT, 8 bytes.
    Big,
}

/// The four sizes of TEXT and BLOB: 255 bytes, 64 KiB - 1, 16 MiB - 1, 4 GiB - 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub enum BlobSize {
    /// TINYTEXT, TINYBLOB.
    Tiny,
    /// TEXT, BLOB.
    Normal,
    /// MEDIUMTEXT, MEDIUMBLOB.
    Medium,
    /// LONGTEXT, LONGBLOB.
    Long,
}

/// The type of a column or an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Wire)]
pub enum SqlType {
    /// The type of the literal NULL.
    Null,
    /// TINYINT to BIGINT.
    Integer {
        /// Bytes on disk and range.
        width: IntegerWidth,
        /// UNSIGNED.
        unsigned: bool,
    },
    /// FLOAT: an f32, carried as `Value::Double` and rounded when stored.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL(precision, scale): precision 1–65, scale 0–30.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
        /// UNSIGNED.
        unsigned: bool,
    },
    /// BIT(length): 1–64, carried as `Value::UInt`.
    Bit {
        /// Bits.
        length: u8,
    },
    /// CHAR(length): trailing spaces removed when read.
    Char {
        /// Characters.
        length: u32,
        /// Comparison.
        collation: Collation,
    },
    /// VARCHAR(length).
    VarChar {
        /// Characters.
        length: u32,
        /// Comparison.
        collation: Collation,
    },
    /// BINARY(length): padded with zero bytes when stored.
    Binary {
        /// Bytes.
        length: u32,
    },
    /// VARBINARY(length).
    VarBinary {
        /// Bytes.
        length: u32,
    },
    /// The TEXT family.
    Text {
        /// Maximum size.
        size: BlobSize,
        /// Comparison.
        collation: Collation,
    },
    /// The BLOB family.
    Blob {
        /// Maximum size.
        size: BlobSize,
    },
    /// ENUM: stored as its index (`Value::UInt`, 1-based; 0 is the empty error value), shown as its member.
    Enum {
        /// The members in order.
        members: Arc<Vec<String>>,
        /// Comparison of members with strings.
        collation: Collation,
    },
    /// SET: stored as a bit mask (`Value::UInt`), shown as members joined by commas.
    Set {
        /// The members in order, at most 64.
        members: Arc<Vec<String>>,
        /// Comparison of members with strings.
        collation: Collation,
    },
    /// DATE.
    Date,
    /// TIME(fraction).
    Time {
        /// Digits of a second, 0–6.
        fraction: u8,
    },
    /// DATETIME(fraction).
    DateTime {
        /// Digits of a second, 0–6.
        fraction: u8,
    },
    /// TIMESTAMP(fraction): stored in UTC, shown in the session's time zone.
    Timestamp {
        /// Digits of a second, 0–6.
        fraction: u8,
    },
    /// YEAR: 1901–2155 and 0, carried as `Value::UInt`.
    Year,
    /// JSON (values exist from a later issue on).
    Json,
}
