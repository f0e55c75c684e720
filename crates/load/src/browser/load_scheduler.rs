//! Which of the requests that a browser has found it holds back, and for how long, as Chromium does.
//!
//! Two places of Chromium hold requests back. In the renderer (`blink::ResourceLoadScheduler`, "tight mode"): until the
//! parser inserts a document's body, a request of low priority goes out only while fewer than two of the document's
//! requests are under way; of Medium ones two more may. In the network service (`network::ResourceScheduler`): of
//! requests below High at most ten are under way, and only while fewer than six of any urgency are to the same host,
//! where the host's protocol does not carry many with priorities.

use crate::page::{ActivityId, HostId};
use std::collections::{BTreeSet, VecDeque};

/// `tight_outstanding_limit`: how many requests of a document may be under way before its body is there for another one
/// of low priority to go out.
const TIGHT: u32 = 2;
/// `tight_medium_limit`: how many requests of priority Medium may be under way meanwhile in any case.
const TIGHT_MEDIUM: u32 = 2;
/// `max_delayable_requests`: how many delayable requests may be under way to hosts without priorities.
const DELAYABLE: u32 = 10;
/// `kMaxNumDelayableRequestsPerHostPerClient`: how many requests may be under way to a host for another delayable one to
/// go there.
const PER_HOST: u32 = 6;
/// The urgency of Chromium's class High. What is below it is delayable.
const HIGH: u8 = 1;
/// The urgency of Chromium's class Medium.
const MEDIUM: u8 = 2;

/// A request that a browser has found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FoundRequest {
    /// How urgent it is, 0 (most) to 7: requests go out in this order.
    pub(super) urgency: u8,
    /// When it was found, in the order of all: of equally urgent ones the first comes first.
    pub(super) number: u64,
    pub(super) object: ActivityId,
    pub(super) host: HostId,
    /// The document that asks for it, by its place.
    pub(super) document: Option<u32>,
}

/// Requests that are held back, and how many are under way.
#[derive(Debug)]
pub(super) struct LoadScheduler {
    documents: Vec<DocumentLoads>,
    /// Of those that documents have let go, the ones that the network service holds back.
    queued: BTreeSet<FoundRequest>,
    /// For each host, how many requests are under way there.
    under_way: Vec<u32>,
    /// The hosts that are known to carry many requests with priorities.
    multiplexed: Vec<bool>,
    /// The delayable requests under way that went to other hosts, by their numbers.
    delayable: BTreeSet<u64>,
    /// Requests that may go out.
    ready: VecDeque<FoundRequest>,
    found: u64,
}

/// Whether a request may go out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    Now,
    /// Not yet, and others may.
    Later,
    /// Not yet, nor any other behind it.
    NoneBehind,
}

#[derive(Clone, Default, Debug)]
struct DocumentLoads {
    has_body: bool,
    held: BTreeSet<FoundRequest>,
    under_way: u32,
    medium_under_way: u32,
}

impl LoadScheduler {
    /// Nothing is under way of a page with so many documents. Of each host, whether it carries many requests on a
    /// connection.
    pub(super) fn new(documents: usize, multiplexed: impl Iterator<Item = bool>) -> LoadScheduler {
        let multiplexed: Vec<bool> = multiplexed.collect();
        LoadScheduler {
            documents: vec![DocumentLoads::default(); documents],
            queued: BTreeSet::new(),
            under_way: vec![0; multiplexed.len()],
            multiplexed,
            delayable: BTreeSet::new(),
            ready: VecDeque::new(),
            found: 0,
        }
    }

    /// A request was found.
    pub(super) fn want(&mut self, object: ActivityId, host: HostId, urgency: u8, document: Option<u32>) {
        let request = FoundRequest { urgency, number: self.found, object, host, document };
        self.found += 1;
        match document {
            Some(document) => {
                self.documents[document as usize].held.insert(request);
                self.let_go(document);
            }
            None => {
                self.queue(request);
            }
        }
    }

    /// The body of a document is there.
    pub(super) fn loosen(&mut self, document: u32) {
        if !std::mem::replace(&mut self.documents[document as usize].has_body, true) {
            self.let_go(document);
        }
    }

    /// A request that went out is over.
    pub(super) fn finish(&mut self, request: FoundRequest) {
        self.under_way[request.host.0 as usize] -= 1;
        self.delayable.remove(&request.number);
        if let Some(document) = request.document {
            let loads = &mut self.documents[document as usize];
            loads.under_way -= 1;
            loads.medium_under_way -= u32::from(request.urgency == MEDIUM);
            self.let_go(document);
        }
        self.admit();
    }

    /// A request that is held back becomes more urgent.
    pub(super) fn raise(&mut self, object: ActivityId, urgency: u8) {
        let of = |held: &BTreeSet<FoundRequest>| held.iter().find(|request| request.object == object).copied();
        let found = (0..).zip(&self.documents).find_map(|(at, loads)| Some((at, of(&loads.held)?)));
        if let Some((document, request)) = found {
            let held = &mut self.documents[document as usize].held;
            held.remove(&request);
            held.insert(FoundRequest { urgency, ..request });
            self.let_go(document);
        } else if let Some(request) = of(&self.queued) {
            self.queued.remove(&request);
            self.queue(FoundRequest { urgency, ..request });
        }
    }

