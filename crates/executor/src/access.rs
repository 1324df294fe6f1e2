//! Key templates and range templates become key bytes, once per execution.
//!
//! A value is brought into its column's type first. A value that does not fit equals no row. As a bound it moves to the
//! nearest value and becomes inclusive or exclusive, so that the same rows are between the bounds. Ranges come out
//! ascending and disjoint.
//!
//! Invariant: the rows within the ranges are exactly those for which the templates' conditions are true, whatever the
//! parameters are.
#![expect(clippy::wildcard_enum_match_arm, reason = "few kinds of values are keys as they are")]

mod fitted;
#[cfg(test)]
mod tests;

use crate::cx::{Cx, warnings_of};
use crate::outcome::Failure;
use expression::{Context, Expression, NoColumns};
use planner::plan::{Inclusive, KeyTemplate, RangeTemplate};
use protocol::program::KeyRange;
use query::TableAccessInfo;
use std::cmp::Ordering;
use std::ops::Bound;
use types::{
    ColumnDefinition, IntegerWidth, KeyEncoder, KeyPart, SqlType, TableDefinition, Value, ValueRef,
    successor_of_prefix,
};

pub(crate) use fitted::to_utc;
pub use fitted::{Fitted, fit};

/// Bytes of the room for a key that is kept.
const KEY_BYTES_KEPT: usize = 4 << 10;

/// Evaluates keys; those that can match nothing (NULL, values that do not fit) are omitted, duplicates too.
pub(crate) fn evaluate_keys(
    templates: &[KeyTemplate],
    table: &TableDefinition,
    parts: &[KeyPart],
    encoder: &KeyEncoder,
    cx: &mut Cx<'_>,
) -> Result<Vec<Box<[u8]>>, Failure> {
    let statement = cx.statement;
    let context = statement.context();
    let mut keys: Vec<Box<[u8]>> = Vec::with_capacity(templates.len());
    let key = &mut cx.env.site.key;
    let made = templates.iter().try_for_each(|template| {
        key.clear();
        if append_key(template, table, parts, encoder, &context, key)? {
            keys.push(key.as_slice().into());
        }
        Ok::<_, Failure>(())
    });
    key.clear();
    key.shrink_to(KEY_BYTES_KEPT);
    made?;
    if keys.len() > 1 {
        keys.sort_unstable();
        keys.dedup();
    }
    let warnings = warnings_of(&context);
    cx.keep_warnings(warnings);
    Ok(keys)
}

/// Appends one key; false if no row can have it.
#[inline]
pub fn append_key(
    template: &KeyTemplate,
    table: &TableDefinition,
    parts: &[KeyPart],
    encoder: &KeyEncoder,
    context: &Context<'_>,
    key: &mut Vec<u8>,
) -> Result<bool, Failure> {
    let start = key.len();
    for (position, (expression, part)) in template.iter().zip(parts).enumerate() {
        let column = table.column_at(part.column);
        let value = expression.evaluate_ref(&NoColumns, context)?;
        let is_possible = match (value.as_ref(), &column.sql_type) {
            (ValueRef::Null, _) => false,
            (number @ (ValueRef::Int(_) | ValueRef::UInt(_)), SqlType::Integer { width, unsigned }) => {
                let number = integer_of_column(number, *width, *unsigned);
                number.map(|number| encoder.encode_part(position, number, key)).is_some()
            }
            (text @ ValueRef::Bytes(_), column_type) if column_type.is_string() => {
                encoder.encode_part(position, text, key);
                true
            }
            _ => {
                let from = &expression.sql_type;
                let fitted = fit(value.into_value(), from, column, context.time_zone_offset_seconds);
                let fits = fitted.order == Ordering::Equal;
                if fits {
                    encoder.encode_part(position, fitted.value.as_ref(), key);
                }
                fits
            }
        };
        if !is_possible {
            key.truncate(start);
            return Ok(false);
        }
    }
    Ok(true)
}

