//! REGEXP, REGEXP_LIKE, REGEXP_INSTR, REGEXP_REPLACE, REGEXP_SUBSTR: ICU's patterns, matched by crate `regex` in time
//! that grows with the text only.
//!
//! `regexp_functions/translate.rs` brings a pattern into the crate's syntax and finds what is wrong with it. A constant
//! pattern is compiled when the call is typed, or first evaluated if folding made it constant, once for all copies of
//! the plan ([`Compiled`]). The others are compiled once per change of the pattern, where a [`Context`] lives.
//!
//! *Invariants.* The work on a text is counted before it is done: its length times the pattern's weight, so neither can
//! hold a thread for long. A compiled pattern is only used for the same pattern and the same modes.
//!
//! [`Context`]: crate::Context

mod translate;

#[cfg(test)]
mod tests;

use crate::context::{ER_WRONG_ARGUMENTS, EvaluationError, TypeError};
use crate::evaluation::Evaluated;
use crate::function::{Call, functions};
use crate::node::{Expression, Node};
use crate::text_functions::{byte_index, character_count};
use crate::typing::{BIGINT, aggregate_collation, collation_of, display_length, is_binary_string, text_type};
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use stdx::wire::{Decoder, Encoder, Wire, WireError};
use translate::{Modes, too_big, translate};
use types::{Collation, Value, ValueRef};

functions! {
    /// Functions of a text and a pattern.
    RegexpFunction {
        Like "REGEXP_LIKE" 2..=3,
        Instr "REGEXP_INSTR" 2..=6,
        Replace "REGEXP_REPLACE" 3..=6,
        Substr "REGEXP_SUBSTR" 2..=5,
    }
}

/// Bytes of a pattern.
const PATTERN_SIZE_MAX: usize = 64 << 10;
/// Bytes of a compiled pattern.
const COMPILED_SIZE_MAX: usize = 2 << 20;
/// Bytes of a compiled pattern that is no large one.
const SMALL_SIZE_MAX: usize = 64 << 10;
/// Compiling takes as long as reading so many bytes of text for each byte of a pattern, and for a large pattern.
const COMPILE_WORK: usize = 1 << 10;
const COMPILE_LARGE_WORK: usize = 4 << 20;
/// Weight of a pattern that costs as much again as reading the text.
const WEIGHT_UNIT: usize = 4;
/// A search may read on to the end of the text to find a short match: this part of what is left is counted.
const READ_ON: usize = 8;

/// A pattern that is ready to be matched.
#[derive(Debug)]
pub(crate) struct Program {
    pattern: Vec<u8>,
    modes: Modes,
    regex: Regex,
    weight: usize,
    /// The work of compiling it, in bytes of text.
    work: usize,
}

/// Where a constant pattern is kept once it is compiled; clones share it. It is no part of the expression's value.
#[derive(Clone, Debug, Default)]
pub struct Compiled(Arc<OnceLock<Arc<Program>>>);

impl PartialEq for Compiled {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Wire for Compiled {
    fn encode(&self, _: &mut Encoder<'_>) {}

    fn decode(_: &mut Decoder<'_>) -> Result<Self, WireError> {
        Ok(Self::default())
    }
}

impl Program {
    fn new(pattern: &[u8], modes: Modes) -> Result<Self, EvaluationError> {
        if pattern.len() > PATTERN_SIZE_MAX {
            return Err(too_big());
        }
        let Ok(text) = std::str::from_utf8(pattern) else {
            return Err(EvaluationError::new(3685, "Illegal argument to a regular expression."));
        };
        let translated = translate(text, modes)?;
        let built = |size_max: usize| {
            RegexBuilder::new(&translated.pattern)
                .case_insensitive(modes.ignores_case)
                .multi_line(modes.multi_line)
                .crlf(modes.multi_line && !modes.unix_lines)
                .size_limit(size_max)
                .dfa_size_limit(COMPILED_SIZE_MAX)
                .build()
        };
        let mut work = pattern.len().saturating_mul(COMPILE_WORK);
        let mut result = built(SMALL_SIZE_MAX);
        if matches!(result, Err(regex::Error::CompiledTooBig(_))) {
            work = work.saturating_add(COMPILE_LARGE_WORK);
            result = built(COMPILED_SIZE_MAX);
        }
        let regex = result.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => too_big(),
            _ => translate::syntax(0),
        })?;
        Ok(Self { pattern: pattern.to_vec(), modes, regex, weight: translated.weight, work })
    }

    fn fits(&self, pattern: &[u8], modes: Modes) -> bool {
        self.modes == modes && self.pattern == pattern
    }
}

impl RegexpFunction {
    /// Where match_type is.
    fn modes_index(self) -> usize {
        match self {
            Self::Like => 2,
            Self::Substr => 4,
            Self::Instr | Self::Replace => 5,
        }
    }

