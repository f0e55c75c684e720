//! What the cache remembers, within a bound: what was used last is kept longest. If there is a disk, what memory forgets is still
//! there.

use super::disk::{AdoptedFile, Disk, DiskTask, FileNumber};
use super::file::KeptEntry;
use super::stored::{Stored, StoredResponse};
use crate::relay::CacheGauges;
use bytes::Bytes;
use loadstone_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes that an entry takes besides its key, which stands in two lists, and what is stored.
const OVERHEAD: u64 = 256;
/// How many responses that are being sent are passed over when room is made.
const PASSED_OVER: usize = 16;

#[derive(Debug)]
struct Entry {
    stored: Stored,
    bytes: u64,
    used: u64,
}

/// What the cache remembers, within a bound that also holds for what is being received, for what was dropped while it was
/// sent, and for the list of what is on the disk.
#[derive(Debug)]
pub(super) struct Store {
    limit: u64,
    /// Bytes of entries.
    stored: u64,
    /// Bytes that are promised to responses that are being received.
    promised: u64,
    /// Bytes of `leaving`.
    left: u64,
    entries: BTreeMap<Bytes, Entry>,
    /// The keys, by when they were last used.
    order: BTreeMap<u64, Bytes>,
    /// What is no longer stored and still being sent.
    leaving: Vec<(Stored, u64)>,
    uses: u64,
    /// How many entries have been forgotten to make room.
    evictions: u64,
    disk: Option<Box<Disk>>,
    /// The last number that was given.
    numbers: u64,
}

impl Store {
    /// One of so many bytes of memory.
    pub(super) fn new(limit: u64) -> Store {
        Store {
            limit,
            stored: 0,
            promised: 0,
            left: 0,
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            leaving: Vec::new(),
            uses: 0,
            evictions: 0,
            disk: None,
            numbers: 0,
        }
    }

    /// The same with so many bytes of a disk, where time is counted from `zero`.
    pub(super) fn with_disk(self, limit: u64, zero: SystemTime) -> Store {
        Store { disk: Some(Box::new(Disk::new(limit, zero))), ..self }
    }

    /// A number that is larger than all before, those on the disk among them.
    pub(super) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// A file was on the disk before.
    pub(super) fn adopt(&mut self, file: AdoptedFile) {
        self.numbers = self.numbers.max(file.number.0);
        if let Some(disk) = &mut self.disk {
            disk.adopt(file);
        }
        self.make_room(0);
    }

    /// The next of what is to be done on the disk.
    pub(super) fn poll_task(&mut self) -> Option<DiskTask> {
        self.disk.as_mut()?.poll_task()
    }

    /// Holds no more than this from now on. What is being sent goes when it has been sent, and room is wanted.
    pub(super) fn limit(&mut self, limit: u64, disk: u64) {
        self.limit = limit;
        self.disk.iter_mut().for_each(|own| own.limit(disk));
        self.make_room(0);
    }

    /// Bytes of all that it holds or has promised to hold.
    pub(super) fn bytes(&self) -> u64 {
        self.stored + self.promised + self.left + self.disk.as_ref().map_or(0, |disk| disk.index_bytes())
    }

    /// What is known of a key, which is used by that.
    pub(super) fn get(&mut self, key: &Bytes) -> Option<Stored> {
        let entry = self.entries.get_mut(key)?;
        let own = self.order.remove(&entry.used)?;
        self.uses += 1;
        entry.used = self.uses;
        self.order.insert(entry.used, own);
        Some(entry.stored.clone())
    }

    /// Remembers this of a key, in place of all else. Whether there was room.
    pub(super) fn put(&mut self, key: &Bytes, stored: Stored) -> bool {
        self.remove(key);
        let has_room = self.add(key, stored.clone());
        if has_room {
            self.keep(key, &stored);
        }
        has_room
    }

    fn add(&mut self, key: &Bytes, stored: Stored) -> bool {
        let bytes = stored.bytes() + 2 * key.len() as u64 + OVERHEAD;
        if !self.make_room(bytes) {
            return false;
        }
        // A key may be a part of a larger buffer.
        let key = Bytes::copy_from_slice(key);
        self.uses += 1;
        self.stored += bytes;
        self.order.insert(self.uses, key.clone());
        self.entries.insert(key, Entry { stored, bytes, used: self.uses });
        true
    }

    /// Has it on the disk as well.
    fn keep(&mut self, key: &Bytes, stored: &Stored) {
        let number = self.next_number();
        let Some(disk) = &mut self.disk else { return };
        disk.write(key, FileNumber(number), stored);
        if !self.make_room(0) {
            // There is none for its place in the list.
            self.disk.iter_mut().for_each(|disk| disk.remove(key));
        }
    }