/// An integer as a column of this type holds it, if it can.
#[inline]
fn integer_of_column(number: ValueRef<'_>, width: IntegerWidth, unsigned: bool) -> Option<ValueRef<'static>> {
    let bits = 8 * u32::from(width.bytes());
    if unsigned {
        let number = match number {
            ValueRef::Int(number) => u64::try_from(number).ok()?,
            ValueRef::UInt(number) => number,
            _ => return None,
        };
        return (number.unbounded_shr(bits) == 0).then_some(ValueRef::UInt(number));
    }
    let number = match number {
        ValueRef::Int(number) => number,
        ValueRef::UInt(number) => i64::try_from(number).ok()?,
        _ => return None,
    };
    (number << (64 - bits) >> (64 - bits) == number).then_some(ValueRef::Int(number))
}

/// Evaluates the ranges of an index.
pub(crate) fn evaluate_ranges(
    templates: &[RangeTemplate],
    info: &TableAccessInfo,
    index: types::IndexId,
    cx: &mut Cx<'_>,
) -> Result<Vec<KeyRange>, Failure> {
    let context = cx.statement.context();
    let ranges = ranges_of(templates, info, index, &context)?;
    let warnings = warnings_of(&context);
    cx.keep_warnings(warnings);
    Ok(ranges)
}

/// The same in a context.
pub fn ranges_of(
    templates: &[RangeTemplate],
    info: &TableAccessInfo,
    index: types::IndexId,
    context: &Context<'_>,
) -> Result<Vec<KeyRange>, Failure> {
    let definition = info.definition.index(index).ok_or(Failure::WrongSchema)?;
    let encoder = info.index(index).ok_or(Failure::WrongSchema)?;
    let mut ranges = Vec::with_capacity(templates.len());
    let mut prefix = Vec::new();
    for template in templates {
        prefix.clear();
        append_ranges(
            template,
            &info.definition,
            &definition.parts,
            encoder,
            context,
            &mut prefix,
            &mut ranges,
        )?;
    }
    Ok(merged(ranges))
}

/// The bounds of the next column in its own order.
struct ColumnBounds {
    lower: Option<(Value, Inclusive)>,
    upper: Option<(Value, Inclusive)>,
}

/// The ranges of one template; `prefix` is empty, and is used for the key of the columns that are equal.
pub(crate) fn append_ranges(
    template: &RangeTemplate,
    table: &TableDefinition,
    parts: &[KeyPart],
    encoder: &KeyEncoder,
    context: &Context<'_>,
    prefix: &mut Vec<u8>,
    ranges: &mut Vec<KeyRange>,
) -> Result<(), Failure> {
    for (position, (expression, part)) in template.equal.iter().zip(parts).enumerate() {
        let value = expression.evaluate(&NoColumns, context)?;
        if value.is_null() {
            return Ok(());
        }
        let fitted =
            fit(value, &expression.sql_type, table.column_at(part.column), context.time_zone_offset_seconds);
        if fitted.order != Ordering::Equal {
            return Ok(());
        }
        encoder.encode_part(position, fitted.value.as_ref(), prefix);
    }
    let next = template.equal.len();
    let is_bounded = template.lower.is_some() || template.upper.is_some();
    let Some(part) = parts.get(next).filter(|_| is_bounded || template.with_null) else {
        ranges.push(prefix_range(prefix));
        return Ok(());
    };
    let column = table.column_at(part.column);
    // The key of the columns before, and this value of the next one.
    let key_of = |value: ValueRef<'_>| {
        let mut key = prefix.clone();
        encoder.encode_part(next, value, &mut key);
        key
    };
    if template.with_null && column.flags.nullable {
        ranges.push(prefix_range(&key_of(ValueRef::Null)));
    }
    if !is_bounded {
        return Ok(());
    }
    let Some(bounds) = column_bounds(template, column, context)? else { return Ok(()) };
    ranges.push(bounded_range(&bounds, *part, column, prefix, key_of));
    Ok(())
}

/// All keys that start with `prefix`.
fn prefix_range(prefix: &[u8]) -> KeyRange {
    if prefix.is_empty() {
        return KeyRange::all();
    }
    let upper = successor_of_prefix(prefix).map_or(Bound::Unbounded, |key| Bound::Excluded(key.into()));
    KeyRange { lower: Bound::Included(prefix.into()), upper }
}

/// The bounds as values of the column; None if no value is between them because one is NULL.
fn column_bounds(
    template: &RangeTemplate,
    column: &ColumnDefinition,
    context: &Context<'_>,
) -> Result<Option<ColumnBounds>, Failure> {
    let evaluate =
        |bound: &Option<(Expression, Inclusive)>| -> Result<Option<Option<(Fitted, Inclusive)>>, Failure> {
            let Some((expression, inclusive)) = bound else { return Ok(Some(None)) };
            let value = expression.evaluate(&NoColumns, context)?;
            if value.is_null() {
                return Ok(None);
            }
            let fitted = fit(value, &expression.sql_type, column, context.time_zone_offset_seconds);
            Ok(Some(Some((fitted, *inclusive))))
        };
    let (Some(lower), Some(upper)) = (evaluate(&template.lower)?, evaluate(&template.upper)?) else {
        return Ok(None);
    };
    // `column > 1.5` is `column >= 2`, `column > 2^40` of an INT is `column > 2147483647`: nothing.
    let moved = |(fitted, inclusive): (Fitted, Inclusive), included_if: Ordering| {
        let inclusive = match fitted.order {
            Ordering::Equal => inclusive,
            order if order == included_if => Inclusive::Yes,
            _ => Inclusive::No,
        };
        (fitted.value, inclusive)
    };
    Ok(Some(ColumnBounds {
        lower: lower.map(|bound| moved(bound, Ordering::Greater)),
        upper: upper.map(|bound| moved(bound, Ordering::Less)),
    }))
}