    /// The argument behind expression, pattern and replacement: the position.
    fn position_index(self) -> usize {
        if self == Self::Replace { 3 } else { 2 }
    }

    fn modes(self, match_type: Option<&[u8]>, collation: Collation) -> Result<Modes, EvaluationError> {
        let ignores_case = collation.ignores_case();
        let mut modes = Modes { ignores_case, only_asks: self == Self::Like, ..Modes::default() };
        for letter in match_type.unwrap_or_default() {
            match letter {
                b'c' => modes.ignores_case = false,
                b'i' => modes.ignores_case = true,
                b'm' => modes.multi_line = true,
                b'n' => modes.dot_all = true,
                b'u' => modes.unix_lines = true,
                _ => {
                    let message = format!("Incorrect arguments to {}.", self.name().to_ascii_lowercase());
                    return Err(EvaluationError::new(ER_WRONG_ARGUMENTS, message));
                }
            }
        }
        Ok(modes)
    }
}

impl Expression {
    /// A call of a function of a text and a pattern.
    pub(crate) fn regexp(function: RegexpFunction, arguments: Vec<Self>) -> Result<Self, TypeError> {
        let texts = if function == RegexpFunction::Replace { 3 } else { 2 };
        let modes = function.modes_index();
        let arguments: Vec<Self> = arguments
            .into_iter()
            .enumerate()
            .map(
                |(index, argument)| {
                    if index < texts || index == modes { argument.into_text() } else { argument }
                },
            )
            .collect();
        if let Some(binary) =
            arguments.iter().take(texts).position(|argument| is_binary_string(&argument.sql_type))
        {
            let other = arguments.iter().take(texts).enumerate().find(|(index, _)| *index != binary);
            let other = other.and_then(|(_, argument)| collation_of(&argument.sql_type));
            let other = other.unwrap_or(Collation::Utf8mb40900AiCi).name();
            let message = format!(
                "Character set '{other}' cannot be used in conjunction with 'binary' in call to {}.",
                function.name().to_ascii_lowercase()
            );
            return Err(TypeError::BadPattern(3995, message));
        }
        let collation =
            aggregate_collation(arguments.iter().take(texts), &function.name().to_ascii_lowercase())?;
        let length = |index: usize| {
            arguments.get(index).map_or(0, |argument: &Self| u64::from(display_length(argument)))
        };
        let sql_type = match function {
            RegexpFunction::Like | RegexpFunction::Instr => BIGINT,
            RegexpFunction::Replace => {
                text_type(length(2).saturating_add(1).saturating_mul(length(0).saturating_add(1)), collation)
            }
            RegexpFunction::Substr => text_type(length(0), collation),
        };
        let nullable =
            function == RegexpFunction::Substr || arguments.iter().any(|argument| argument.nullable);
        let node =
            Node::Regexp { function, collation, arguments: arguments.into(), compiled: Compiled::default() };
        let call = Self::new(node, sql_type, nullable);
        call.compile().map_err(|error| TypeError::BadPattern(error.code, error.message))?;
        Ok(call)
    }

    /// Compiles a constant pattern.
    fn compile(&self) -> Result<(), EvaluationError> {
        let Node::Regexp { function, collation, arguments, compiled } = &self.node else { return Ok(()) };
        let text = |index: usize| match arguments.get(index).map(Self::as_literal) {
            None => Some(None),
            Some(Some(Value::Bytes(text))) => Some(Some(text.as_slice())),
            Some(_) => None,
        };
        if let (Some(Some(pattern)), Some(match_type)) = (text(1), text(function.modes_index())) {
            let program = Program::new(pattern, function.modes(match_type, *collation)?)?;
            let _ = compiled.0.set(Arc::new(program));
        }
        Ok(())
    }

    /// The work of compiling the pattern of this call, in bytes of text that is read; 0 if it is not compiled.
    #[must_use]
    pub fn pattern_work(&self) -> usize {
        match &self.node {
            Node::Regexp { compiled, .. } => compiled.0.get().map_or(0, |program| program.work),
            _ => 0,
        }
    }

    /// Makes room for a pattern that folding has made constant: the first evaluation compiles it, and counts that.
    pub(crate) fn forget_compiled(&mut self) {
        if let Node::Regexp { compiled, arguments, .. } = &mut self.node {
            let pattern = arguments.get(1).and_then(Self::as_literal);
            let fits = |program: &Arc<Program>| matches!(pattern, Some(Value::Bytes(pattern)) if *pattern == program.pattern);
            if !compiled.0.get().is_some_and(fits) {
                *compiled = Compiled::default();
            }
        }
    }
}

/// A search of one text.
struct Search<'a> {
    program: &'a Program,
    text: &'a [u8],
    call: Call<'a>,
    /// Where the next match is looked for.
    at: Option<usize>,
    is_first: bool,
}