    /// The same for a response whose content is that of the one it replaces: it is not counted twice.
    pub(super) fn replace(&mut self, key: &Bytes, stored: Stored) {
        if let Some(entry) = self.entries.get_mut(key)
            && let Stored::Response(_) = entry.stored
        {
            let bytes = stored.bytes() + 2 * key.len() as u64 + OVERHEAD;
            self.stored = self.stored - entry.bytes + bytes;
            (entry.stored, entry.bytes) = (stored.clone(), bytes);
            return self.keep(key, &stored);
        }
        self.put(key, stored);
    }

    /// Begins to read from the disk what is known of a key that is not known here, if there is room for it.
    pub(super) fn fetch(&mut self, key: &Bytes) -> Option<FileNumber> {
        let (number, bytes) = self.disk.as_mut()?.find(key)?;
        if self.disk.as_ref()?.is_reading(number) {
            return Some(number);
        }
        if !self.promise(bytes) {
            return None;
        }
        // Room may have been made in the place of what was to be read.
        let disk = self.disk.as_mut()?;
        if !disk.is_current(key, number) {
            self.take_back(bytes);
            return None;
        }
        disk.read(key, number, bytes);
        Some(number)
    }

    /// A file was read: what is known of its key is known here again, unless that has changed meanwhile. Whether there was room.
    pub(super) fn take_read(&mut self, number: FileNumber, entry: Option<KeptEntry>, now: Time) -> bool {
        let Some(disk) = &mut self.disk else { return true };
        let Some((key, bytes)) = disk.end_reading(number) else { return true };
        let (is_current, zero) = (disk.is_current(&key, number), disk.zero());
        let entry = entry.filter(|entry| entry.key == key);
        if is_current && entry.is_none() {
            disk.fail(&key);
        }
        self.take_back(bytes);
        entry.filter(|_| is_current).is_none_or(|entry| self.add(&key, entry.stored(zero, now)))
    }

    /// A file was written, or could not be.
    pub(super) fn end_writing(&mut self, number: FileNumber, is_written: bool) {
        self.disk.iter_mut().for_each(|disk| disk.end_writing(number, is_written));
    }

    /// Forgets a key.
    pub(super) fn remove(&mut self, key: &Bytes) {
        self.disk.iter_mut().for_each(|disk| disk.remove(key));
        self.forget(key);
    }

    /// The same in memory alone.
    fn forget(&mut self, key: &Bytes) {
        let Some(Entry { stored, bytes, used }) = self.entries.remove(key) else { return };
        self.order.remove(&used);
        self.stored -= bytes;
        self.leave(stored, bytes);
    }

    /// Forgets the keys that begin so, and that `is_meant`. How many they were.
    pub(super) fn remove_all(&mut self, beginning: &[u8], is_meant: impl Fn(&[u8]) -> bool) -> u64 {
        let from = self.entries.range(Bytes::copy_from_slice(beginning)..).map(|(key, _)| key);
        let kept = self.disk.iter().flat_map(|disk| disk.keys(beginning));
        let in_memory = from.take_while(|key| key.starts_with(beginning));
        let meant: BTreeSet<Bytes> = in_memory.chain(kept).filter(|key| is_meant(key)).cloned().collect();
        meant.iter().for_each(|key| self.remove(key));
        meant.len() as u64
    }

    /// What it has at the moment.
    pub(super) fn gauges(&self) -> CacheGauges {
        let disk = self.disk.as_ref().map(|disk| disk.gauges());
        CacheGauges { bytes: self.bytes(), entries: self.entries.len() as u64, evictions: self.evictions, disk }
    }

    /// Promises room to a response that is being received. Whether there is so much.
    pub(super) fn promise(&mut self, bytes: u64) -> bool {
        let has_room = self.make_room(bytes);
        self.promised += if has_room { bytes } else { 0 };
        has_room
    }

    /// Takes a promise back.
    pub(super) fn take_back(&mut self, bytes: u64) {
        self.promised -= bytes;
    }

    /// Counts a response that is not stored, until nobody sends it any more.
    pub(super) fn follow(&mut self, response: StoredResponse) {
        let stored = Stored::Response(Arc::new(response));
        let bytes = stored.bytes();
        self.leave(stored, bytes);
    }

    fn leave(&mut self, stored: Stored, bytes: u64) {
        if stored.is_in_use() {
            self.left += bytes;
            self.leaving.push((stored, bytes));
        }
    }

    /// Forgets what was used longest ago until there is room for so much. What is being sent is in use now: dropping it would
    /// free nothing.
    fn make_room(&mut self, bytes: u64) -> bool {
        if bytes > self.limit {
            return false;
        }
        if self.bytes() + bytes > self.limit {
            self.sweep();
        }
        let mut passed_over = 0;
        while self.bytes() + bytes > self.limit {
            let Some(key) = self.order.first_key_value().map(|(_, key)| key.clone()) else {
                // What is left is being sent or received, or it is the list of what is on the disk.
                if self.disk.as_mut().is_some_and(|disk| disk.evict()) {
                    continue;
                }
                return false;
            };
            if self.entries.get(&key).is_some_and(|entry| entry.stored.is_in_use()) {
                passed_over += 1;
                if passed_over > PASSED_OVER {
                    return false;
                }
                drop(self.get(&key));
                continue;
            }
            // It was in use until now, in memory.
            self.disk.iter_mut().for_each(|disk| disk.touch(&key));
            self.forget(&key);
            self.evictions += 1;
        }
        true
    }

