//! Functions on strings.

/// How many characters `text` has; a malformed byte counts as one.
pub(crate) fn character_count(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Where character `index` starts, or the text's end.
pub(crate) fn byte_index(text: &[u8], index: usize) -> usize {
    if text.is_ascii() {
        return index.min(text.len());
    }
    text.iter()
        .enumerate()
        .filter(|(_, byte)| **byte & 0xc0 != 0x80)
        .nth(index)
        .map_or(text.len(), |(position, _)| position)
}
