//! Functions on strings.
//!
//! Positions and lengths count characters, bytes for binary strings. Searching compares under the collation of the
//! operation (LOCATE, INSTR, FIND_IN_SET, FIELD, STRCMP) or byte by byte (REPLACE, SUBSTRING_INDEX, TRIM), as MySQL
//! does.
//!
//! - `text_functions/measure.rs`: characters, positions, case. `search.rs`: searching. `text_functions/code.rs`: HEX,
//!   Base64, QUOTE, digests, FORMAT.
//!
//! Invariants: total on bytes that are no UTF-8 (a malformed byte is a character); no result is longer than
//! [`RESULT_SIZE_MAX`](crate::context::RESULT_SIZE_MAX): NULL with warning 1301 instead.

mod code;
mod measure;

pub(crate) use measure::{byte_index, character_count};

use crate::context::{
    ER_INVALID_CHARACTER_STRING, ER_WARN_ALLOWED_PACKET_OVERFLOWED, EvaluationError, RESULT_SIZE_MAX,
    TypeError,
};
use crate::conversion::{bits_to_bytes, low_bits};
use crate::evaluation::Evaluated;
use crate::function::{Call, MANY, Typed, functions};
use crate::node::{CastPurpose, Expression};
use crate::search::{Meter, find, find_exact, find_last};
use crate::typing::{
    BIGINT, NumericClass, TypingContext, aggregate_collation, collation_of, display_length, is_binary_string,
    is_temporal, is_text, numeric_class, text_type,
};
use measure::{lower, reversed, upper};
use std::borrow::Cow;
use std::cmp::Ordering;
use types::{Collation, SqlType, Value, ValueRef};

functions! {
    /// Functions on strings.
    TextFunction {
        Concat "CONCAT" 1..=MANY,
        ConcatWithSeparator "CONCAT_WS" 2..=MANY,
        Length "LENGTH" ["OCTET_LENGTH"] 1..=1,
        CharacterLength "CHAR_LENGTH" ["CHARACTER_LENGTH"] 1..=1,
        BitLength "BIT_LENGTH" 1..=1,
        Lower "LOWER" ["LCASE"] 1..=1,
        Upper "UPPER" ["UCASE"] 1..=1,
        Left "LEFT" 2..=2,
        Right "RIGHT" 2..=2,
        Substring "SUBSTRING" ["SUBSTR", "MID"] 2..=3,
        SubstringIndex "SUBSTRING_INDEX" 3..=3,
        Locate "LOCATE" ["POSITION"] 2..=3,
        Instr "INSTR" 2..=2,
        Trim "TRIM" 1..=2,
        LeftTrim "LTRIM" 1..=2,
        RightTrim "RTRIM" 1..=2,
        LeftPad "LPAD" 3..=3,
        RightPad "RPAD" 3..=3,
        Repeat "REPEAT" 2..=2,
        Replace "REPLACE" 3..=3,
        Reverse "REVERSE" 1..=1,
        Space "SPACE" 1..=1,
        Compare "STRCMP" 2..=2,
        Ascii "ASCII" 1..=1,
        Ord "ORD" 1..=1,
        Char "CHAR" 1..=MANY,
        CharUsing "CHAR USING" 2..=MANY,
        Field "FIELD" 2..=MANY,
        Elt "ELT" 2..=MANY,
        FindInSet "FIND_IN_SET" 2..=2,
        Insert "INSERT" 4..=4,
        Quote "QUOTE" 1..=1,
        Format "FORMAT" 2..=3,
        Hex "HEX" 1..=1,
        Unhex "UNHEX" 1..=1,
        ToBase64 "TO_BASE64" 1..=1,
        FromBase64 "FROM_BASE64" 1..=1,
        Md5 "MD5" 1..=1,
        Sha1 "SHA1" ["SHA"] 1..=1,
        Sha2 "SHA2" 2..=2,
        Collation "COLLATION" 1..=1,
        CharacterSet "CHARSET" 1..=1,
        Coercibility "COERCIBILITY" 1..=1,
        Soundex "SOUNDEX" 1..=1,
    }
}

/// The first `count` arguments as text, the rest as they are.
fn with_texts(arguments: Vec<Expression>, count: usize) -> Vec<Expression> {
    arguments
        .into_iter()
        .enumerate()
        .map(|(index, argument)| if index < count { argument.into_text() } else { argument })
        .collect()
}

