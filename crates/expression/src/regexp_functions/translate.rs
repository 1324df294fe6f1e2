//! ICU's syntax of regular expressions in that of crate `regex`.
//!
//! One pass from left to right, without recursion. Syntax that both share is copied, and syntax with another meaning is
//! written otherwise. `regex` never tracks back. So look-around, back-references, atomic groups and possessive
//! quantifiers are refused by name. Errors in a pattern are found here, so that they have MySQL's numbers.
//!
//! Deliberately not here: `\X`, `\G`, `\N{name}`, the `w` flag, and set difference written with one hyphen.

use crate::context::{ER_NOT_SUPPORTED_YET, EvaluationError};

/// A repetition count that ICU takes at most.
const COUNT_MAX: u32 = 0x00ff_ffff;
/// Groups within one another; `regex` has a limit of its own far above.
const GROUPS_MAX: usize = 100;
/// Line ends, inside of a bracket expression.
const LINE_ENDS: &str = r"\n\r\x0b\x0c\x{85}\x{2028}\x{2029}";

/// Modes of a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Modes {
    /// Case does not matter.
    pub(super) ignores_case: bool,
    /// `m`: `^` and `$` match at line ends.
    pub(super) multi_line: bool,
    /// `n`: `.` matches line ends.
    pub(super) dot_all: bool,
    /// `u`: only `\n` ends a line.
    pub(super) unix_lines: bool,
    /// `$` may leave a line end behind it: where the match ends is of no interest.
    pub(super) only_asks: bool,
}

/// A pattern in `regex`'s syntax.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// Characters and classes with their repetitions: how much a byte of text may cost.
    pub(super) weight: usize,
}

fn error(code: u16, message: &str) -> EvaluationError {
    EvaluationError::new(code, message)
}

fn unsupported(what: &str) -> EvaluationError {
    let message = format!("This version of LatsDB doesn't yet support '{what} in regular expressions'");
    EvaluationError::new(ER_NOT_SUPPORTED_YET, message)
}

fn bad_escape() -> EvaluationError {
    error(3689, "Unrecognized escape sequence in regular expression.")
}

fn mismatched() -> EvaluationError {
    error(3691, "Mismatched parenthesis in regular expression.")
}

fn bad_interval() -> EvaluationError {
    error(3692, "Incorrect description of a {min,max} interval.")
}

fn unclosed() -> EvaluationError {
    error(3696, "The regular expression contains an unclosed bracket expression.")
}

/// Something is wrong near this character, counted from 0.
pub(super) fn syntax(at: usize) -> EvaluationError {
    let message = format!("Syntax error in regular expression on line 1, character {}.", at + 1);
    EvaluationError::new(3688, message)
}

/// Translates a pattern.
pub(super) fn translate(pattern: &str, modes: Modes) -> Result<Translated, EvaluationError> {
    if pattern.is_empty() {
        return Err(error(3685, "Illegal argument to a regular expression."));
    }
    let mut pass = Pass {
        characters: pattern.chars().collect(),
        at: 0,
        out: String::with_capacity(pattern.len() + 16),
        modes,
        weights: vec![0],
        item: None,
    };
    pass.run()?;
    let weight = pass.weights.first().copied().unwrap_or(0).saturating_add(pass.item.unwrap_or(0));
    Ok(Translated { pattern: pass.out, weight })
}

struct Pass {
    characters: Vec<char>,
    at: usize,
    out: String,
    modes: Modes,
    /// The weight of what is done in each open group.
    weights: Vec<usize>,
    /// The weight of what a quantifier would repeat.
    item: Option<usize>,
}