impl Search<'_> {
    fn count(&self, size: usize) -> Result<(), EvaluationError> {
        let factor = 1 + self.program.weight / WEIGHT_UNIT;
        let counted = self.call.context.warnings.work_on_text(size.saturating_mul(factor));
        counted.map_err(|_| EvaluationError::new(3699, "Timeout exceeded in regular expression match."))
    }

    /// The next match.
    fn next(&mut self) -> Result<Option<(usize, usize)>, EvaluationError> {
        let Some(at) = self.at.filter(|at| *at <= self.text.len()) else { return Ok(None) };
        // The work of the first search is counted already.
        if !std::mem::replace(&mut self.is_first, false) {
            self.count((self.text.len() - at) / READ_ON)?;
        }
        let Some(whole) = self.program.regex.find_at(self.text, at) else {
            self.at = None;
            return Ok(None);
        };
        // Behind an empty match, the next one is a character further.
        let step = match self.text.get(whole.end()) {
            Some(_) if whole.is_empty() => crate::pattern::character_size(&self.text[whole.end()..], false),
            None if whole.is_empty() => 1,
            _ => 0,
        };
        self.at = Some(whole.end() + step);
        Ok(Some((whole.start(), whole.end())))
    }

    /// The extent of the match with this number, counted from 1.
    fn nth(&mut self, occurrence: i64) -> Result<Option<(usize, usize)>, EvaluationError> {
        let mut extent = None;
        for _ in 0..occurrence.max(1) {
            match self.next()? {
                Some(found) => extent = Some(found),
                None => return Ok(None),
            }
        }
        Ok(extent)
    }
}

/// A piece of a replacement.
enum Piece<'a> {
    Text(Cow<'a, [u8]>),
    Group(usize),
}