/// The first argument as the bytes of its character set, where those are not the bytes of UTF-8.
pub(crate) fn in_own_bytes(mut arguments: Vec<Expression>) -> Vec<Expression> {
    if let Some(first) = arguments.first_mut() {
        let set = first.sql_type.character_collation().and_then(Collation::narrow_set);
        if let Some(set) = set.filter(|set| !set.is_utf8()) {
            let length = u64::from(display_length(first)).saturating_mul(u64::from(set.size_max()));
            let text = std::mem::replace(first, Expression::null());
            *first = text.cast_for(text_type(length, Collation::Binary), CastPurpose::Implicit);
        }
    }
    arguments
}

fn length_of(arguments: &[Expression], index: usize) -> u64 {
    arguments.get(index).map_or(0, |argument| u64::from(display_length(argument)))
}

/// A literal count, as a bound for the result's length.
fn literal_count(arguments: &[Expression], index: usize) -> Option<u64> {
    match arguments.get(index)?.as_literal()? {
        Value::Int(count) => Some(u64::try_from(*count).unwrap_or(0)),
        Value::UInt(count) => Some(*count),
        _ => None,
    }
}

impl TextFunction {
    pub(crate) fn typed(
        self,
        arguments: Vec<Expression>,
        typing: &TypingContext,
    ) -> Result<Typed, TypeError> {
        // How many arguments, from the first on, are texts that agree on a collation.
        let texts = match self {
            Self::Left | Self::Right | Self::Substring | Self::Repeat => 1,
            Self::Space | Self::Char | Self::Format => 0,
            Self::Quote | Self::Collation | Self::CharacterSet | Self::Coercibility => 0,
            Self::CharUsing => return Self::typed_char_using(arguments),
            // The member of a SET column is found by its bit, and its number is the one in the type.
            Self::FindInSet
                if matches!(arguments.get(1).map(|list| &list.sql_type), Some(SqlType::Set { .. })) =>
            {
                return Ok(Typed::strict(with_texts(arguments, 1), BIGINT));
            }
            Self::Field => return Self::typed_field(arguments),
            Self::Elt => return Self::typed_elt(arguments),
            Self::Hex => {
                let is_string = arguments
                    .first()
                    .is_some_and(|argument| is_text(&argument.sql_type) || is_temporal(&argument.sql_type));
                let arguments = in_own_bytes(with_texts(arguments, usize::from(is_string)));
                let sql_type =
                    text_type(length_of(&arguments, 0).saturating_mul(8).max(16), typing.collation);
                return Ok(Typed::strict(arguments, sql_type));
            }
            Self::Locate | Self::SubstringIndex | Self::Compare | Self::Instr | Self::FindInSet => 2,
            Self::LeftPad | Self::RightPad => return Self::typed_pad(self, arguments),
            Self::Insert => return Self::typed_insert(arguments),
            Self::Concat
            | Self::ConcatWithSeparator
            | Self::Length
            | Self::CharacterLength
            | Self::BitLength
            | Self::Lower
            | Self::Upper
            | Self::Trim
            | Self::LeftTrim
            | Self::RightTrim
            | Self::Replace
            | Self::Reverse
            | Self::Soundex
            | Self::Ascii
            | Self::Ord
            | Self::Unhex
            | Self::ToBase64
            | Self::FromBase64
            | Self::Md5
            | Self::Sha1
            | Self::Sha2 => usize::MAX,
        };
        let arguments = with_texts(arguments, texts);
        let arguments = if self.works_on_bytes() { in_own_bytes(arguments) } else { arguments };
        let collation = match texts {
            0 => typing.collation,
            _ => aggregate_collation(arguments.iter().take(texts), self.name())?,
        };
        Ok(self.typed_result(arguments, collation, typing))
    }

    /// True for what asks for a text's bytes rather than for its characters.
    fn works_on_bytes(self) -> bool {
        matches!(
            self,
            Self::Length
                | Self::BitLength
                | Self::Ascii
                | Self::Ord
                | Self::ToBase64
                | Self::Md5
                | Self::Sha1
                | Self::Sha2
        )
    }

