//! A shared cache (RFC 9111) in a relay: what it may, it answers from what it remembers.
//!
//! `key` says which requests are alike, `wish` what a request wants, `freshness` for how long a response may be used, with
//! `directives` and `date` for what fields say of that. `stored` is a response with its `body`, `store` remembers them within a
//! bound (`disk` says what is kept there as well, as a `file`), `fill` is one that is on its way, `outcome` is what the log
//! says, and `purge` what an operator has it forget. This file decides from these; `relay::caching` does it.

mod body;
mod date;
mod directives;
mod disk;
mod file;
mod fill;
mod freshness;
mod key;
mod outcome;
mod purge;
mod store;
mod stored;
mod wish;

pub use disk::{AdoptedFile, DiskTask, FileNumber};
pub use file::{CacheFile, KeptEntry};
pub use outcome::CacheOutcome;
pub use purge::Purge;

pub(super) use fill::{CacheFill, FillId, Sharing, Subscriber, TakenContent, Verdict, answer_of};
pub(super) use stored::StoredAnswer;

use bytes::Bytes;
use key::target_key;
use loadstone_http::{Fields, RequestHead, ResponseHead};
use loadstone_units::{Bounded, Seed, Time};
use outcome::cache_status;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use store::Store;
use stored::{Part, Stored, StoredResponse};
use wish::Wish;

use super::{CacheGauges, StreamRef};
use crate::ConnId;

/// The place of the cache's own requests: no connection.
pub(super) const CACHE: ConnId = ConnId(u32::MAX);

/// How much a cache remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLimits {
    /// Bytes of memory, with what is being received and sent.
    pub bytes: u64,
    /// Bytes of the content of one response.
    pub object: u64,
    /// Bytes of a disk, where what is stored is kept as well; 0 without one.
    pub disk: u64,
    /// What the clock of day shows at [`Time::ZERO`]: ages are counted from the Date of responses.
    pub zero: SystemTime,
    /// Which responses are stored; as their fields say, if it is left out.
    pub hits: Option<StatedHits>,
}

/// How much of what may be asked for with GET is stored, whatever responses say of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatedHits {
    /// How many percent of all URLs.
    pub percent: Bounded<0, 100>,
    /// Of this it is drawn which.
    pub seed: Seed,
}

impl StatedHits {
    /// Whether the response to a target is stored.
    fn has(self, target: &Bytes) -> bool {
        let drawn = self.seed.stream(&String::from_utf8_lossy(target)).next_f64();
        drawn * 100.0 < f64::from(self.percent.get())
    }
}

/// A shared cache.
#[derive(Debug)]
pub(super) struct Cache {
    limits: CacheLimits,
    store: Store,
    /// What is on its way from origins.
    pub(super) fills: BTreeMap<FillId, CacheFill>,
    /// Those that others may wait for, by their keys.
    shared: BTreeMap<Bytes, FillId>,
    /// Which of them a request waits for.
    pub(super) waiting: BTreeMap<StreamRef, FillId>,
    /// Who waits for what is being read from the disk.
    fetching: BTreeMap<FileNumber, BTreeSet<StreamRef>>,
    next: u32,
}

/// What is done with a request.
#[derive(Debug)]
pub(super) enum Course {
    /// It goes to the origin, and the cache has no part in it.
    Pass,
    /// This is its response; it may be that the origin is asked, too.
    Answer(StoredAnswer, CacheOutcome, Option<Box<CacheFill>>),
    /// It waits for what is on its way.
    Join(FillId),
    /// The origin is asked.
    Fill(Box<CacheFill>),
    /// It waits for what is read from the disk.
    Fetch(FileNumber),
    /// It does not want the origin to be asked.
    Unanswered,
}

/// What is known of a request.
#[derive(Debug)]
enum CacheLookup {
    /// Its key, and what is stored of that.
    Here(Bytes, Option<Stored>),
    /// It is being read.
    OnDisk(FileNumber),
}

impl Cache {
    pub(super) fn new(limits: CacheLimits) -> Cache {
        let store = Store::new(limits.bytes);
        Cache {
            limits,
            store: if limits.disk == 0 { store } else { store.with_disk(limits.disk, limits.zero) },
            fills: BTreeMap::new(),
            shared: BTreeMap::new(),
            waiting: BTreeMap::new(),
            fetching: BTreeMap::new(),
            next: 0,
        }
    }