    /// A request that went out becomes more urgent: if it is delayable no more, another one may be.
    pub(super) fn spare(&mut self, request: FoundRequest, urgency: u8) {
        if urgency <= HIGH && self.delayable.remove(&request.number) {
            self.admit();
        }
    }

    /// From now on it is known that a host carries many requests with priorities. What waits is looked at when the next
    /// request is over.
    pub(super) fn know_multiplexed(&mut self, host: HostId) {
        self.multiplexed[host.0 as usize] = true;
    }

    /// The next request that may go out.
    pub(super) fn poll(&mut self) -> Option<FoundRequest> {
        self.ready.pop_front()
    }

    fn let_go(&mut self, document: u32) {
        while let Some(request) = self.documents[document as usize].release() {
            self.queue(request);
        }
    }

    /// Lets a request go out or holds it back (`ShouldStartRequest`); returns which.
    fn queue(&mut self, request: FoundRequest) -> Start {
        let host = request.host.0 as usize;
        let is_delayable = request.urgency > HIGH && !self.multiplexed[host];
        let start = match is_delayable {
            true if self.delayable.len() as u32 >= DELAYABLE => Start::NoneBehind,
            true if self.under_way[host] >= PER_HOST => Start::Later,
            _ => Start::Now,
        };
        if start != Start::Now {
            self.queued.insert(request);
            return start;
        }
        self.under_way[host] += 1;
        if is_delayable {
            self.delayable.insert(request.number);
        }
        self.ready.push_back(request);
        start
    }

    /// Lets go what the network service does not hold back any more (`LoadAnyStartablePendingRequests`): a delayable
    /// request that too many others keep waiting keeps all behind it waiting, whatever is known of their hosts.
    fn admit(&mut self) {
        let mut queued = std::mem::take(&mut self.queued).into_iter();
        while queued.next().is_some_and(|request| self.queue(request) != Start::NoneBehind) {}
        self.queued.extend(queued);
    }
}