/// A replacement in its pieces: `$1` and `${name}` are groups, a backslash takes the next character as it is.
fn pieces<'a>(replacement: &'a [u8], regex: &Regex) -> Result<Vec<Piece<'a>>, EvaluationError> {
    let no_group = || EvaluationError::new(3686, "Index out of bounds in regular expression search.");
    let bad_name = || EvaluationError::new(3887, "A capture group has an invalid name.");
    let (mut pieces, mut at) = (Vec::new(), 0);
    while at < replacement.len() {
        let rest = &replacement[at..];
        match rest {
            [b'\\', _, ..] => {
                let size = crate::pattern::character_size(&rest[1..], false);
                pieces.push(Piece::Text(Cow::Borrowed(&rest[1..1 + size])));
                at += 1 + size;
            }
            [b'$', b'{', name @ ..] => {
                let size = name.iter().position(|byte| *byte == b'}').ok_or_else(bad_name)?;
                let name = std::str::from_utf8(&name[..size]).map_err(|_| bad_name())?;
                let group =
                    regex.capture_names().position(|known| known == Some(name)).ok_or_else(bad_name)?;
                pieces.push(Piece::Group(group));
                at += size + 3;
            }
            [b'$', digits @ ..] => {
                // As many digits as there are groups.
                let (mut group, mut size) = (0, 0);
                while let Some(digit) = digits.get(size).filter(|digit| digit.is_ascii_digit()) {
                    let more = group * 10 + usize::from(digit - b'0');
                    if size > 0 && more >= regex.captures_len() {
                        break;
                    }
                    (group, size) = (more, size + 1);
                }
                if size == 0 {
                    return Err(bad_name());
                }
                if group >= regex.captures_len() {
                    return Err(no_group());
                }
                pieces.push(Piece::Group(group));
                at += 1 + size;
            }
            _ => {
                let is_special = |byte: &u8| matches!(byte, b'\\' | b'$');
                let size =
                    rest.iter().skip(1).position(is_special).map_or(rest.len(), |position| position + 1);
                pieces.push(Piece::Text(Cow::Borrowed(&rest[..size])));
                at += size;
            }
        }
    }
    Ok(pieces)
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate_regexp(
        self,
        function: RegexpFunction,
        collation: Collation,
        compiled: &Compiled,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(text), Some(pattern)) = (self.text(0)?, self.text(1)?) else { return Ok(Evaluated::NULL) };
        let mut replacement = Cow::Borrowed(&[][..]);
        if function == RegexpFunction::Replace {
            match self.text(2)? {
                Some(text) => replacement = text,
                None => return Ok(Evaluated::NULL),
            }
        }
        let modes_index = function.modes_index();
        let match_type = if self.count() > modes_index {
            let Some(match_type) = self.text(modes_index)? else { return Ok(Evaluated::NULL) };
            Some(match_type)
        } else {
            None
        };
        let modes = function.modes(match_type.as_deref(), collation)?;
        let program = self.program(&pattern, modes, compiled)?;
        // Position, occurrence, return_option.
        let first = function.position_index();
        let default_occurrence = i64::from(function != RegexpFunction::Replace);
        let mut numbers = [1, default_occurrence, 0];
        for (number, index) in numbers.iter_mut().zip(first..self.count().min(modes_index)) {
            match self.i64(index)? {
                Some(given) => *number = given,
                None => return Ok(Evaluated::NULL),
            }
        }
        let [position, occurrence, option] = numbers;
        if function == RegexpFunction::Instr && !matches!(option, 0 | 1) {
            let message = "Incorrect arguments to regexp_instr: return_option must be 1 or 0.";
            return Err(EvaluationError::new(ER_WRONG_ARGUMENTS, message));
        }
        let at = start_of(&text, position)?;
        let mut search = Search { program: &program, text: &text, call: self, at: Some(at), is_first: true };
        search.count(text.len() - at)?;
        Ok(match function {
            RegexpFunction::Like => {
                Evaluated::Borrowed(ValueRef::Int(i64::from(program.regex.is_match(&text))))
            }
            RegexpFunction::Instr => {
                let found = search.nth(occurrence)?.map(|(start, end)| if option == 0 { start } else { end });
                let index = found.map_or(0, |found| character_count(&text[..found]) + 1);
                Evaluated::Borrowed(ValueRef::Int(i64::try_from(index).unwrap_or(i64::MAX)))
            }
            RegexpFunction::Substr => match search.nth(occurrence)? {
                Some((start, end)) => Evaluated::from_bytes(text[start..end].to_vec()),
                None => Evaluated::NULL,
            },
            RegexpFunction::Replace => {
                return self.replaced(search, &pieces(&replacement, &program.regex)?, occurrence);
            }
        })
    }

    /// The compiled pattern.
    fn program(
        &self,
        pattern: &[u8],
        modes: Modes,
        compiled: &Compiled,
    ) -> Result<Arc<Program>, EvaluationError> {
        if let Some(program) = compiled.0.get().filter(|program| program.fits(pattern, modes)) {
            return Ok(Arc::clone(program));
        }
        if let Some(program) = self.context.warnings.program().filter(|program| program.fits(pattern, modes))
        {
            return Ok(program);
        }
        // Compiling costs more than reading.
        self.context.warnings.work_on_text(pattern.len().saturating_mul(COMPILE_WORK))?;
        let program = Arc::new(Program::new(pattern, modes)?);
        self.context.warnings.work_on_text(program.work)?;
        let is_constant = self.arguments.get(1).is_some_and(|pattern| pattern.as_literal().is_some());
        if !is_constant || compiled.0.set(Arc::clone(&program)).is_err() {
            self.context.warnings.keep_program(Arc::clone(&program));
        }
        Ok(program)
    }

    fn replaced(
        self,
        mut search: Search<'_>,
        pieces: &[Piece<'_>],
        occurrence: i64,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        let text = search.text;
        let (mut result, mut copied, mut number) = (Vec::new(), 0, 0);
        let has_groups = pieces.iter().any(|piece| matches!(piece, Piece::Group(_)));
        while let Some((start, end)) = search.next()? {
            number += 1;
            if occurrence <= 0 || number == occurrence {
                result.extend_from_slice(&text[copied..start]);
                let groups = if has_groups {
                    search.count(end - start)?;
                    search.program.regex.captures_at(text, start)
                } else {
                    None
                };
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => result.extend_from_slice(text),
                        Piece::Group(number) => {
                            let group = groups.as_ref().and_then(|groups| groups.get(*number));
                            result.extend_from_slice(group.map_or(&[][..], |group| group.as_bytes()));
                        }
                    }
                }
                copied = end;
                if result.len() > crate::context::RESULT_SIZE_MAX {
                    break;
                }
            }
            if number == occurrence {
                break;
            }
        }
        result.extend_from_slice(&text[copied..]);
        if result.len() > crate::context::RESULT_SIZE_MAX {
            self.context.warnings.push(crate::context::ER_WARN_ALLOWED_PACKET_OVERFLOWED, || {
                "Result of regexp_replace() was larger than max_allowed_packet (67108864) - truncated"
                    .to_owned()
            });
            return Ok(Evaluated::NULL);
        }
        self.context.warnings.work_on_text(result.len())?;
        Ok(Evaluated::from_bytes(result))
    }
}

/// Where the character with this number starts, counted from 1; 3686 if there is none.
fn start_of(text: &[u8], position: i64) -> Result<usize, EvaluationError> {
    let index = usize::try_from(position).ok().and_then(|position| position.checked_sub(1));
    match index {
        Some(index) if index == 0 || index <= character_count(text) => Ok(byte_index(text, index)),
        _ => Err(EvaluationError::new(3686, "Index out of bounds in regular expression search.")),
    }
}