    /// Has these limits from now on; without them nothing is stored any more. Its clock stays.
    pub(super) fn limit(&mut self, limits: Option<CacheLimits>) {
        let (bytes, object, disk) = limits.map_or((0, 0, 0), |limits| (limits.bytes, limits.object, limits.disk));
        self.limits = CacheLimits { bytes, object, disk, ..self.limits };
        self.store.limit(bytes, disk);
    }

    /// What it has at the moment.
    pub(super) fn gauges(&self) -> CacheGauges {
        self.store.gauges()
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// What is done with a request that has no content, and is as its origin would get it.
    pub(super) fn course(&mut self, request: &Arc<RequestHead>, now: Time) -> Course {
        let Some(wish) = Wish::of(request) else { return Course::Pass };
        let target = target_key(&request.authority, &request.path);
        let (key, known) = match self.find(&target, request) {
            CacheLookup::Here(key, known) => (key, known),
            CacheLookup::OnDisk(number) => return Course::Fetch(number),
        };
        // A tried key is no reason to wait: neither was the response for others, nor will it be.
        let is_shared = !matches!(known, Some(Stored::Unstorable { until }) if until > now);
        let stale = match known {
            Some(Stored::Response(response)) if response.freshness.for_authorized || !wish.is_authorized => {
                Some(response)
            }
            _ => None,
        };
        if let Some(response) = &stale
            && let Some(course) = self.stored_course(request, &wish, response, &key, &target, now)
        {
            return course;
        }
        if wish.only_if_cached {
            return Course::Unanswered;
        }
        if wish.is_head || wish.wants_range {
            return Course::Pass;
        }
        // What is never fresh is asked about for each client: nobody may have the response of another.
        let is_shared = is_shared
            && !wish.is_authorized
            && wish.takes_what_is_fresh()
            && stale.as_ref().map_or(!wish.is_conditional, |stale| stale.freshness.was_fresh());
        if is_shared && let Some(fill) = self.shared.get(&key) {
            return Course::Join(*fill);
        }
        Course::Fill(Box::new(
            CacheFill::new(request, target, stale.map(|stale| (key.clone(), stale)), now).shared(is_shared, key),
        ))
    }

    /// What is done with a request without what is stored.
    pub(super) fn course_without(request: &Arc<RequestHead>) -> Course {
        let only_if_cached = Wish::of(request).is_some_and(|wish| wish.only_if_cached);
        if only_if_cached { Course::Unanswered } else { Course::Pass }
    }

    /// The answer from what is stored, if it may be used.
    fn stored_course(
        &mut self,
        request: &Arc<RequestHead>,
        wish: &Wish,
        response: &Arc<StoredResponse>,
        key: &Bytes,
        target: &Bytes,
        now: Time,
    ) -> Option<Course> {
        let freshness = &response.freshness;
        let takes_meanwhile = || wish.takes_meanwhile(freshness, now);
        let takes = wish.takes(freshness, now);
        if !takes && !takes_meanwhile() {
            return None;
        }
        let part = response.part(request);
        if part == Part::Other {
            return Some(Course::Pass);
        }
        let outcome = if freshness.is_fresh(now) { CacheOutcome::Hit } else { CacheOutcome::Stale };
        let is_asked = !takes && !wish.is_head && !wish.is_authorized && !self.shared.contains_key(key);
        let fill = is_asked.then(|| {
            let fill = CacheFill::new(request, target.clone(), Some((key.clone(), response.clone())), now);
            Box::new(fill.shared(true, key.clone()).in_background())
        });
        Some(Course::Answer(response.answer(part, wish.is_head, outcome, now), outcome, fill))
    }

    /// The key of a request, and what is known of it.
    fn find(&mut self, target: &Bytes, request: &RequestHead) -> CacheLookup {
        match self.look_up(target.clone()) {
            CacheLookup::Here(_, Some(Stored::Varies(varies))) => self.look_up(varies.key(target, request)),
            found => found,
        }
    }

    fn look_up(&mut self, key: Bytes) -> CacheLookup {
        match self.store.get(&key) {
            None => self.store.fetch(&key).map_or(CacheLookup::Here(key, None), CacheLookup::OnDisk),
            known => CacheLookup::Here(key, known),
        }
    }

    /// A request waits for what is being read.
    pub(super) fn wait(&mut self, front: StreamRef, number: FileNumber) {
        self.fetching.entry(number).or_default().insert(front);
    }

    /// A file was on the disk before.
    pub(super) fn adopt(&mut self, file: AdoptedFile) {
        self.store.adopt(file);
    }

    /// The next of what is to be done on the disk.
    pub(super) fn poll_task(&mut self) -> Option<DiskTask> {
        self.store.poll_task()
    }

    /// A file was read. Who has waited for it, and whether there is room for what it says.
    pub(super) fn take_read(
        &mut self,
        number: FileNumber,
        entry: Option<KeptEntry>,
        now: Time,
    ) -> (BTreeSet<StreamRef>, bool) {
        let has_room = self.store.take_read(number, entry, now);
        (self.fetching.remove(&number).unwrap_or_default(), has_room)
    }

    /// A file was written, or could not be.
    pub(super) fn end_writing(&mut self, number: FileNumber, is_written: bool) {
        self.store.end_writing(number, is_written);
    }

    /// Adds a fill.
    pub(super) fn begin(&mut self, fill: CacheFill) -> FillId {
        let id = FillId(self.next);
        self.next = self.next.wrapping_add(1);
        if let Some(key) = fill.shared_key() {
            self.shared.insert(key.clone(), id);
        }
        self.fills.insert(id, fill);
        id
    }

    /// Takes a fill out, with what was promised to it.
    pub(super) fn end(&mut self, id: FillId) -> Option<CacheFill> {
        let fill = self.fills.remove(&id)?;
        self.unshare(id, &fill);
        Some(fill)
    }

    fn unshare(&mut self, id: FillId, fill: &CacheFill) {
        if let Some(key) = fill.shared_key()
            && self.shared.get(key) == Some(&id)
        {
            self.shared.remove(key);
        }
    }

    /// An origin has changed what these bytes name (RFC 9111, section 4.4): what is stored, and what is on its way, may be from
    /// before.
    pub(super) fn invalidate(&mut self, authority: &[u8], path: &[u8]) {
        let target = target_key(authority, path);
        self.store.remove(&target);
        self.doom(|known| *known == target);
    }

    /// Forgets what an operator wants forgotten, and does not store what is on its way of it. How much was stored.
    pub(super) fn purge(&mut self, purge: &Purge) -> u64 {
        self.doom(|target| purge.is_meant(target));
        self.store.remove_all(purge.beginning(), |key| purge.is_meant(key))
    }

    /// What is on its way of these targets may be from before a change.
    fn doom(&mut self, is_meant: impl Fn(&Bytes) -> bool) {
        let doomed: Vec<FillId> =
            self.fills.iter().filter(|(_, fill)| is_meant(&fill.target)).map(|(id, _)| *id).collect();
        for id in doomed {
            if let Some(mut fill) = self.fills.remove(&id) {
                self.unshare(id, &fill);
                fill.doom();
                self.fills.insert(id, fill);
            }
        }
    }

    /// A response that was not stored when it was asked for, with what Cache-Status says of it; the `age` of one that another
    /// request has brought, else as it says itself.
    pub(super) fn marked(head: &ResponseHead, outcome: CacheOutcome, age: Option<Duration>) -> Arc<ResponseHead> {
        let status = cache_status(outcome, None);
        let age = age.map(|age| age.as_secs().to_string());
        let kept = head.fields.iter().filter(|(name, _)| age.is_none() || !name.eq_ignore_ascii_case(b"age"));
        let own =
            age.iter().map(|age| (&b"age"[..], age.as_bytes())).chain([(&b"cache-status"[..], status.as_bytes())]);
        Arc::new(ResponseHead::new(head.status, Fields::from_pairs(kept.chain(own))))
    }
}

/// All values of a field.
fn of_name<'f>(fields: &'f Fields, name: &'f [u8]) -> impl Iterator<Item = &'f [u8]> {
    fields.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Whether a response of this status to a GET says how long it is (RFC 9110, section 8.6).
const fn has_body_length(status: u16) -> bool {
    !matches!(status, 100..=199 | 204 | 304)
}