impl DocumentLoads {
    /// The most urgent of the requests that are held back, if it may go out; it then counts as under way.
    fn release(&mut self) -> Option<FoundRequest> {
        let request = *self.held.first()?;
        let is_free = self.has_body || request.urgency <= HIGH || self.under_way < TIGHT;
        let is_spared = request.urgency == MEDIUM && self.medium_under_way < TIGHT_MEDIUM;
        if !is_free && !is_spared {
            return None;
        }
        self.held.pop_first();
        self.under_way += 1;
        self.medium_under_way += u32::from(request.urgency == MEDIUM);
        Some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: u8 = 3;

    fn scheduler(multiplexed: bool) -> LoadScheduler {
        LoadScheduler::new(1, [multiplexed; 3].into_iter())
    }

    fn polled(scheduler: &mut LoadScheduler) -> Vec<FoundRequest> {
        std::iter::from_fn(|| scheduler.poll()).collect()
    }

    fn objects(requests: &[FoundRequest]) -> Vec<u32> {
        requests.iter().map(|request| request.object.0).collect()
    }

    #[test]
    fn before_the_body_a_low_request_waits_while_two_are_under_way() {
        let mut scheduler = scheduler(true);
        for (object, urgency) in [(1, 0), (2, 1), (3, LOW), (4, LOW), (5, 1)] {
            scheduler.want(ActivityId(object), HostId(0), urgency, Some(0));
        }
        let first = polled(&mut scheduler);
        assert_eq!(objects(&first), [1, 2, 5], "urgent ones go at once");
        scheduler.finish(first[0]);
        assert_eq!(polled(&mut scheduler), [], "two are under way");
        scheduler.finish(first[1]);
        assert_eq!(objects(&polled(&mut scheduler)), [3], "one is under way");
        scheduler.loosen(0);
        assert_eq!(objects(&polled(&mut scheduler)), [4]);
        scheduler.want(ActivityId(6), HostId(0), LOW, Some(0));
        assert_eq!(objects(&polled(&mut scheduler)), [6], "nothing is held back any more");
    }

    #[test]
    fn two_medium_requests_go_out_whatever_is_under_way() {
        let mut scheduler = scheduler(true);
        (1..4).for_each(|object| scheduler.want(ActivityId(object), HostId(0), 0, Some(0)));
        (4..7).for_each(|object| scheduler.want(ActivityId(object), HostId(0), MEDIUM, Some(0)));
        assert_eq!(objects(&polled(&mut scheduler)), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn over_http1_ten_delayable_requests_are_under_way_and_six_to_a_host() {
        let mut scheduler = scheduler(false);
        scheduler.loosen(0);
        (0..8).for_each(|object| scheduler.want(ActivityId(object), HostId(0), LOW, Some(0)));
        (10..18).for_each(|object| scheduler.want(ActivityId(object), HostId(1), LOW, Some(0)));
        let first = polled(&mut scheduler);
        assert_eq!(objects(&first), [0, 1, 2, 3, 4, 5, 10, 11, 12, 13]);
        scheduler.want(ActivityId(20), HostId(0), 1, Some(0));
        assert_eq!(objects(&polled(&mut scheduler)), [20], "an urgent one is not delayable");
        scheduler.finish(first[9]);
        assert_eq!(objects(&polled(&mut scheduler)), [14], "the place is the other host's: the first has seven");
        scheduler.finish(first[0]);
        assert_eq!(objects(&polled(&mut scheduler)), [15], "the first still has six");
        scheduler.finish(first[1]);
        assert_eq!(objects(&polled(&mut scheduler)), [6]);
    }

    #[test]
    fn a_host_that_turns_out_to_carry_many_requests_gets_what_waits_when_one_is_over() {
        let mut scheduler = scheduler(false);
        scheduler.loosen(0);
        (0..9).for_each(|object| scheduler.want(ActivityId(object), HostId(0), LOW, Some(0)));
        let first = polled(&mut scheduler);
        assert_eq!(objects(&first), [0, 1, 2, 3, 4, 5]);
        scheduler.know_multiplexed(HostId(0));
        scheduler.want(ActivityId(20), HostId(0), LOW, Some(0));
        assert_eq!(objects(&polled(&mut scheduler)), [20], "the others are not looked at");
        scheduler.finish(first[0]);
        assert_eq!(objects(&polled(&mut scheduler)), [6, 7, 8]);
        first[1..].iter().for_each(|request| scheduler.finish(*request));
        // All places are free again.
        (30..38).for_each(|object| scheduler.want(ActivityId(object), HostId(1), LOW, Some(0)));
        assert_eq!(objects(&polled(&mut scheduler)), [30, 31, 32, 33, 34, 35]);
    }

    #[test]
    fn one_that_ten_others_keep_waiting_keeps_those_behind_it_waiting() {
        let mut scheduler = scheduler(false);
        (0..7).for_each(|object| scheduler.want(ActivityId(object), HostId(0), LOW, None));
        (10..15).for_each(|object| scheduler.want(ActivityId(object), HostId(1), LOW, None));
        scheduler.want(ActivityId(20), HostId(0), LOW, None);
        scheduler.want(ActivityId(21), HostId(0), HIGH, None);
        let first = polled(&mut scheduler);
        assert_eq!(objects(&first), [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 21], "6, 14 and 20 wait");
        scheduler.know_multiplexed(HostId(0));
        scheduler.finish(first[10]);
        assert_eq!(objects(&polled(&mut scheduler)), [6], "it is ahead of 14, and 20 behind");
        scheduler.finish(first[0]);
        assert_eq!(objects(&polled(&mut scheduler)), [14, 20], "one of the ten is over");
    }

    #[test]
    fn of_those_that_wait_the_most_urgent_goes_first_and_of_equals_the_one_found_first() {
        let mut scheduler = scheduler(false);
        scheduler.loosen(0);
        (0..6).for_each(|object| scheduler.want(ActivityId(object), HostId(0), LOW, None));
        let first = polled(&mut scheduler);
        for (object, urgency) in [(7, 4), (8, LOW), (9, MEDIUM), (6, LOW)] {
            scheduler.want(ActivityId(object), HostId(0), urgency, None);
        }
        first.into_iter().for_each(|request| scheduler.finish(request));
        assert_eq!(objects(&polled(&mut scheduler)), [9, 8, 6, 7]);
    }

    #[test]
    fn a_request_that_becomes_urgent_is_held_back_no_more() {
        let mut scheduler = scheduler(false);
        (0..2).for_each(|object| scheduler.want(ActivityId(object), HostId(0), 0, Some(0)));
        (2..9).for_each(|object| scheduler.want(ActivityId(object), HostId(0), LOW, Some(0)));
        assert_eq!(objects(&polled(&mut scheduler)), [0, 1], "the renderer holds the others back");
        scheduler.raise(ActivityId(7), HIGH);
        assert_eq!(objects(&polled(&mut scheduler)), [7]);
        scheduler.loosen(0);
        assert_eq!(objects(&polled(&mut scheduler)), [2, 3, 4], "the network service holds the others back");
        scheduler.raise(ActivityId(8), HIGH);
        scheduler.raise(ActivityId(5), MEDIUM);
        assert_eq!(objects(&polled(&mut scheduler)), [8]);
    }

    #[test]
    fn one_under_way_that_becomes_urgent_leaves_its_place_to_another() {
        let mut scheduler = scheduler(false);
        (0..5).for_each(|object| scheduler.want(ActivityId(object), HostId(0), LOW, None));
        (5..12).for_each(|object| scheduler.want(ActivityId(object), HostId(1), LOW, None));
        let first = polled(&mut scheduler);
        assert_eq!(first.len(), 10);
        scheduler.spare(first[9], MEDIUM);
        assert_eq!(polled(&mut scheduler), []);
        scheduler.spare(first[0], HIGH);
        assert_eq!(objects(&polled(&mut scheduler)), [10]);
        first.into_iter().for_each(|request| scheduler.finish(request));
        assert_eq!(objects(&polled(&mut scheduler)), [11]);
    }
}
