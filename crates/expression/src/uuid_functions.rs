//! UUID_TO_BIN, BIN_TO_UUID, IS_UUID: UUIDs as text and as 16 bytes.
//!
//! Text is 32 hexadecimal digits, the same with hyphens (8-4-4-4-12), or that in braces. The swap flag puts the
//! moment's high digits in front, so that UUIDs of version 1 sort by time.

use crate::context::{ER_WRONG_VALUE_FOR_TYPE, EvaluationError, shown};
use crate::evaluation::Evaluated;
use crate::function::{Call, Typed, functions};
use crate::node::Expression;
use crate::typing::{BIGINT, text_type};
use types::{Collation, SqlType, ValueRef};

functions! {
    /// Functions on UUIDs.
    UuidFunction {
        ToBinary "UUID_TO_BIN" 1..=2,
        FromBinary "BIN_TO_UUID" 1..=2,
        IsUuid "IS_UUID" 1..=1,
    }
}

impl UuidFunction {
    pub(crate) fn typed(self, arguments: Vec<Expression>) -> Typed {
        let mut arguments = arguments.into_iter();
        let first = arguments.next().map(Expression::into_text);
        let arguments = first.into_iter().chain(arguments).collect();
        match self {
            Self::ToBinary => Typed::nullable(arguments, SqlType::VarBinary { length: 16 }),
            Self::FromBinary => Typed::nullable(arguments, text_type(36, Collation::Utf8mb4GeneralCi)),
            Self::IsUuid => Typed::strict(arguments, BIGINT),
        }
    }
}

/// The 16 bytes that a text stands for.
fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let inner = match text {
        [b'{', inner @ .., b'}'] if inner.len() == 36 => inner,
        _ => text,
    };
    let is_hyphen = |position: usize| inner.len() == 36 && [8, 13, 18, 23].contains(&position);
    if inner.len() != 36 && inner.len() != 32 {
        return None;
    }
    let mut bytes = [0; 16];
    let mut count = 0;
    for (position, byte) in inner.iter().enumerate() {
        if is_hyphen(position) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return None,
        };
        bytes[count / 2] = bytes[count / 2] << 4 | digit;
        count += 1;
    }
    Some(bytes)
}

fn format(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    text
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate_uuid(self, function: UuidFunction) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(text) = self.text(0)? else { return Ok(Evaluated::NULL) };
        let swaps = self.count() > 1 && self.i64(1)?.is_some_and(|flag| flag != 0);
        let wrong = |name: &str| {
            let message = format!("Incorrect string value: '{}' for function {name}", shown(&text));
            EvaluationError::new(ER_WRONG_VALUE_FOR_TYPE, message)
        };
        match function {
            UuidFunction::IsUuid => Ok(Evaluated::Borrowed(ValueRef::Int(i64::from(parse(&text).is_some())))),
            UuidFunction::ToBinary => {
                let [a, b, c, d, e, f, g, h, rest @ ..] = parse(&text).ok_or_else(|| wrong("uuid_to_bin"))?;
                let front = if swaps { [g, h, e, f, a, b, c, d] } else { [a, b, c, d, e, f, g, h] };
                Ok(Evaluated::from_bytes(front.into_iter().chain(rest).collect()))
            }
            UuidFunction::FromBinary => {
                let bytes: [u8; 16] = text.as_ref().try_into().map_err(|_| wrong("bin_to_uuid"))?;
                let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
                let [a, b, c, d, e, f, g, h] =
                    if swaps { [e, f, g, h, c, d, a, b] } else { [a, b, c, d, e, f, g, h] };
                let bytes = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
                Ok(Evaluated::from_bytes(format(bytes).into_bytes()))
            }
        }
    }
}
