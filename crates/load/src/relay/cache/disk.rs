//! What is kept on a disk besides memory, within a bound: which files there are. The disk itself is the driver's: it gets tasks,
//! and says what has come of them.
//!
//! A file is never changed: what replaces it is another file. What has to be forgotten is removed before anybody hears of that, so
//! no crash brings it back; what is to be written may be lost.

use super::file::CacheFile;
use super::stored::Stored;
use crate::relay::DiskGauges;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::time::SystemTime;

/// Disks count in blocks of so many bytes.
const BLOCK: u64 = 4096;
/// The most bytes that wait to be written; what comes then is in memory alone.
const MAX_WRITING: u64 = 64 << 20;
/// Bytes of memory that a file takes besides its key, which stands in two lists.
const OVERHEAD: u64 = 192;

/// Which file. One that comes later has a larger number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FileNumber(pub u64);

/// What a driver does on the disk.
#[derive(Debug)]
pub enum DiskTask {
    /// To write a file, so that a part of it is never taken for it, and then to say if that was possible.
    Write(FileNumber, CacheFile),
    /// To read a file, and to say what it says.
    Read(FileNumber),
    /// To remove a file, or not to write it, before anything else is done.
    Remove(FileNumber),
}

/// A file that was there before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdoptedFile {
    /// Which.
    pub number: FileNumber,
    /// What it is about ([`CacheFile::key`]).
    pub key: Bytes,
    /// Its size.
    pub bytes: u64,
}

#[derive(Debug)]
struct KeptFile {
    number: FileNumber,
    /// In whole blocks.
    bytes: u64,
    used: u64,
    is_written: bool,
}

/// Which files there are.
#[derive(Debug)]
pub(super) struct Disk {
    limit: u64,
    /// What the clock of day showed at the zero of times.
    zero: SystemTime,
    bytes: u64,
    files: BTreeMap<Bytes, KeptFile>,
    /// The keys, by when they were last used.
    order: BTreeMap<u64, Bytes>,
    /// Files that are being written, with their sizes.
    writing: BTreeMap<FileNumber, (Bytes, u64)>,
    /// Bytes of all of them.
    waiting: u64,
    /// Files that are being read, with the memory that is promised for them.
    reading: BTreeMap<FileNumber, (Bytes, u64)>,
    uses: u64,
    /// Bytes of memory that this takes.
    index: u64,
    evictions: u64,
    failures: u64,
    tasks: VecDeque<DiskTask>,
}

impl Disk {
    pub(super) fn new(limit: u64, zero: SystemTime) -> Disk {
        Disk {
            limit,
            zero,
            bytes: 0,
            files: BTreeMap::new(),
            order: BTreeMap::new(),
            writing: BTreeMap::new(),
            waiting: 0,
            reading: BTreeMap::new(),
            uses: 0,
            index: 0,
            evictions: 0,
            failures: 0,
            tasks: VecDeque::new(),
        }
    }

    /// Keeps no more than this from now on.
    pub(super) fn limit(&mut self, limit: u64) {
        self.limit = limit;
        self.make_room(0);
    }

    /// Bytes of memory that it takes to know all files.
    pub(super) const fn index_bytes(&self) -> u64 {
        self.index
    }

    /// What it has at the moment.
    pub(super) fn gauges(&self) -> DiskGauges {
        DiskGauges {
            bytes: self.bytes,
            files: self.files.len() as u64,
            evictions: self.evictions,
            failures: self.failures,
        }
    }

    /// What the clock of day showed at the zero of times.
    pub(super) const fn zero(&self) -> SystemTime {
        self.zero
    }

    /// The next of what is to be done.
    pub(super) fn poll_task(&mut self) -> Option<DiskTask> {
        self.tasks.pop_front()
    }

    /// A file was there before. Of two for a key the later one counts.
    pub(super) fn adopt(&mut self, AdoptedFile { number, key, bytes }: AdoptedFile) {
        if self.files.get(&key).is_some_and(|known| known.number > number) {
            return self.tasks.push_back(DiskTask::Remove(number));
        }
        self.remove(&key);
        self.add(&key, number, bytes, true);
    }