/// The keys whose next column is between the bounds, without NULL.
fn bounded_range(
    bounds: &ColumnBounds,
    part: KeyPart,
    column: &ColumnDefinition,
    prefix: &[u8],
    key_of: impl Fn(ValueRef<'_>) -> Vec<u8>,
) -> KeyRange {
    let behind = |key: Vec<u8>| successor_of_prefix(&key);
    // Prefix parts (`KEY (name(10))`) hold cut values: what is strictly outside a bound may share its cut form.
    let is_cut = part.prefix_length.is_some();
    let exclusive = |inclusive: Inclusive| inclusive == Inclusive::No && !is_cut;
    // In the order of the key, the first bound is the column's lower one, or its upper one if the part descends.
    let (first, last) =
        if part.descending { (&bounds.upper, &bounds.lower) } else { (&bounds.lower, &bounds.upper) };
    let null_key = column.flags.nullable.then(|| key_of(ValueRef::Null));
    let lower = match first {
        Some((value, inclusive)) if exclusive(*inclusive) => {
            behind(key_of(value.as_ref())).map_or_else(nothing_below, |key| Bound::Included(key.into()))
        }
        Some((value, _)) => Bound::Included(key_of(value.as_ref()).into()),
        None => match &null_key {
            Some(null_key) if !part.descending => {
                behind(null_key.clone()).map_or(Bound::Unbounded, |key| Bound::Included(key.into()))
            }
            _ if prefix.is_empty() => Bound::Unbounded,
            _ => Bound::Included(prefix.into()),
        },
    };
    let upper = match last {
        Some((value, inclusive)) if exclusive(*inclusive) => Bound::Excluded(key_of(value.as_ref()).into()),
        Some((value, _)) => {
            behind(key_of(value.as_ref())).map_or(Bound::Unbounded, |key| Bound::Excluded(key.into()))
        }
        None => match &null_key {
            Some(null_key) if part.descending => Bound::Excluded(null_key.clone().into()),
            _ if prefix.is_empty() => Bound::Unbounded,
            _ => successor_of_prefix(prefix).map_or(Bound::Unbounded, |key| Bound::Excluded(key.into())),
        },
    };
    KeyRange { lower, upper }
}

/// A lower bound that no key reaches: keys are shorter than this and never 0xff throughout.
fn nothing_below() -> Bound<Box<[u8]>> {
    Bound::Excluded(vec![0xff; 4096].into())
}

/// Where a lower bound stands among lower bounds.
fn lower_rank(bound: &Bound<Box<[u8]>>) -> Option<(&[u8], u8)> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key, 0)),
        Bound::Excluded(key) => Some((key, 1)),
    }
}

/// Where an upper bound stands among upper bounds.
fn upper_rank(bound: &Bound<Box<[u8]>>) -> (u8, &[u8], u8) {
    match bound {
        Bound::Unbounded => (1, &[], 0),
        Bound::Included(key) => (0, key, 1),
        Bound::Excluded(key) => (0, key, 0),
    }
}

/// True if a range with this upper bound ends before one with that lower bound begins.
fn ends_before(upper: &Bound<Box<[u8]>>, lower: &Bound<Box<[u8]>>) -> bool {
    match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(upper), Bound::Included(lower)) => upper < lower,
        (Bound::Included(upper), Bound::Excluded(lower)) => upper < lower,
        (Bound::Excluded(upper), Bound::Included(lower) | Bound::Excluded(lower)) => upper < lower,
    }
}

fn is_empty(range: &KeyRange) -> bool {
    match (&range.lower, &range.upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (
            Bound::Included(lower) | Bound::Excluded(lower),
            Bound::Included(upper) | Bound::Excluded(upper),
        ) => lower >= upper,
    }
}

/// Ascending and disjoint: overlapping ranges become one.
pub fn merged(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| !is_empty(range));
    ranges.sort_unstable_by(|left, right| lower_rank(&left.lower).cmp(&lower_rank(&right.lower)));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if !ends_before(&last.upper, &range.lower) => {
                if upper_rank(&range.upper) > upper_rank(&last.upper) {
                    last.upper = range.upper;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// The ranges of all index entries with these whole keys.
pub(crate) fn key_ranges(keys: Vec<Box<[u8]>>) -> Vec<KeyRange> {
    merged(keys.iter().map(|key| prefix_range(key)).collect())
}
