//! Reads a file that callgrind has written: instructions below some functions, and atomic read-modify-writes.
//!
//! The format is that of valgrind's manual ("Callgrind Format Specification"), with positions by instruction address
//! and without compressed positions. A block `fn=` has lines of the function's own cost. A line behind `calls=` has the
//! cost of what was called from there. So the sum of a block is the function's inclusive cost.
//!
//! An instruction is an atomic read-modify-write if its bytes in the program begin with the `lock` prefix, or are an
//! `xchg` with memory, which locks by itself. These addresses are those of the file, as callgrind writes them. Whether
//! other threads use the same cache line is not known here: the count is a bound from above.
//!
//! **Deliberately not here**: recursion of the functions that are summed (their inclusive costs would count twice), and
//! the system's libraries, whose locks are not ours.

use crate::processes::Failure;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The findings in one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Findings {
    /// Inclusive instructions by function, by what its name has behind the prefix.
    pub(super) parts: BTreeMap<String, u64>,
    pub(super) atomics: u64,
}

/// Reads a file. The functions that are summed begin with `prefix`; atomics are those of the object `program`.
pub(super) fn read(text: &str, prefix: &str, program: &str, code: &Code) -> Result<Findings, Failure> {
    let mut findings = Findings { parts: BTreeMap::new(), atomics: 0 };
    let (mut functions, mut objects) = (BTreeMap::new(), BTreeMap::new());
    let mut part: Option<String> = None;
    let mut is_program = false;
    let mut is_call = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            let rest = named(name, &mut functions)?.strip_prefix(prefix);
            part = rest.map(|rest| rest.split(':').next().unwrap_or(rest).to_owned());
        } else if let Some(name) = line.strip_prefix("cfn=") {
            named(name, &mut functions)?;
        } else if let Some(name) = line.strip_prefix("ob=") {
            is_program = named(name, &mut objects)? == program;
        } else if let Some(name) = line.strip_prefix("cob=") {
            named(name, &mut objects)?;
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if let Some((address, cost)) = cost_of(line) {
            if let Some(part) = &part {
                *findings.parts.entry(part.clone()).or_default() += cost;
            }
            if is_program && !is_call && code.is_atomic(address) {
                findings.atomics += cost;
            }
            is_call = false;
        }
    }
    Ok(findings)
}

/// `(7) name`, or `(7)` for a name that was said before.
fn named<'names>(text: &str, names: &'names mut BTreeMap<u32, String>) -> Result<&'names str, Failure> {
    let unknown = || Failure::new(format!("an unknown name: {text:?}"));
    let (number, name) = text.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(unknown)?;
    let number = number.parse().map_err(|_| unknown())?;
    if let Some(name) = name.strip_prefix(' ') {
        names.insert(number, name.to_owned());
    }
    names.get(&number).map(String::as_str).ok_or_else(unknown)
}

/// `0xADDRESS COST`.
fn cost_of(line: &str) -> Option<(u64, u64)> {
    let (address, cost) = line.strip_prefix("0x")?.split_once(' ')?;
    Some((u64::from_str_radix(address, 16).ok()?, cost.trim().parse().ok()?))
}

/// The machine code of a program: its bytes by address.
pub(super) struct Code {
    bytes: Vec<u8>,
    segments: Vec<Segment>,
}

/// A part of the file that is loaded.
struct Segment {
    address: u64,
    offset: u64,
    size: u64,
}

impl Code {
    /// Reads an ELF file of 64 bits, little-endian.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = fs::read(path).map_err(Failure::while_doing(path.display()))?;
        Self::parse(bytes)
            .ok_or_else(|| Failure::new(format!("{} is no ELF file of 64 bits", path.display())))
    }

    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        const LOAD: u64 = 1;
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let first = number(&bytes, 32, 8)?;
        let (size, count) = (number(&bytes, 54, 2)?, number(&bytes, 56, 2)?);
        let mut segments = Vec::new();
        for header in (0..count).map(|index| first + index * size) {
            if number(&bytes, header, 4)? == LOAD {
                let field = |at: u64| number(&bytes, header + at, 8);
                segments.push(Segment { offset: field(8)?, address: field(16)?, size: field(32)? });
            }
        }
        Some(Self { bytes, segments })
    }

    fn at(&self, address: u64) -> Option<&[u8]> {
        let holds =
            |segment: &&Segment| address.checked_sub(segment.address).is_some_and(|at| at < segment.size);
        let segment = self.segments.iter().find(holds)?;
        self.bytes.get(usize::try_from(address - segment.address + segment.offset).ok()?..)
    }

    /// Whether the instruction at this address reads, modifies and writes memory in one.
    pub(super) fn is_atomic(&self, address: u64) -> bool {
        const LOCK: u8 = 0xf0;
        const OPERAND_SIZE: u8 = 0x66;
        let Some(mut code) = self.at(address) else { return false };
        if let [OPERAND_SIZE, rest @ ..] = code {
            code = rest;
        }
        if let [0x40..=0x4f, rest @ ..] = code {
            code = rest;
        }
        match code {
            [LOCK, ..] => true,
            // With a register at both ends it is no access to memory.
            [0x86 | 0x87, operands, ..] => *operands < 0xc0,
            _ => false,
        }
    }
}

fn number(bytes: &[u8], at: u64, size: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}
