//! What of one load is what of another.

use std::collections::BTreeMap;

/// The partners of what the base has (objects, or nodes) in another load.
pub(super) struct Partners {
    /// By the place in the base: the place in the other load.
    pub(super) of_base: Vec<Option<usize>>,
    /// By the place in the other load: the place in the base.
    pub(super) of_other: Vec<Option<usize>>,
    /// Of the base: whether both loads had equally many of what could have been its partner.
    pub(super) is_sure: Vec<bool>,
}

impl Partners {
    /// Nothing has a partner yet.
    pub(super) fn new(base: usize, other: usize) -> Partners {
        Partners { of_base: vec![None; base], of_other: vec![None; other], is_sure: vec![false; base] }
    }

    /// Partners what has no partner and has the same key in both loads: the first with the first, and so on.
    pub(super) fn pair(&mut self, base: &[String], other: &[String]) {
        let theirs = without_partner(&self.of_other, other);
        for (key, ours) in without_partner(&self.of_base, base) {
            let Some(theirs) = theirs.get(key) else { continue };
            for (at, with) in ours.iter().zip(theirs) {
                self.of_base[*at] = Some(*with);
                self.of_other[*with] = Some(*at);
                self.is_sure[*at] = ours.len() == theirs.len();
            }
        }
    }
}

fn without_partner<'k>(partners: &[Option<usize>], keys: &'k [String]) -> BTreeMap<&'k str, Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, key) in keys.iter().enumerate().filter(|(at, _)| partners[*at].is_none()) {
        places.entry(key).or_default().push(at);
    }
    places
}