    /// Writes what is stored of a key, in place of what was there.
    pub(super) fn write(&mut self, key: &Bytes, number: FileNumber, stored: &Stored) {
        self.remove(key);
        let Some(file) = CacheFile::new(key, stored, self.zero) else { return };
        let bytes = file.bytes();
        if self.waiting + bytes > MAX_WRITING || !self.add(key, number, bytes, false) {
            return;
        }
        self.waiting += bytes;
        self.writing.insert(number, (Bytes::copy_from_slice(key), bytes));
        self.tasks.push_back(DiskTask::Write(number, file));
    }

    /// Whether there was room.
    fn add(&mut self, key: &Bytes, number: FileNumber, bytes: u64, is_written: bool) -> bool {
        let bytes = bytes.next_multiple_of(BLOCK);
        if !self.make_room(bytes) {
            if is_written {
                self.tasks.push_back(DiskTask::Remove(number));
            }
            return false;
        }
        let key = Bytes::copy_from_slice(key);
        self.uses += 1;
        self.bytes += bytes;
        self.index += index_bytes(&key);
        self.order.insert(self.uses, key.clone());
        self.files.insert(key, KeptFile { number, bytes, used: self.uses, is_written });
        true
    }

    /// Reads the file of a key, which is used by that: its number and size. `None` if there is none, or it is yet to be written.
    pub(super) fn find(&mut self, key: &Bytes) -> Option<(FileNumber, u64)> {
        self.touch(key);
        self.files.get(key).filter(|file| file.is_written).map(|file| (file.number, file.bytes))
    }

    /// Whether a file is being read.
    pub(super) fn is_reading(&self, number: FileNumber) -> bool {
        self.reading.contains_key(&number)
    }

    /// Begins to read the file of a key, for which so much memory is promised.
    pub(super) fn read(&mut self, key: &Bytes, number: FileNumber, promised: u64) {
        self.reading.insert(number, (Bytes::copy_from_slice(key), promised));
        self.tasks.push_back(DiskTask::Read(number));
    }

    /// A file was read: its key, and the memory that was promised for it.
    pub(super) fn end_reading(&mut self, number: FileNumber) -> Option<(Bytes, u64)> {
        self.reading.remove(&number)
    }

    /// Whether this is the file of a key.
    pub(super) fn is_current(&self, key: &Bytes, number: FileNumber) -> bool {
        self.files.get(key).is_some_and(|file| file.number == number)
    }

    /// A file was written, or could not be.
    pub(super) fn end_writing(&mut self, number: FileNumber, is_written: bool) {
        let Some((key, bytes)) = self.writing.remove(&number) else { return };
        self.waiting -= bytes;
        match self.files.get_mut(&key).filter(|file| file.number == number) {
            Some(file) if is_written => file.is_written = true,
            Some(_) => self.fail(&key),
            None => {}
        }
    }

    /// The file of a key cannot be used.
    pub(super) fn fail(&mut self, key: &Bytes) {
        self.failures += 1;
        self.remove(key);
    }

    /// A key is used, or was until now.
    pub(super) fn touch(&mut self, key: &Bytes) {
        let Some(file) = self.files.get_mut(key) else { return };
        let Some(own) = self.order.remove(&file.used) else { return };
        self.uses += 1;
        file.used = self.uses;
        self.order.insert(file.used, own);
    }

    /// Removes the file of a key.
    pub(super) fn remove(&mut self, key: &Bytes) {
        let Some(KeptFile { number, bytes, used, .. }) = self.files.remove(key) else { return };
        self.order.remove(&used);
        self.bytes -= bytes;
        self.index -= index_bytes(key);
        self.tasks.push_back(DiskTask::Remove(number));
    }

    /// The keys that begin so.
    pub(super) fn keys(&self, beginning: &[u8]) -> impl Iterator<Item = &Bytes> {
        let from = self.files.range(Bytes::copy_from_slice(beginning)..).map(|(key, _)| key);
        from.take_while(move |key| key.starts_with(beginning))
    }