impl Pass {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek();
        self.at += usize::from(character.is_some());
        character
    }

    fn takes(&mut self, text: &str) -> bool {
        let matches = text
            .chars()
            .enumerate()
            .all(|(offset, wanted)| self.characters.get(self.at + offset) == Some(&wanted));
        if matches {
            self.at += text.chars().count();
        }
        matches
    }

    /// The last item is done; an item of this weight follows.
    fn item(&mut self, weight: Option<usize>) {
        let done = std::mem::replace(&mut self.item, weight).unwrap_or(0);
        if let Some(group) = self.weights.last_mut() {
            *group = group.saturating_add(done);
        }
    }

    fn run(&mut self) -> Result<(), EvaluationError> {
        while let Some(character) = self.next() {
            match character {
                '\\' => self.escape()?,
                '[' => {
                    self.item(Some(1));
                    self.bracket()?;
                }
                '(' => self.open()?,
                ')' => {
                    self.item(None);
                    if self.weights.len() == 1 {
                        return Err(mismatched());
                    }
                    self.item = self.weights.pop();
                    self.out.push(')');
                }
                '*' | '+' | '?' | '{' => self.quantifier(character)?,
                '|' => {
                    self.item(None);
                    self.out.push('|');
                }
                '^' => {
                    self.item(Some(0));
                    self.out.push('^');
                }
                '$' => {
                    self.item(Some(0));
                    self.end();
                }
                '.' => {
                    self.item(Some(1));
                    self.dot();
                }
                other => {
                    self.item(Some(1));
                    self.out.push(other);
                }
            }
        }
        if self.weights.len() == 1 { Ok(()) } else { Err(mismatched()) }
    }

    /// `$`, `\Z`.
    fn end(&mut self) {
        if self.modes.multi_line {
            self.out.push('$');
        } else if !self.modes.only_asks {
            self.out.push_str(r"\z");
        } else if self.modes.unix_lines {
            self.out.push_str(r"(?:\n?\z)");
        } else {
            self.out.push_str(r"(?:(?:\r\n|[");
            self.out.push_str(LINE_ENDS);
            self.out.push_str(r"])?\z)");
        }
    }

    fn dot(&mut self) {
        if self.modes.dot_all {
            self.out.push_str("(?s:.)");
        } else if self.modes.unix_lines {
            self.out.push_str(r"[^\n]");
        } else {
            self.out.push_str("[^");
            self.out.push_str(LINE_ENDS);
            self.out.push(']');
        }
    }

    /// Behind `(`.
    fn open(&mut self) -> Result<(), EvaluationError> {
        if self.takes("?#") {
            while let Some(character) = self.next() {
                if character == ')' {
                    return Ok(());
                }
            }
            return Err(mismatched());
        }
        for (start, what) in [
            ("?<=", "look-behind"),
            ("?<!", "look-behind"),
            ("?=", "look-ahead"),
            ("?!", "look-ahead"),
            ("?>", "atomic groups"),
        ] {
            if self.takes(start) {
                return Err(unsupported(what));
            }
        }
        self.item(None);
        self.out.push('(');
        if self.takes("?<") {
            self.out.push_str("?<");
            return self.group();
        }
        if !self.takes("?") {
            return self.group();
        }
        self.out.push('?');
        while let Some(character) = self.next() {
            match character {
                'i' | 'm' | 's' | 'x' | '-' => self.out.push(character),
                ':' => {
                    self.out.push(':');
                    return self.group();
                }
                ')' => {
                    // Flags for the rest of the group.
                    self.out.push(')');
                    return Ok(());
                }
                'w' => return Err(unsupported("the flag w")),
                _ => return Err(syntax(self.at - 1)),
            }
        }
        Err(mismatched())
    }

    fn group(&mut self) -> Result<(), EvaluationError> {
        self.weights.push(0);
        if self.weights.len() > GROUPS_MAX {
            return Err(too_big());
        }
        Ok(())
    }

    fn quantifier(&mut self, first: char) -> Result<(), EvaluationError> {
        let Some(weight) = self.item.take() else { return Err(syntax(self.at - 1)) };
        let count = if first == '{' {
            self.interval()?
        } else {
            self.out.push(first);
            1
        };
        if self.takes("+") {
            return Err(unsupported("possessive quantifiers"));
        }
        if self.takes("?") {
            self.out.push('?');
        }
        if matches!(self.peek(), Some('*' | '+' | '?' | '{')) {
            return Err(syntax(self.at));
        }
        let repeated = weight.saturating_mul(usize::try_from(count.max(1)).unwrap_or(usize::MAX));
        if let Some(group) = self.weights.last_mut() {
            *group = group.saturating_add(repeated);
        }
        Ok(())
    }

    /// Behind `{`: how often at most, or at least.
    fn interval(&mut self) -> Result<u32, EvaluationError> {
        let least = self.number()?.ok_or_else(bad_interval)?;
        let is_open = self.takes(",");
        let most = if is_open { self.number()? } else { None };
        if !self.takes("}") {
            return Err(bad_interval());
        }
        if most.is_some_and(|most| most < least) {
            return Err(error(3693, "The maximum is less than the minumum in a {min,max} interval."));
        }
        let text = match (is_open, most) {
            (false, _) => format!("{{{least}}}"),
            (true, None) => format!("{{{least},}}"),
            (true, Some(most)) => format!("{{{least},{most}}}"),
        };
        self.out.push_str(&text);
        Ok(most.unwrap_or(least))
    }

    fn number(&mut self) -> Result<Option<u32>, EvaluationError> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|character| character.to_digit(10)) {
            let value = number.unwrap_or(0_u32).saturating_mul(10).saturating_add(digit);
            if value > COUNT_MAX {
                return Err(bad_interval());
            }
            number = Some(value);
            self.at += 1;
        }
        Ok(number)
    }

    /// Behind a backslash outside of brackets.
    fn escape(&mut self) -> Result<(), EvaluationError> {
        let Some(character) = self.next() else { return Err(bad_escape()) };
        let is_place = matches!(character, 'A' | 'b' | 'B' | 'z' | 'Z');
        self.item(Some(usize::from(!is_place)));
        match character {
            'A' | 'b' | 'B' | 'z' => {
                self.out.push('\\');
                self.out.push(character);
            }
            'Z' => {
                let multi_line = std::mem::replace(&mut self.modes.multi_line, false);
                self.end();
                self.modes.multi_line = multi_line;
            }
            'R' => {
                self.out.push_str(r"(?:\r\n|[");
                self.out.push_str(LINE_ENDS);
                self.out.push_str("])");
            }
            'Q' => self.quoted(),
            '1'..='9' | 'k' => return Err(unsupported("back-references")),
            'X' | 'G' | 'N' => return Err(unsupported(&format!("\\{character}"))),
            _ => self.class_escape(character)?,
        }
        Ok(())
    }

    /// `\Q`: what follows stands for itself, up to `\E`.
    fn quoted(&mut self) {
        while self.at < self.characters.len() && !self.takes(r"\E") {
            if let Some(character) = self.next() {
                self.item(Some(1));
                self.literal(character);
            }
        }
    }

    fn literal(&mut self, character: char) {
        if character.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    /// An escape that stands for a character or a class of them, inside of brackets or not.
    fn class_escape(&mut self, character: char) -> Result<(), EvaluationError> {
        let plain = match character {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'n' | 'r' | 't' | 'f' | 'a' => {
                self.out.push('\\');
                self.out.push(character);
                return Ok(());
            }
            'p' | 'P' => return self.property(character),
            'h' => r"[\t\p{Zs}]",
            'H' => r"[^\t\p{Zs}]",
            'v' => r"[\n\r\x0b\x0c\x{85}\x{2028}\x{2029}]",
            'V' => r"[^\n\r\x0b\x0c\x{85}\x{2028}\x{2029}]",
            'e' => r"\x1b",
            'x' if self.takes("{") => return self.hexadecimal(1, 6, true),
            'x' => return self.hexadecimal(1, 2, false),
            'u' => return self.hexadecimal(4, 4, false),
            'U' => return self.hexadecimal(8, 8, false),
            '0' => {
                let mut code = 0;
                for _ in 0..3 {
                    let Some(digit) = self.peek().and_then(|digit| digit.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    self.at += 1;
                }
                return self.code(code);
            }
            'c' => {
                let control = self.next().ok_or_else(bad_escape)?;
                return self.code(u32::from(control) & 0x1f);
            }
            other if other.is_ascii_alphanumeric() => return Err(bad_escape()),
            other => {
                self.literal(other);
                return Ok(());
            }
        };
        self.out.push_str(plain);
        Ok(())
    }

    fn hexadecimal(&mut self, least: usize, most: usize, is_braced: bool) -> Result<(), EvaluationError> {
        let (mut code, mut count) = (0_u32, 0);
        while let Some(digit) = self.peek().and_then(|digit| digit.to_digit(16)).filter(|_| count < most) {
            code = code << 4 | digit;
            count += 1;
            self.at += 1;
        }
        if count < least || (is_braced && !self.takes("}")) {
            return Err(bad_escape());
        }
        self.code(code)
    }

    fn code(&mut self, code: u32) -> Result<(), EvaluationError> {
        if char::from_u32(code).is_none() {
            return Err(bad_escape());
        }
        self.out.push_str(&format!(r"\x{{{code:x}}}"));
        Ok(())
    }

    /// `\p{name}`.
    fn property(&mut self, letter: char) -> Result<(), EvaluationError> {
        let mut name = String::new();
        if self.takes("{") {
            loop {
                match self.next().ok_or_else(bad_escape)? {
                    '}' => break,
                    character => name.push(character),
                }
            }
        } else {
            name.push(self.next().ok_or_else(bad_escape)?);
        }
        self.out.push_str(&format!("\\{letter}{{{name}}}"));
        Ok(())
    }

    /// Behind `[`: sets may contain sets.
    fn bracket(&mut self) -> Result<(), EvaluationError> {
        self.out.push('[');
        let mut depth = 1;
        let mut is_first = true;
        if self.takes("^") {
            self.out.push('^');
        }
        // The start of a range that may follow.
        let mut previous: Option<char> = None;
        while depth > 0 {
            let character = self.next().ok_or_else(unclosed)?;
            let was_first = std::mem::replace(&mut is_first, false);
            match character {
                ']' if was_first => {
                    self.out.push_str(r"\]");
                    previous = Some(']');
                }
                ']' => {
                    depth -= 1;
                    self.out.push(']');
                    previous = None;
                }
                '[' if self.peek() == Some(':') => {
                    self.posix_class()?;
                    previous = None;
                }
                '[' => {
                    depth += 1;
                    if depth > GROUPS_MAX {
                        return Err(too_big());
                    }
                    self.out.push('[');
                    if self.takes("^") {
                        self.out.push('^');
                    }
                    is_first = true;
                    previous = None;
                }
                '\\' => {
                    let escaped = self.next().ok_or_else(bad_escape)?;
                    if escaped == 'b' || escaped == 'B' {
                        return Err(bad_escape());
                    }
                    self.class_escape(escaped)?;
                    previous = (!escaped.is_ascii_alphanumeric()).then_some(escaped);
                }
                '-' => {
                    let end = self.peek().filter(|end| !matches!(end, ']' | '[' | '\\' | '-'));
                    if let (Some(start), Some(end)) = (previous, end)
                        && start > end
                    {
                        let message =
                            "The regular expression contains an [x-y] character range where x comes after y.";
                        return Err(error(3697, message));
                    }
                    self.out.push('-');
                    previous = None;
                }
                '&' => {
                    self.out.push('&');
                    previous = None;
                }
                other => {
                    self.set_literal(other);
                    previous = Some(other);
                }
            }
        }
        Ok(())
    }

    /// A character of a set that `regex` might take for an operator.
    fn set_literal(&mut self, character: char) {
        if matches!(character, '~' | '^') {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    /// Behind `[` in a set: `:alpha:]`.
    fn posix_class(&mut self) -> Result<(), EvaluationError> {
        const CLASSES: [(&str, &str, &str); 13] = [
            ("alpha", r"\p{Alphabetic}", r"\P{Alphabetic}"),
            ("digit", r"\p{Nd}", r"\P{Nd}"),
            ("alnum", r"[\p{Alphabetic}\p{Nd}]", r"[^\p{Alphabetic}\p{Nd}]"),
            ("upper", r"\p{Uppercase}", r"\P{Uppercase}"),
            ("lower", r"\p{Lowercase}", r"\P{Lowercase}"),
            ("punct", r"\p{P}", r"\P{P}"),
            ("space", r"\s", r"\S"),
            ("blank", r"[\t\p{Zs}]", r"[^\t\p{Zs}]"),
            ("cntrl", r"\p{Cc}", r"\P{Cc}"),
            ("xdigit", r"[0-9A-Fa-f]", r"[^0-9A-Fa-f]"),
            ("graph", r"[^\s\p{Cc}\p{Cn}]", r"[\s\p{Cc}\p{Cn}]"),
            ("print", r"[^\p{Cc}\p{Cn}]", r"[\p{Cc}\p{Cn}]"),
            ("word", r"\w", r"\W"),
        ];
        for (name, class, complement) in CLASSES {
            if self.takes(&format!(":{name}:]")) {
                self.out.push_str(class);
                return Ok(());
            }
            if self.takes(&format!(":^{name}:]")) {
                self.out.push_str(complement);
                return Ok(());
            }
        }
        Err(error(3685, "Illegal argument to a regular expression."))
    }
}

/// 3700.
pub(super) fn too_big() -> EvaluationError {
    error(3700, "The regular expression pattern exceeds limits on size or complexity.")
}
