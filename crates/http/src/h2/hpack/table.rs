//! The static and the dynamic table as one list (RFC 7541, section 2.3).

use super::tables::STATIC;
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::LazyLock;

/// The overhead of an entry, in addition to its text (RFC 7541, section 4.1).
const ENTRY_BYTES: usize = 32;

/// A name and a value.
pub(super) type TableField = (Bytes, Bytes);

/// Where the static fields of each name stand, in the order of the names. Those of one name follow one another.
static STATIC_NAMES: LazyLock<Vec<(&[u8], Range<usize>)>> = LazyLock::new(|| {
    let mut names: Vec<(&[u8], Range<usize>)> = Vec::new();
    for (at, (name, _)) in STATIC.iter().enumerate() {
        match names.last_mut() {
            Some((last, places)) if *last == name.as_bytes() => places.end = at + 1,
            _ => names.push((name.as_bytes(), at..at + 1)),
        }
    }
    names.sort_unstable_by_key(|(name, _)| *name);
    names
});

/// The fields that have a number: the static ones, then the dynamic ones, newest first.
#[derive(Debug)]
pub(super) struct Table {
    dynamic: VecDeque<TableField>,
    bytes: usize,
    max_bytes: usize,
}

impl Table {
    pub(super) fn new(max_bytes: usize) -> Table {
        Table { dynamic: VecDeque::new(), bytes: 0, max_bytes }
    }

    /// The field of this number, which counts from 1.
    pub(super) fn get(&self, index: usize) -> Option<TableField> {
        let index = index.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(index) {
            return Some((Bytes::from_static(name.as_bytes()), Bytes::from_static(value.as_bytes())));
        }
        self.dynamic.get(index - STATIC.len()).cloned()
    }

    /// The number of this field, or of one of this name: `(number, whether the value is the same)`.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> Option<(usize, Match)> {
        // What is static is never added, so it makes no difference where a field is looked for first: here most are. Most others
        // have other lengths, so most of the text is not looked at.
        let is_it = |(its_name, its_value): &TableField| {
            its_value.len() == value.len() && its_name.len() == name.len() && its_value == value && its_name == name
        };
        if let Some(at) = self.dynamic.iter().position(is_it) {
            return Some((STATIC.len() + at + 1, Match::Field));
        }
        if let Ok(known) = STATIC_NAMES.binary_search_by_key(&name, |(known, _)| *known) {
            let mut places = STATIC_NAMES[known].1.clone();
            let first = places.start;
            return Some(match places.find(|at| STATIC[*at].1.as_bytes() == value) {
                Some(at) => (at + 1, Match::Field),
                None => (first + 1, Match::Name),
            });
        }
        let at = self.dynamic.iter().position(|(its_name, _)| its_name == name)?;
        Some((STATIC.len() + at + 1, Match::Name))
    }

    /// Adds a field, which becomes the newest; the oldest leave until it fits. One that is larger
    /// than the table empties it (RFC 7541, section 4.4).
    pub(super) fn add(&mut self, field: TableField) {
        let bytes = field.0.len() + field.1.len() + ENTRY_BYTES;
        self.evict_until(self.max_bytes.saturating_sub(bytes));
        if bytes <= self.max_bytes {
            self.bytes += bytes;
            self.dynamic.push_front(field);
        }
    }

    /// The size that it may have.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Changes the size (RFC 7541, section 4.3).
    pub(super) fn resize(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
        self.evict_until(max_bytes);
    }

    fn evict_until(&mut self, bytes: usize) {
        while self.bytes > bytes
            && let Some((name, value)) = self.dynamic.pop_back()
        {
            self.bytes -= name.len() + value.len() + ENTRY_BYTES;
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What of a field was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Match {
    Name,
    Field,
}