    /// The result's type, for converted arguments and the collation they agreed on.
    fn typed_result(self, arguments: Vec<Expression>, collation: Collation, typing: &TypingContext) -> Typed {
        let first = length_of(&arguments, 0);
        match self {
            Self::Concat => {
                let length = arguments.iter().map(|argument| u64::from(display_length(argument))).sum();
                Typed::nullable(arguments, text_type(length, collation))
            }
            Self::ConcatWithSeparator => {
                let count = u64::try_from(arguments.len()).unwrap_or(u64::MAX);
                let rest: u64 =
                    arguments.iter().skip(1).map(|argument| u64::from(display_length(argument))).sum();
                let length = rest.saturating_add(first.saturating_mul(count.saturating_sub(2)));
                let nullable = arguments.first().is_some_and(|separator| separator.nullable);
                Typed { arguments, sql_type: text_type(length, collation), nullable }
            }
            Self::Length
            | Self::CharacterLength
            | Self::BitLength
            | Self::Ascii
            | Self::Ord
            | Self::Compare
            | Self::Locate
            | Self::Instr
            | Self::FindInSet => Typed::strict(arguments, BIGINT),
            Self::Coercibility => {
                let levels =
                    arguments.iter().map(|argument| Expression::integer(argument.coercibility.into()));
                Typed { arguments: levels.collect(), sql_type: BIGINT, nullable: false }
            }
            Self::Lower
            | Self::Upper
            | Self::Reverse
            | Self::Trim
            | Self::LeftTrim
            | Self::RightTrim
            | Self::SubstringIndex => Typed::strict(arguments, text_type(first, collation)),
            Self::Soundex => Typed::strict(arguments, text_type(first.max(4), collation)),
            Self::Left | Self::Right => {
                let length = literal_count(&arguments, 1).map_or(first, |count| count.min(first));
                Typed::strict(arguments, text_type(length, collation))
            }
            Self::Substring => {
                let length = literal_count(&arguments, 2).map_or(first, |count| count.min(first));
                Typed::strict(arguments, text_type(length, collation))
            }
            Self::Repeat => {
                let count = literal_count(&arguments, 1).unwrap_or(u64::from(u16::MAX));
                Typed::nullable(arguments, text_type(first.saturating_mul(count), collation))
            }
            Self::Replace => {
                let grown = length_of(&arguments, 2).saturating_mul(first).max(first);
                Typed::nullable(arguments, text_type(grown, collation))
            }
            Self::Space => {
                let length = literal_count(&arguments, 0).unwrap_or(u64::from(u16::MAX));
                Typed::nullable(arguments, text_type(length, collation))
            }
            Self::Char => {
                let length = u64::try_from(arguments.len()).unwrap_or(u64::MAX).saturating_mul(4);
                Typed { arguments, sql_type: text_type(length, Collation::Binary), nullable: false }
            }
            Self::Quote => {
                let length = first.saturating_mul(2).saturating_add(2);
                let arguments = with_texts(arguments, 1);
                Typed { arguments, sql_type: text_type(length.max(4), collation), nullable: false }
            }
            Self::Format => {
                let arguments = arguments
                    .into_iter()
                    .enumerate()
                    .map(|(index, argument)| if index == 0 { argument.into_number() } else { argument });
                Typed::nullable(arguments.collect(), text_type(100, collation))
            }
            Self::Unhex | Self::FromBase64 => Typed::nullable(arguments, text_type(first, Collation::Binary)),
            Self::ToBase64 => {
                let length = first.saturating_mul(4 * 4 / 3).saturating_add(8);
                Typed::strict(arguments, text_type(length, typing.collation))
            }
            Self::Md5 => Typed::strict(arguments, text_type(32, typing.collation)),
            Self::Sha1 => Typed::strict(arguments, text_type(40, typing.collation)),
            Self::Sha2 => Typed::nullable(arguments, text_type(128, typing.collation)),
            Self::Collation | Self::CharacterSet => {
                Typed { arguments, sql_type: text_type(64, Collation::Utf8mb4GeneralCi), nullable: false }
            }
            Self::Hex
            | Self::CharUsing
            | Self::Field
            | Self::Elt
            | Self::LeftPad
            | Self::RightPad
            | Self::Insert => Typed::nullable(arguments, text_type(first, collation)),
        }
    }

    /// CHAR(… USING character_set): the name is the first argument. All characters are kept as UTF-8, so the numbers
    /// are its bytes.
    fn typed_char_using(arguments: Vec<Expression>) -> Result<Typed, TypeError> {
        let name = match arguments.first().and_then(Expression::as_literal) {
            Some(Value::Bytes(name)) => String::from_utf8_lossy(name).to_ascii_lowercase(),
            _ => return Err(TypeError::WrongArguments("char".to_owned())),
        };
        let is_known = ["utf8mb4", "utf8mb3", "utf8", "ascii", "binary"].contains(&name.as_str());
        let collation = Collation::by_character_set(&name)
            .filter(|_| is_known)
            .ok_or_else(|| TypeError::Unsupported(format!("CHAR(... USING {name})")))?;
        let length = u64::try_from(arguments.len() - 1).unwrap_or(u64::MAX).saturating_mul(4);
        Ok(Typed { arguments, sql_type: text_type(length, collation), nullable: true })
    }

