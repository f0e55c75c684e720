//! Which connection a segment belongs to.

use crate::end_pair::{Between, EndPair};
use hashbrown::hash_table::HashTable;
use std::hash::BuildHasher;

/// The open connections. It is only looked up in, and never listed by hash, so the secret by which it hashes, which
/// keeps a capture from being made to collide, changes no result.
#[derive(Debug)]
pub(crate) struct OpenConnections<C> {
    by_ends: HashTable<u32>,
    hasher: foldhash::quality::RandomState,
    places: Vec<Option<Box<C>>>,
    free: Vec<u32>,
}

impl<C> Default for OpenConnections<C> {
    fn default() -> Self {
        let (by_ends, hasher) = (HashTable::new(), foldhash::quality::RandomState::default());
        OpenConnections { by_ends, hasher, places: Vec::new(), free: Vec::new() }
    }
}

impl<C: Between> OpenConnections<C> {
    /// Open connections.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The connection of these ends; made by `open` if there is none.
    #[inline]
    pub(crate) fn get(&mut self, ends: &EndPair, open: impl FnOnce() -> C) -> &mut C {
        let Self { by_ends, hasher, places, free } = self;
        let ends_at = |place: u32| places[place as usize].as_ref().expect("a place that is found is taken").ends();
        let hash = hasher.hash_one(ends);
        let place = match by_ends.find(hash, |place| ends_at(*place) == ends) {
            Some(found) => *found,
            None => {
                let place = free.pop().unwrap_or(places.len() as u32);
                by_ends.insert_unique(hash, place, |place| hasher.hash_one(ends_at(*place)));
                if place as usize == places.len() {
                    places.push(None);
                }
                places[place as usize] = Some(Box::new(open()));
                place
            }
        };
        places[place as usize].as_mut().expect("a place that is found is taken")
    }

    /// The connection of these ends, if there is one.
    pub(crate) fn find(&mut self, ends: &EndPair) -> Option<&mut C> {
        let places = &mut self.places;
        let is_it = |place: &u32| places[*place as usize].as_ref().is_some_and(|connection| connection.ends() == ends);
        let place = *self.by_ends.find(self.hasher.hash_one(ends), is_it)?;
        places[place as usize].as_deref_mut()
    }

    /// Takes out the connections of which `ended` says so, in the order of their places.
    pub(crate) fn take(&mut self, ended: impl Fn(&C) -> bool, give: impl FnMut(C)) {
        self.take_some(usize::MAX, ended, give);
    }

    /// The same of at most so many.
    pub(crate) fn take_some(&mut self, most: usize, ended: impl Fn(&C) -> bool, mut give: impl FnMut(C)) {
        let mut left = most;
        for place in 0..self.places.len() {
            if left == 0 {
                return;
            }
            let Some(connection) = self.places[place].take_if(|connection| ended(connection)) else { continue };
            let hash = self.hasher.hash_one(connection.ends());
            if let Ok(found) = self.by_ends.find_entry(hash, |other| *other as usize == place) {
                found.remove();
            }
            self.free.push(place as u32);
            give(*connection);
            left -= 1;
        }
    }
}
