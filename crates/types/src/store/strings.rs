//! Values into character and binary strings, ENUM and SET.

use super::{Converted, IncorrectKind, Loss, StoreError};
use crate::collation::TrimSpaces;
use crate::key::first_characters;
use crate::{BlobSize, Collation, SqlType, Value, format_text};

impl BlobSize {
    /// Most bytes of a value.
    #[must_use]
    pub const fn bytes_max(self) -> u64 {
        match self {
            BlobSize::Tiny => 255,
            BlobSize::Normal => 65_535,
            BlobSize::Medium => 16_777_215,
            BlobSize::Long => 4_294_967_295,
        }
    }
}

/// The value's bytes: strings as they are, all else as its text.
fn into_bytes(value: Value) -> Vec<u8> {
    if let Value::Bytes(bytes) = value {
        return bytes;
    }
    let mut text = Vec::new();
    format_text(value.as_ref(), &SqlType::Null, &mut text);
    text
}

/// Text that is UTF-8, else its valid start. Question marks stand for characters that the column's character set does
/// not have.
fn into_text(value: Value, collation: Collation) -> (Vec<u8>, Loss) {
    let mut text = into_bytes(value);
    match std::str::from_utf8(&text) {
        Ok(valid) => match collation.narrow_set() {
            Some(set) if set.first_foreign(valid).is_some() => {
                let replaced = set.with_question_marks(valid).into_bytes();
                (replaced, Loss::Error(StoreError::Incorrect(IncorrectKind::String)))
            }
            Some(_) | None => (text, Loss::Nothing),
        },
        Err(error) => {
            text.truncate(error.valid_up_to());
            (text, Loss::Error(StoreError::Incorrect(IncorrectKind::String)))
        }
    }
}

/// Cuts to `kept` bytes; a loss only if other than spaces went.
fn cut(text: &mut Vec<u8>, kept: usize, spaces: Loss) -> Loss {
    let only_spaces = text[kept..].trim_suffix_spaces().is_empty();
    text.truncate(kept);
    if only_spaces { spaces } else { Loss::Error(StoreError::TooLong) }
}

fn cut_characters(text: &mut Vec<u8>, length: u32, spaces: Loss) -> Loss {
    let kept = first_characters(text, length).len();
    if kept == text.len() { Loss::Nothing } else { cut(text, kept, spaces) }
}

fn first_loss(first: Loss, second: Loss) -> Loss {
    if first == Loss::Nothing { second } else { first }
}

/// CHAR is kept without trailing spaces: they do not count, and reading does not show them.
pub(super) fn to_char(value: Value, length: u32, collation: Collation) -> Converted {
    let (mut text, loss) = into_text(value, collation);
    let loss = first_loss(loss, cut_characters(&mut text, length, Loss::Nothing));
    let kept = text.trim_suffix_spaces().len();
    text.truncate(kept);
    (Value::Bytes(text), loss)
}

pub(super) fn to_varchar(value: Value, length: u32, collation: Collation) -> Converted {
    let (mut text, loss) = into_text(value, collation);
    let loss = first_loss(loss, cut_characters(&mut text, length, Loss::Note(StoreError::Truncated)));
    (Value::Bytes(text), loss)
}

pub(super) fn to_text(value: Value, bytes_max: u64, collation: Collation) -> Converted {
    let (mut text, loss) = into_text(value, collation);
    let limit = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    if text.len() <= limit {
        return (Value::Bytes(text), loss);
    }
    // Not in the middle of a character.
    let kept = (0..=limit).rev().find(|end| text[*end] & 0xc0 != 0x80).unwrap_or(0);
    let loss = first_loss(loss, cut(&mut text, kept, Loss::Note(StoreError::Truncated)));
    (Value::Bytes(text), loss)
}

pub(super) fn to_varbinary(value: Value, bytes_max: u64) -> Converted {
    let mut bytes = into_bytes(value);
    let limit = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let loss = if bytes.len() > limit { Loss::Error(StoreError::TooLong) } else { Loss::Nothing };
    bytes.truncate(limit);
    (Value::Bytes(bytes), loss)
}

pub(super) fn to_binary(value: Value, length: u32) -> Converted {
    let (value, loss) = to_varbinary(value, u64::from(length));
    let mut bytes = into_bytes(value);
    bytes.resize(length as usize, 0);
    (Value::Bytes(bytes), loss)
}

/// A number given as such or as text of digits, for ENUM's index and SET's mask.
fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::UInt(number) => Some(*number),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; checked to be in 0..2^53"
        )]
        Value::Double(number) => (0.0..9e15).contains(number).then_some(*number as u64),
        Value::Decimal(decimal) => decimal.truncate(0).to_u64(),
        Value::Bytes(text) => std::str::from_utf8(text).ok()?.trim_ascii().parse().ok(),
        Value::Null | Value::Date(_) | Value::Time(_) | Value::DateTime(_) => None,
    }
}

/// The member equal to `text` under the collation, trailing spaces aside: its position from 0.
fn member(text: &[u8], members: &[String], collation: Collation) -> Option<usize> {
    let text = text.trim_suffix_spaces();
    let exact = members.iter().position(|member| member.as_bytes() == text);
    exact.or_else(|| members.iter().position(|member| collation.equal(member.as_bytes(), text)))
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

pub(super) fn to_enum(value: &Value, members: &[String], collation: Collation) -> Converted {
    let by_name = if let Value::Bytes(text) = value {
        member(text, members, collation).map(|position| to_u64(position) + 1)
    } else {
        None
    };
    let index =
        by_name.or_else(|| whole_number(value)).filter(|index| (1..=to_u64(members.len())).contains(index));
    match index {
        Some(index) => (Value::UInt(index), Loss::Nothing),
        None => (Value::UInt(0), Loss::Error(StoreError::Truncated)),
    }
}

pub(super) fn to_set(value: &Value, members: &[String], collation: Collation) -> Converted {
    let count = u32::try_from(members.len().min(64)).unwrap_or(64);
    let all = if count == 0 { 0 } else { u64::MAX >> (64 - count) };
    if let Value::Bytes(text) = value {
        let (mask, complete) = named_members(text, members, collation);
        if complete {
            return (Value::UInt(mask), Loss::Nothing);
        }
        if whole_number(value).is_none_or(|mask| mask & !all != 0) {
            return (Value::UInt(mask), Loss::Error(StoreError::Truncated));
        }
    }
    match whole_number(value) {
        Some(mask) if mask & !all == 0 => (Value::UInt(mask), Loss::Nothing),
        Some(mask) => (Value::UInt(mask & all), Loss::Error(StoreError::Truncated)),
        None => (Value::UInt(0), Loss::Error(StoreError::Truncated)),
    }
}

/// The members that 'a,b,c' names, and whether all names are members.
fn named_members(text: &[u8], members: &[String], collation: Collation) -> (u64, bool) {
    let (mut mask, mut complete) = (0, true);
    if text.is_empty() {
        return (0, true);
    }
    for name in text.split(|byte| *byte == b',') {
        match member(name, members, collation) {
            Some(position @ 0..64) => mask |= 1 << position,
            _ => complete = false,
        }
    }
    (mask, complete)
}