    /// FIELD compares as strings if all are, as integers if all are, else as doubles.
    fn typed_field(arguments: Vec<Expression>) -> Result<Typed, TypeError> {
        let all_text = arguments.iter().all(|argument| is_text(&argument.sql_type));
        let all_exact =
            arguments.iter().all(|argument| numeric_class(&argument.sql_type) != NumericClass::Double);
        let collation = aggregate_collation(arguments.iter(), "field")?;
        let convert = |argument: Expression| {
            if all_text {
                let text = argument.into_text();
                let length = u64::from(display_length(&text));
                // All alternatives carry the operation's collation, for the evaluation to find.
                let sql_type = text_type(length, collation);
                if text.sql_type == sql_type { text } else { text.cast_for(sql_type, CastPurpose::Implicit) }
            } else if all_exact {
                argument.into_number()
            } else {
                argument.cast_for(SqlType::Double, CastPurpose::Implicit)
            }
        };
        let arguments = arguments.into_iter().map(convert).collect();
        Ok(Typed { arguments, sql_type: BIGINT, nullable: false })
    }

    fn typed_elt(arguments: Vec<Expression>) -> Result<Typed, TypeError> {
        let arguments: Vec<Expression> = arguments
            .into_iter()
            .enumerate()
            .map(|(index, argument)| if index == 0 { argument } else { argument.into_text() })
            .collect();
        let collation = aggregate_collation(arguments.iter().skip(1), "elt")?;
        let longest = (1..arguments.len()).map(|index| length_of(&arguments, index)).max().unwrap_or(0);
        Ok(Typed::nullable(arguments, text_type(longest, collation)))
    }

    fn typed_pad(self, mut arguments: Vec<Expression>) -> Result<Typed, TypeError> {
        for index in [0, 2] {
            if let Some(argument) = arguments.get_mut(index) {
                *argument = std::mem::replace(argument, Expression::null()).into_text();
            }
        }
        let collation = aggregate_collation(arguments.iter().step_by(2), self.name())?;
        let length = literal_count(&arguments, 1).unwrap_or(u64::from(u16::MAX));
        Ok(Typed::nullable(arguments, text_type(length, collation)))
    }

    fn typed_insert(mut arguments: Vec<Expression>) -> Result<Typed, TypeError> {
        for index in [0, 3] {
            if let Some(argument) = arguments.get_mut(index) {
                *argument = std::mem::replace(argument, Expression::null()).into_text();
            }
        }
        let collation = aggregate_collation(arguments.iter().step_by(3), "insert")?;
        let length = length_of(&arguments, 0).saturating_add(length_of(&arguments, 3));
        Ok(Typed::strict(arguments, text_type(length, collation)))
    }
}

/// The result of most text functions: a text, or NULL.
type Text<'a> = Option<Cow<'a, [u8]>>;