    /// Removes what was used longest ago. Whether there was anything.
    pub(super) fn evict(&mut self) -> bool {
        let Some(key) = self.order.first_key_value().map(|(_, key)| key.clone()) else { return false };
        self.remove(&key);
        self.evictions += 1;
        true
    }

    /// Removes what was used longest ago until there is room for so much.
    fn make_room(&mut self, bytes: u64) -> bool {
        bytes <= self.limit && {
            while self.bytes + bytes > self.limit && self.evict() {}
            true
        }
    }
}

const fn index_bytes(key: &Bytes) -> u64 {
    2 * key.len() as u64 + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::super::body::CachedBody;
    use super::super::freshness::{Freshness, Moments};
    use super::super::store::Store;
    use super::super::stored::StoredResponse;
    use super::*;
    use loadstone_http::{Chunk, Fields, RequestHead, ResponseHead};
    use loadstone_units::Time;
    use proptest::prelude::*;
    use std::sync::Arc;

    const ZERO: SystemTime = SystemTime::UNIX_EPOCH;
    const LIMIT: u64 = 6 * BLOCK;

    fn response(len: usize, fill: u8) -> Stored {
        let head = ResponseHead::new(200, Fields::from_pairs([("cache-control", "max-age=60")]));
        let request = RequestHead::get("a.test", "/", Fields::default());
        let moments = Moments { asked: Time::ZERO, came: Time::ZERO, zero: ZERO };
        let freshness = Freshness::of(&request, &head, moments).unwrap();
        let body = CachedBody::of(vec![fill; len].into());
        Stored::Response(Arc::new(StoredResponse { head: Arc::new(head), body, freshness }))
    }

    fn fill(stored: &Stored) -> u8 {
        let Stored::Response(response) = stored else { panic!("{stored:?}") };
        let Some(Chunk::Bytes(bytes)) = response.body.pieces().first() else { panic!() };
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        bytes[0]
    }

    /// A store, and a disk that writes when it is told to.
    struct Driver {
        store: Store,
        files: BTreeMap<FileNumber, Bytes>,
        to_write: VecDeque<(FileNumber, CacheFile)>,
    }

    impl Driver {
        fn new(files: BTreeMap<FileNumber, Bytes>) -> Driver {
            let store = Store::new(12_000).with_disk(LIMIT, ZERO);
            let mut driver = Driver { store, files: files.clone(), to_write: VecDeque::new() };
            for (number, file) in files {
                let key = CacheFile::key(&file).unwrap();
                driver.store.adopt(AdoptedFile { number, key, bytes: file.len() as u64 });
            }
            driver.take_tasks();
            driver
        }

        fn take_tasks(&mut self) {
            while let Some(task) = self.store.poll_task() {
                match task {
                    DiskTask::Write(number, file) => self.to_write.push_back((number, file)),
                    DiskTask::Remove(number) => {
                        self.files.remove(&number);
                        self.to_write.retain(|(waiting, _)| *waiting != number);
                    }
                    DiskTask::Read(number) => {
                        let entry = self.files.get(&number).and_then(CacheFile::read);
                        self.store.take_read(number, entry, Time::ZERO);
                    }
                }
            }
        }

        fn write(&mut self) {
            let Some((number, file)) = self.to_write.pop_front() else { return };
            self.files.insert(number, file.pieces().concat().into());
            self.store.end_writing(number, true);
        }

        /// What is known of a key, in memory or on the disk.
        fn find(&mut self, key: &Bytes) -> Option<u8> {
            if self.store.get(key).is_none() {
                self.store.fetch(key);
                self.take_tasks();
            }
            self.store.get(key).map(|stored| fill(&stored))
        }

        fn check(&self) {
            let gauges = self.store.gauges().disk.unwrap();
            let blocks = |bytes: u64| bytes.next_multiple_of(BLOCK);
            let all = self.files.values().map(|file| blocks(file.len() as u64));
            let waiting = self.to_write.iter().map(|(_, file)| blocks(file.bytes()));
            assert_eq!(all.chain(waiting).sum::<u64>(), gauges.bytes, "what is there is what is known");
            assert!(gauges.bytes <= LIMIT && self.store.bytes() <= 12_000);
        }
    }

    proptest! {
        #[test]
        fn a_crash_loses_what_is_being_written_and_never_brings_back_what_was_forgotten_or_replaced(
            steps in prop::collection::vec((0..8_u8, 0..6_u8, 1..9_000_usize), 1..200)
        ) {
            let mut driver = Driver::new(BTreeMap::new());
            // What was put last of each key, unless it was removed.
            let mut last: BTreeMap<Bytes, u8> = BTreeMap::new();
            for (at, (step, number, len)) in steps.into_iter().enumerate() {
                let key = Bytes::copy_from_slice(&[number; 3]);
                match step {
                    0..=2 => {
                        let kind = at as u8;
                        match driver.store.put(&key, response(len, kind)) {
                            true => last.insert(key, kind),
                            false => last.remove(&key),
                        };
                    }
                    3 => {
                        driver.store.remove(&key);
                        last.remove(&key);
                    }
                    4 => {
                        let found = driver.find(&key);
                        prop_assert!(found.is_none() || found == last.get(&key).copied(), "{:?} {:?}", found, last);
                    }
                    5 | 6 => driver.write(),
                    _ => {
                        driver.take_tasks();
                        driver = Driver::new(driver.files);
                        for number in 0..6 {
                            let key = Bytes::copy_from_slice(&[number; 3]);
                            let found = driver.find(&key);
                            prop_assert!(found.is_none() || found == last.get(&key).copied(), "{:?} {:?}", found, last);
                        }
                    }
                }
                driver.take_tasks();
                driver.check();
            }
        }

        #[test]
        fn a_file_is_read_as_it_was_written_and_any_other_bytes_are_none(
            content in prop::collection::vec(any::<u8>(), 0..3000),
            key in prop::collection::vec(any::<u8>(), 1..300),
            fields in prop::collection::vec(("[a-z-]{1,20}", prop::collection::vec(any::<u8>(), 0..50)), 0..20),
            damage in any::<prop::sample::Index>(),
        ) {
            let head = Arc::new(ResponseHead::new(203, Fields::from_pairs(fields)));
            let moments = Moments { asked: Time::ZERO, came: Time::from_nanos(7), zero: ZERO };
            let freshness = Freshness::endless(moments);
            let stored = StoredResponse { head: head.clone(), body: CachedBody::of(content.clone().into()), freshness };
            let file = CacheFile::new(&key, &Stored::Response(Arc::new(stored)), ZERO).unwrap();
            let mut bytes = file.pieces().concat();
            prop_assert_eq!(CacheFile::key(&bytes).unwrap(), &key[..]);
            let entry = CacheFile::read(&bytes.clone().into()).unwrap();
            let Stored::Response(read) = entry.stored(ZERO, Time::NEVER) else { panic!() };
            let part = read.body.part(0, content.len() as u64);
            let bytes_of = |chunk: &Chunk| if let Chunk::Bytes(bytes) = chunk { bytes.to_vec() } else { panic!() };
            prop_assert_eq!(part.iter().flat_map(bytes_of).collect::<Vec<u8>>(), content);
            prop_assert_eq!((&read.head, read.freshness), (&head, freshness));
            let at = damage.index(bytes.len());
            bytes[at] ^= 0x10;
            prop_assert!(CacheFile::read(&bytes.into()).is_none());
        }

        #[test]
        fn no_bytes_are_too_strange_to_be_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let named = [&b"loadstone cache 1\n"[..], &bytes].concat();
            let mut sum = flate2::Crc::new();
            sum.update(&named);
            let whole = [&named[..], &sum.sum().to_le_bytes()].concat();
            for bytes in [bytes, named, whole] {
                CacheFile::key(&bytes);
                CacheFile::read(&bytes.into());
            }
        }
    }
}