    /// Forgets what is no longer sent.
    fn sweep(&mut self) {
        self.leaving.retain(|(stored, bytes)| {
            let stays = stored.is_in_use();
            self.left -= if stays { 0 } else { *bytes };
            stays
        });
    }

    #[cfg(test)]
    fn responses(&self) -> impl Iterator<Item = &Bytes> {
        self.entries.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::CachedBody;
    use super::super::freshness::{Freshness, Moments};
    use super::*;
    use loadstone_http::{Chunk, Fields, RequestHead, ResponseHead};
    use proptest::prelude::*;
    use std::time::SystemTime;

    fn response(len: usize, fill: u8) -> Stored {
        let head = ResponseHead::new(200, Fields::from_pairs([("cache-control", "max-age=60")]));
        let request = RequestHead::get("a.test", "/", Fields::default());
        let moments = Moments { asked: Time::ZERO, came: Time::ZERO, zero: SystemTime::UNIX_EPOCH };
        let freshness = Freshness::of(&request, &head, moments).unwrap();
        let mut body = CachedBody::default();
        body.push(&Chunk::Bytes(vec![fill; len].into()));
        Stored::Response(Arc::new(StoredResponse { head: Arc::new(head), body, freshness }))
    }

    fn key(number: u8) -> Bytes {
        Bytes::copy_from_slice(&[number])
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_and_what_is_being_sent_stays_and_counts() {
        let mut store = Store::new(10_000);
        for number in 0..3 {
            assert!(store.put(&key(number), response(2_000, number)));
        }
        drop(store.get(&key(0)));
        let Some(Stored::Response(sent)) = store.get(&key(1)) else { panic!() };
        drop(store.get(&key(2)));
        // 0 is the oldest, then 1, which is being sent.
        assert!(store.put(&key(3), response(2_000, 3)));
        assert_eq!(store.responses().collect::<Vec<_>>(), [&key(1), &key(2), &key(3)]);
        assert!(store.put(&key(4), response(2_000, 4)));
        assert_eq!(store.responses().collect::<Vec<_>>(), [&key(1), &key(3), &key(4)], "1 is being sent");
        store.remove(&key(1));
        let before = store.bytes();
        assert!(!store.put(&key(5), response(9_000, 5)), "what is being sent takes room");
        assert!(store.bytes() < before && store.bytes() > 2_000);
        drop(sent);
        assert!(store.put(&key(5), response(9_000, 5)));
        assert!(!store.put(&key(6), response(10_000, 6)), "it is larger than the store");
        assert!(store.promise(500) && !store.promise(9_900));
        store.take_back(500);
        assert!(store.bytes() <= 10_000);
    }

    proptest! {
        #[test]
        fn the_bound_holds_and_a_key_never_gives_what_was_stored_for_another(
            steps in prop::collection::vec((0..5_u8, 0..12_u8, 0..3_000_usize), 1..300)
        ) {
            let limit = 12_000;
            let mut store = Store::new(limit);
            let mut sent: Vec<Stored> = Vec::new();
            let mut last = BTreeMap::new();
            let mut fill = 0_u8;
            for (step, number, len) in steps {
                match step {
                    0 | 1 => {
                        fill = fill.wrapping_add(1);
                        if store.put(&key(number), response(len, fill)) {
                            last.insert(number, (len, fill));
                        } else {
                            last.remove(&number);
                        }
                    }
                    2 => {
                        if let Some(found) = store.get(&key(number)) {
                            let Stored::Response(found_response) = &found else { panic!() };
                            let (len, fill) = last[&number];
                            let is_it = |piece: &Chunk| matches!(piece, Chunk::Bytes(it) if it.iter().all(|byte| *byte == fill));
                            prop_assert_eq!(found_response.body.len(), len as u64);
                            prop_assert!(found_response.body.pieces().iter().all(is_it));
                            sent.push(found);
                        }
                    }
                    3 => {
                        store.remove(&key(number));
                        last.remove(&number);
                    }
                    _ => sent.truncate(usize::from(number)),
                }
                prop_assert!(store.bytes() <= limit);
                let held: u64 = store.entries.values().map(|entry| entry.bytes).sum();
                let left: u64 = store.leaving.iter().map(|(_, bytes)| *bytes).sum();
                prop_assert_eq!((held, left, store.entries.len()), (store.stored, store.left, store.order.len()));
            }
        }
    }
}