impl<'a> Call<'a> {
    pub(crate) fn evaluate_text(self, function: TextFunction) -> Result<Evaluated<'a>, EvaluationError> {
        let context = self.context;
        let text = match function {
            TextFunction::Concat => self.concat()?,
            TextFunction::ConcatWithSeparator => self.concat_with_separator()?,
            TextFunction::Lower => self.in_case(lower)?,
            TextFunction::Upper => self.in_case(upper)?,
            TextFunction::Reverse => {
                self.mapped(|text| Cow::Owned(reversed(&text, is_binary_string(self.sql_type))))?
            }
            TextFunction::Soundex => self.mapped(|text| Cow::Owned(code::soundex(&text)))?,
            TextFunction::Left => self.left()?,
            TextFunction::Right => self.right()?,
            TextFunction::Substring => self.substring()?,
            TextFunction::SubstringIndex => self.substring_index()?,
            TextFunction::Trim => self.trim(true, true)?,
            TextFunction::LeftTrim => self.trim(true, false)?,
            TextFunction::RightTrim => self.trim(false, true)?,
            TextFunction::LeftPad => self.pad(true)?,
            TextFunction::RightPad => self.pad(false)?,
            TextFunction::Repeat => self.repeat()?,
            TextFunction::Replace => self.replace()?,
            TextFunction::Space => {
                let Some(count) = self.i64(0)? else { return Ok(Evaluated::NULL) };
                self.repeated(b" ", count)
            }
            TextFunction::Char => Some(Cow::Owned(self.characters(0)?)),
            TextFunction::CharUsing => self.characters_using()?,
            TextFunction::Elt => self.elt()?,
            TextFunction::Insert => self.insert()?,
            TextFunction::Quote => Some(Cow::Owned(code::quote(self.text(0)?.as_deref()))),
            TextFunction::Format => code::format(self)?,
            TextFunction::Hex => code::hex(self)?,
            TextFunction::Unhex => self.text(0)?.and_then(|text| code::unhex(&text)).map(Cow::Owned),
            TextFunction::ToBase64 => self.mapped(|text| Cow::Owned(code::to_base64(&text)))?,
            TextFunction::FromBase64 => {
                self.text(0)?.and_then(|text| code::from_base64(&text)).map(Cow::Owned)
            }
            TextFunction::Md5 => self.mapped(|text| Cow::Owned(code::md5(&text)))?,
            TextFunction::Sha1 => self.mapped(|text| Cow::Owned(code::sha1(&text)))?,
            TextFunction::Sha2 => code::sha2(self)?,
            TextFunction::Collation | TextFunction::CharacterSet => {
                Some(Cow::Borrowed(self.collation_name(function)))
            }
            TextFunction::Length
            | TextFunction::CharacterLength
            | TextFunction::BitLength
            | TextFunction::Locate
            | TextFunction::Instr
            | TextFunction::Compare
            | TextFunction::Ascii
            | TextFunction::Ord
            | TextFunction::Field
            | TextFunction::FindInSet
            | TextFunction::Coercibility => {
                let number = self.measured(function)?;
                return Ok(Evaluated::Borrowed(number.map_or(ValueRef::Null, ValueRef::Int)));
            }
        };
        if let Some(Cow::Owned(text)) = &text {
            context.warnings.work_on_text(text.len())?;
        }
        Ok(text.map_or(Evaluated::NULL, Evaluated::from_cow))
    }

    /// Functions of text that give a number.
    fn measured(self, function: TextFunction) -> Result<Option<i64>, EvaluationError> {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Ok(match function {
            TextFunction::Length => self.text(0)?.map(|text| count(text.len())),
            TextFunction::BitLength => self.text(0)?.map(|text| count(text.len()).saturating_mul(8)),
            TextFunction::CharacterLength => self.text(0)?.map(|text| {
                count(if is_binary_string(self.type_of(0)) { text.len() } else { character_count(&text) })
            }),
            TextFunction::Ascii => self.text(0)?.map(|text| i64::from(text.first().copied().unwrap_or(0))),
            TextFunction::Ord => {
                let binary = is_binary_string(self.type_of(0));
                self.text(0)?.map(|text| measure::ord(&text, binary))
            }
            TextFunction::Locate => {
                let start = if self.count() > 2 { self.i64(2)? } else { Some(1) };
                let (Some(needle), Some(text), Some(start)) = (self.text(0)?, self.text(1)?, start) else {
                    return Ok(None);
                };
                Some(count(self.position(&text, &needle, start)?))
            }
            TextFunction::Instr => {
                let (Some(text), Some(needle)) = (self.text(0)?, self.text(1)?) else { return Ok(None) };
                Some(count(self.position(&text, &needle, 1)?))
            }
            TextFunction::Compare => {
                let (Some(left), Some(right)) = (self.text(0)?, self.text(1)?) else { return Ok(None) };
                let collation = self.operation_collation();
                self.context.warnings.work_on_comparison(
                    ValueRef::Bytes(&left),
                    ValueRef::Bytes(&right),
                    collation,
                )?;
                Some(match collation.compare(&left, &right) {
                    Ordering::Less => -1,
                    Ordering::Equal => 0,
                    Ordering::Greater => 1,
                })
            }
            TextFunction::FindInSet if matches!(self.type_of(1), SqlType::Set { .. }) => {
                self.find_member()?
            }
            TextFunction::FindInSet => {
                let (Some(wanted), Some(list)) = (self.text(0)?, self.text(1)?) else { return Ok(None) };
                if list.is_empty() {
                    return Ok(Some(0));
                }
                let (collation, mut meter) = (self.operation_collation(), Meter::new(&self.context.warnings));
                // Each comparison looks at it.
                let padding = wanted.iter().rev().take_while(|byte| **byte == b' ').count();
                for (index, item) in list.split(|byte| *byte == b',').enumerate() {
                    meter.spend(1 + item.len() + padding)?;
                    if collation.equal_with_padding(item, &wanted) {
                        return Ok(Some(count(index + 1)));
                    }
                }
                Some(0)
            }
            TextFunction::Field => Some(self.field()?),
            // Its argument is the number.
            TextFunction::Coercibility => self.integer(0)?.and_then(|level| i64::try_from(level).ok()),
            TextFunction::Concat
            | TextFunction::ConcatWithSeparator
            | TextFunction::Lower
            | TextFunction::Upper
            | TextFunction::Left
            | TextFunction::Right
            | TextFunction::Substring
            | TextFunction::SubstringIndex
            | TextFunction::Trim
            | TextFunction::LeftTrim
            | TextFunction::RightTrim
            | TextFunction::LeftPad
            | TextFunction::RightPad
            | TextFunction::Repeat
            | TextFunction::Replace
            | TextFunction::Reverse
            | TextFunction::Soundex
            | TextFunction::Space
            | TextFunction::Char
            | TextFunction::CharUsing
            | TextFunction::Elt
            | TextFunction::Insert
            | TextFunction::Quote
            | TextFunction::Format
            | TextFunction::Hex
            | TextFunction::Unhex
            | TextFunction::ToBase64
            | TextFunction::FromBase64
            | TextFunction::Md5
            | TextFunction::Sha1
            | TextFunction::Sha2
            | TextFunction::Collation
            | TextFunction::CharacterSet => None,
        })
    }

    /// The collation of the first two arguments together. Typing has refused illegal mixes.
    fn operation_collation(&self) -> Collation {
        aggregate_collation(self.arguments.iter().take(2), "").unwrap_or(Collation::Binary)
    }

    fn collation_name(&self, function: TextFunction) -> &'static [u8] {
        // Numbers and dates are `binary`, as MySQL says.
        let collation = collation_of(self.type_of(0)).unwrap_or(Collation::Binary);
        let name =
            if function == TextFunction::Collation { collation.name() } else { collation.character_set() };
        name.as_bytes()
    }

    fn is_binary(&self) -> bool {
        is_binary_string(self.sql_type)
    }

    /// Where character `index` of a text starts, by the result's kind.
    fn offset(&self, text: &[u8], index: usize) -> usize {
        if self.is_binary() { index.min(text.len()) } else { byte_index(text, index) }
    }

    fn length(&self, text: &[u8]) -> usize {
        if self.is_binary() { text.len() } else { character_count(text) }
    }

    fn mapped(self, map: impl FnOnce(Cow<'a, [u8]>) -> Cow<'a, [u8]>) -> Result<Text<'a>, EvaluationError> {
        Ok(self.text(0)?.map(map))
    }

    /// LOWER and UPPER leave binary strings alone.
    fn in_case(self, change: fn(&[u8]) -> Vec<u8>) -> Result<Text<'a>, EvaluationError> {
        let binary = self.is_binary();
        self.mapped(|text| if binary { text } else { Cow::Owned(change(&text)) })
    }

    /// NULL with a warning if a result would be too long.
    fn fits(&self, size: usize) -> bool {
        if size <= RESULT_SIZE_MAX {
            return true;
        }
        self.context.warnings.push(ER_WARN_ALLOWED_PACKET_OVERFLOWED, || {
            let name = crate::function::name_of(self.expression);
            format!("Result of {name}() was larger than max_allowed_packet ({RESULT_SIZE_MAX}) - truncated")
        });
        false
    }

    fn concat(self) -> Result<Text<'a>, EvaluationError> {
        let mut result = Vec::new();
        for index in 0..self.count() {
            let Some(text) = self.text(index)? else { return Ok(None) };
            if !self.fits(result.len() + text.len()) {
                return Ok(None);
            }
            result.extend_from_slice(&text);
        }
        Ok(Some(Cow::Owned(result)))
    }

    fn concat_with_separator(self) -> Result<Text<'a>, EvaluationError> {
        let Some(separator) = self.text(0)? else { return Ok(None) };
        let (mut result, mut first) = (Vec::new(), true);
        for index in 1..self.count() {
            let Some(text) = self.text(index)? else { continue };
            if !self.fits(result.len() + separator.len() + text.len()) {
                return Ok(None);
            }
            if !first {
                result.extend_from_slice(&separator);
            }
            first = false;
            result.extend_from_slice(&text);
        }
        Ok(Some(Cow::Owned(result)))
    }

    fn left(self) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(count)) = (self.text(0)?, self.i64(1)?) else { return Ok(None) };
        let end = self.offset(&text, usize::try_from(count).unwrap_or(0));
        Ok(Some(slice(text, 0, end)))
    }

    fn right(self) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(count)) = (self.text(0)?, self.i64(1)?) else { return Ok(None) };
        let skipped = self.length(&text).saturating_sub(usize::try_from(count).unwrap_or(0));
        let (start, end) = (self.offset(&text, skipped), text.len());
        Ok(Some(slice(text, start, end)))
    }

    fn substring(self) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(position)) = (self.text(0)?, self.i64(1)?) else { return Ok(None) };
        let count = if self.count() > 2 {
            let Some(count) = self.i64(2)? else { return Ok(None) };
            usize::try_from(count).unwrap_or(0)
        } else {
            usize::MAX
        };
        let start = match usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX) {
            0 => None,
            distance if position > 0 => Some(distance - 1),
            distance => self.length(&text).checked_sub(distance),
        };
        let Some(start) = start else { return Ok(Some(Cow::Borrowed(b""))) };
        let start = self.offset(&text, start);
        let size = self.offset(&text[start..], count);
        Ok(Some(slice(text, start, start + size)))
    }

    fn substring_index(self) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(delimiter), Some(count)) = (self.text(0)?, self.text(1)?, self.i64(2)?) else {
            return Ok(None);
        };
        if delimiter.is_empty() || count == 0 {
            return Ok(Some(Cow::Borrowed(b"")));
        }
        let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let (start, end) = if count > 0 {
            let mut end = 0;
            for found in 0..wanted {
                let from = if found == 0 { 0 } else { end + delimiter.len() };
                match find_exact(&text[from..], &delimiter) {
                    Some(position) => end = from + position,
                    None => return Ok(Some(text)),
                }
            }
            (0, end)
        } else {
            let mut start = text.len() + delimiter.len();
            for _ in 0..wanted {
                match find_last(&text[..start - delimiter.len()], &delimiter) {
                    Some(position) => start = position + delimiter.len(),
                    None => return Ok(Some(text)),
                }
            }
            (start, text.len())
        };
        Ok(Some(slice(text, start, end)))
    }

    /// The position of `needle` at or behind character `start`, counted from 1; 0 if there is none.
    fn position(&self, text: &[u8], needle: &[u8], start: i64) -> Result<usize, EvaluationError> {
        let collation = self.operation_collation();
        let binary = collation == Collation::Binary;
        let Some(skipped) = usize::try_from(start).ok().and_then(|start| start.checked_sub(1)) else {
            return Ok(0);
        };
        let length = if binary { text.len() } else { character_count(text) };
        if skipped > length {
            return Ok(0);
        }
        let from = if binary { skipped } else { byte_index(text, skipped) };
        let mut meter = Meter::new(&self.context.warnings);
        let Some(found) = find(&text[from..], needle, collation, &mut meter)? else { return Ok(0) };
        let before = &text[from..from + found];
        Ok(skipped + 1 + if binary { before.len() } else { character_count(before) })
    }

    fn trim(self, leading: bool, trailing: bool) -> Result<Text<'a>, EvaluationError> {
        let Some(text) = self.text(0)? else { return Ok(None) };
        let what = if self.count() > 1 {
            let Some(what) = self.text(1)? else { return Ok(None) };
            what
        } else {
            Cow::Borrowed(&b" "[..])
        };
        let (mut start, mut end) = (0, text.len());
        if !what.is_empty() {
            while leading && text[start..end].starts_with(&what) {
                start += what.len();
            }
            while trailing && text[start..end].ends_with(&what) {
                end -= what.len();
            }
        }
        Ok(Some(slice(text, start, end)))
    }

    fn pad(self, left: bool) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(length), Some(padding)) = (self.text(0)?, self.i64(1)?, self.text(2)?) else {
            return Ok(None);
        };
        let Ok(length) = usize::try_from(length) else { return Ok(None) };
        let present = self.length(&text);
        if present >= length {
            let end = self.offset(&text, length);
            return Ok(Some(slice(text, 0, end)));
        }
        let per_round = self.length(&padding);
        if per_round == 0 {
            return Ok(None);
        }
        let missing = length - present;
        let (rounds, rest) = (missing / per_round, missing % per_round);
        if !self.fits(rounds.saturating_mul(padding.len()).saturating_add(text.len() + padding.len())) {
            return Ok(None);
        }
        let mut result = Vec::new();
        if !left {
            result.extend_from_slice(&text);
        }
        for _ in 0..rounds {
            result.extend_from_slice(&padding);
        }
        result.extend_from_slice(&padding[..self.offset(&padding, rest)]);
        if left {
            result.extend_from_slice(&text);
        }
        Ok(Some(Cow::Owned(result)))
    }

    fn repeated(&self, text: &[u8], count: i64) -> Text<'a> {
        let count = usize::try_from(count).unwrap_or(0);
        if text.is_empty() || !self.fits(text.len().saturating_mul(count)) {
            return if text.is_empty() { Some(Cow::Borrowed(b"")) } else { None };
        }
        Some(Cow::Owned(text.repeat(count)))
    }

    fn repeat(self) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(count)) = (self.text(0)?, self.i64(1)?) else { return Ok(None) };
        Ok(self.repeated(&text, count))
    }

    fn replace(self) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(from), Some(to)) = (self.text(0)?, self.text(1)?, self.text(2)?) else {
            return Ok(None);
        };
        if from.is_empty() {
            return Ok(Some(text));
        }
        let (mut result, mut rest) = (Vec::with_capacity(text.len()), &text[..]);
        while let Some(position) = find_exact(rest, &from) {
            if !self.fits(result.len() + position + to.len()) {
                return Ok(None);
            }
            result.extend_from_slice(&rest[..position]);
            result.extend_from_slice(&to);
            rest = &rest[position + from.len()..];
        }
        result.extend_from_slice(rest);
        Ok(if self.fits(result.len()) { Some(Cow::Owned(result)) } else { None })
    }

    /// CHAR(…): each integer as its bytes without leading zero bytes.
    fn characters(&self, first: usize) -> Result<Vec<u8>, EvaluationError> {
        let mut result = Vec::new();
        for index in first..self.count() {
            if let Some(number) = self.integer(index)? {
                result.extend_from_slice(&bits_to_bytes(low_bits(number) & u64::from(u32::MAX)));
            }
        }
        Ok(result)
    }

    /// CHAR(… USING …): NULL with a warning if the bytes are no text.
    fn characters_using(self) -> Result<Text<'a>, EvaluationError> {
        let bytes = self.characters(1)?;
        let is_text = self.is_binary() || std::str::from_utf8(&bytes).is_ok();
        if is_text {
            return Ok(Some(Cow::Owned(bytes)));
        }
        self.context.warnings.push(ER_INVALID_CHARACTER_STRING, || {
            let wrong = bytes.utf8_chunks().find_map(|chunk| chunk.invalid().first().copied());
            format!("Invalid utf8mb4 character string: '{:02X}'", wrong.unwrap_or_default())
        });
        Ok(None)
    }

    fn elt(self) -> Result<Text<'a>, EvaluationError> {
        let Some(index) = self.i64(0)? else { return Ok(None) };
        match usize::try_from(index) {
            Ok(index) if index > 0 && index < self.count() => self.text(index),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    fn field(self) -> Result<i64, EvaluationError> {
        let wanted = self.value(0)?;
        if wanted.is_null() {
            return Ok(0);
        }
        let collation = self.operation_collation();
        for index in 1..self.count() {
            let candidate = self.value(index)?;
            self.context.warnings.work_on_comparison(candidate.as_ref(), wanted.as_ref(), collation)?;
            let same = !candidate.is_null()
                && crate::compare_values(&candidate.as_ref(), &wanted.as_ref(), self.type_of(0)).is_eq();
            if same {
                return Ok(i64::try_from(index).unwrap_or(i64::MAX));
            }
        }
        Ok(0)
    }

    fn find_member(self) -> Result<Option<i64>, EvaluationError> {
        let (Some(wanted), Some(bits)) = (self.text(0)?, self.integer(1)?) else { return Ok(None) };
        let SqlType::Set { members, collation } = self.type_of(1) else { return Ok(None) };
        let found = members
            .iter()
            .take(64)
            .position(|member| collation.equal_with_padding(member.as_bytes(), &wanted));
        let present = found.filter(|index| bits >> index & 1 == 1);
        Ok(Some(present.map_or(0, |index| i64::try_from(index + 1).unwrap_or(i64::MAX))))
    }

    fn insert(self) -> Result<Text<'a>, EvaluationError> {
        let (Some(text), Some(position), Some(count), Some(inserted)) =
            (self.text(0)?, self.i64(1)?, self.i64(2)?, self.text(3)?)
        else {
            return Ok(None);
        };
        let length = self.length(&text);
        let start = usize::try_from(position).ok().and_then(|position| position.checked_sub(1));
        let Some(start) = start.filter(|start| *start < length) else { return Ok(Some(text)) };
        let replaced = usize::try_from(count).unwrap_or(usize::MAX).min(length - start);
        let (from, to) = (self.offset(&text, start), self.offset(&text, start + replaced));
        if !self.fits(text.len() + inserted.len()) {
            return Ok(None);
        }
        Ok(Some(Cow::Owned([&text[..from], &inserted, &text[to..]].concat())))
    }
}

/// Part of a text, without a copy if it is borrowed.
fn slice(text: Cow<'_, [u8]>, start: usize, end: usize) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(start..end).unwrap_or_default()),
        Cow::Owned(mut text) => {
            text.truncate(end);
            text.drain(..start.min(text.len()));
            Cow::Owned(text)
        }
    }
}
