//! Settings that a SPDY server asks its clients to persist for the next session (draft 2, "SETTINGS"; draft 3,
//! section 2.6.4).

use std::collections::BTreeMap;

/// The most settings that are persisted: SPDY defines eight.
const MAX_PERSISTED: usize = 16;

/// Settings by their ids: 5 is the congestion window, for instance, in segments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PersistedSettings(BTreeMap<u32, u32>);

impl PersistedSettings {
    /// Settings from pairs of id and value.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (u32, u32)>) -> PersistedSettings {
        let mut kept = PersistedSettings::default();
        pairs.into_iter().for_each(|(id, value)| kept.persist(id, value));
        kept
    }

    /// Ids and values, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().map(|(id, value)| (*id, *value))
    }

    /// Stores a setting, replacing the one with its id.
    pub(crate) fn persist(&mut self, id: u32, value: u32) {
        if self.0.len() < MAX_PERSISTED || self.0.contains_key(&id) {
            self.0.insert(id, value);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
