//! What is on its way from an origin to the cache, and who waits for it.

use super::body::CachedBody;
use super::freshness::{Freshness, Moments};
use super::key::Varies;
use super::outcome::CacheOutcome;
use super::stored::{Part, Stored, StoredAnswer, StoredResponse, has_validator, unconditional};
use super::{Cache, has_body_length};
use crate::relay::StreamRef;
use crate::relay::pending_request::PendingRequest;
use bytes::Bytes;
use loadstone_http::{Chunk, RequestHead, ResponseHead, content_length};
use loadstone_units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// For how long nobody waits for a response to a request like one whose response could not be stored.
const UNSTORABLE: Duration = Duration::from_secs(10);
/// How long a request waits for the end of a response whose length is not known.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request of the cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::relay) struct FillId(pub(in crate::relay) u32);

/// A request of a client for what is on its way.
#[derive(Debug)]
pub(in crate::relay) enum Subscriber {
    /// Nothing has gone to it.
    Waiting(PendingRequest),
    /// It gets the response as it comes.
    Receiving,
}

/// A request of the cache, and what has come of its response.
#[derive(Debug)]
pub(in crate::relay) struct CacheFill {
    pub(super) target: Bytes,
    /// The key by which others find it; none if nobody else may wait for it.
    shared: Option<Bytes>,
    /// As the origin gets it.
    pub(in crate::relay) request: Arc<RequestHead>,
    /// What is stored and stale, and its key.
    stale: Option<(Bytes, Arc<StoredResponse>)>,
    /// The client whose request it is.
    pub(in crate::relay) leader: Option<StreamRef>,
    pub(in crate::relay) subscribers: BTreeMap<StreamRef, Subscriber>,
    /// The stream to the origin, once there is one.
    pub(in crate::relay) behind: Option<StreamRef>,
    /// It goes on without clients.
    pub(in crate::relay) is_background: bool,
    /// What comes is older than a change of it: it is not stored.
    is_doomed: bool,
    asked: Time,
    arriving: Option<ArrivingResponse>,
}

/// A response that is being stored.
#[derive(Debug)]
struct ArrivingResponse {
    key: Bytes,
    response: StoredResponse,
    /// Its length, if it has said so.
    length: Option<u64>,
    since: Time,
    promised: u64,
}

/// What a response's head means for those who wait.
#[derive(Debug)]
pub(in crate::relay) enum Verdict {
    /// What is stored is right, or has to do: the leader gets it, and with `is_for_all` the others.
    Answered { response: Arc<StoredResponse>, outcome: CacheOutcome, is_for_all: bool },
    /// It is stored as it comes. The leader gets it; others by [`Cache::sharing`].
    Storing(CacheOutcome),
    /// It is the leader's alone.
    Unstorable(CacheOutcome),
    /// The origin has confirmed what nobody asked about: all have to ask again.
    Mistaken,
}

/// Whether one who waits may have the response that comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::relay) enum Sharing {
    Receives,
    Waits,
    /// It is stale already: others ask for themselves.
    Alone,
    /// It varies, and is not for this one.
    Other,
}

/// What became of content.
#[derive(Debug)]
pub(in crate::relay) enum TakenContent {
    /// It is stored here.
    Stored(Chunk),
    /// There is no room for it.
    TooMuch,
    /// Nobody wants it.
    Dropped,
}

impl CacheFill {
    pub(super) fn new(
        request: &Arc<RequestHead>,
        target: Bytes,
        stale: Option<(Bytes, Arc<StoredResponse>)>,
        now: Time,
    ) -> CacheFill {
        let request = match &stale {
            Some((_, response)) if response.has_validator() => Arc::new(response.validation(request)),
            Some(_) => Arc::new(unconditional(request, [].into_iter())),
            None => request.clone(),
        };
        CacheFill {
            target,
            shared: None,
            request,
            stale,
            leader: None,
            subscribers: BTreeMap::new(),
            behind: None,
            is_background: false,
            is_doomed: false,
            asked: now,
            arriving: None,
        }
    }

    /// The same, where others may wait for it by this key if it `is_shared`.
    pub(super) fn shared(self, is_shared: bool, key: Bytes) -> CacheFill {
        CacheFill { shared: is_shared.then_some(key), ..self }
    }

    pub(super) fn in_background(self) -> CacheFill {
        CacheFill { is_background: true, ..self }
    }

    pub(super) fn shared_key(&self) -> Option<&Bytes> {
        self.shared.as_ref()
    }

    pub(super) fn doom(&mut self) {
        self.is_doomed = true;
        self.shared = None;
        self.stale = None;
    }

    /// What of a response is there, for one who begins to receive it.
    pub(in crate::relay) fn begun(&self) -> Option<(Arc<ResponseHead>, Vec<Chunk>)> {
        self.arriving.as_ref().map(|it| (it.response.head.clone(), it.response.body.pieces().to_vec()))
    }

    /// How old what comes is.
    pub(in crate::relay) fn age(&self, now: Time) -> Option<Duration> {
        self.arriving.as_ref().map(|it| it.response.freshness.age(now))
    }

    /// What is stale and has to do, since the origin fails (RFC 5861, section 4).
    pub(in crate::relay) fn if_error(&self, now: Time) -> Option<Arc<StoredResponse>> {
        let (_, response) = self.stale.as_ref()?;
        response.freshness.may_be_used_if_error(now).then(|| response.clone())
    }

    /// Whether those who wait have done so for too long.
    pub(in crate::relay) fn is_slow(&self, now: Time) -> bool {
        self.arriving.as_ref().is_some_and(|it| it.length.is_none() && it.since + PATIENCE <= now)
    }
}

impl Cache {
    /// A response's head has come for a fill; one that is not `is_framed` is never known to be complete.
    pub(in crate::relay) fn handle_head(
        &mut self,
        id: FillId,
        head: &Arc<ResponseHead>,
        is_framed: bool,
        now: Time,
    ) -> Verdict {
        let zero = self.limits.zero;
        let Some(fill) = self.fills.get(&id) else { return Verdict::Unstorable(CacheOutcome::Miss) };
        let moments = Moments { asked: fill.asked, came: now, zero };
        let outcome = if fill.stale.is_some() { CacheOutcome::Replaced } else { CacheOutcome::Miss };
        if head.status == 304
            && let Some((key, stale)) = &fill.stale
        {
            let (key, stale) = (key.clone(), stale.clone());
            return self.confirm(id, &key, &stale, head, moments);
        }
        if matches!(head.status, 500 | 502..=504)
            && let Some(response) = fill.if_error(now)
        {
            return Verdict::Answered { response, outcome: CacheOutcome::Stale, is_for_all: true };
        }
        match is_framed.then_some(()).and_then(|()| self.begin_storing(id, head, moments)) {
            Some(()) => Verdict::Storing(outcome),
            None => {
                self.note_unstorable(id, head.status, now);
                Verdict::Unstorable(outcome)
            }
        }
    }

    /// The origin says that what is stored is still right.
    fn confirm(
        &mut self,
        id: FillId,
        key: &Bytes,
        stale: &Arc<StoredResponse>,
        not_modified: &ResponseHead,
        moments: Moments,
    ) -> Verdict {
        let Some(fill) = self.fills.get(&id) else { return Verdict::Mistaken };
        let Some(head) = stale.freshened(not_modified) else {
            self.store.remove(key);
            return Verdict::Mistaken;
        };
        let judged = Freshness::of(&fill.request, &head, moments);
        // What it may no longer store answers the client that has asked, and no other.
        let freshness = judged.unwrap_or(stale.freshness);
        let head = StoredResponse::head(&head, moments);
        let response = Arc::new(StoredResponse { head, body: stale.body.clone(), freshness });
        if judged.is_some() && !fill.is_doomed {
            let key = key.clone();
            // Content is shared with what it replaces: only one of them counts.
            self.store.replace(&key, Stored::Response(response.clone()));
        } else {
            self.store.remove(key);
        }
        let is_for_all = judged.is_some_and(|freshness| freshness.is_fresh(moments.came));
        Verdict::Answered { response, outcome: CacheOutcome::Revalidated, is_for_all }
    }

    /// Begins to store a response, if it may be stored and there is room.
    fn begin_storing(&mut self, id: FillId, head: &Arc<ResponseHead>, moments: Moments) -> Option<()> {
        let fill = self.fills.get(&id).filter(|fill| !fill.is_doomed)?;
        let freshness = match self.limits.hits {
            None => Freshness::of(&fill.request, head, moments)?,
            Some(hits) => (head.status == 200 && hits.has(&fill.target)).then(|| Freshness::endless(moments))?,
        };
        if !freshness.was_fresh() && !has_validator(head) {
            return None;
        }
        let length = content_length(&head.fields).ok()?.or((!has_body_length(head.status)).then_some(0));
        if length.is_some_and(|length| length > self.limits.object) {
            return None;
        }
        let own = StoredResponse::head(head, moments);
        let promised = StoredResponse::bytes(&own, length.unwrap_or(0));
        let (target, request, shared) = (fill.target.clone(), fill.request.clone(), fill.shared.is_some());
        if !self.store.promise(promised) {
            return None;
        }
        let key = match Varies::of(&head.fields, self.store.next_number()) {
            Some(varies) => self.known_varies(&target, varies).key(&target, &request),
            None => target,
        };
        let response = StoredResponse { head: own, body: CachedBody::default(), freshness };
        let arriving = ArrivingResponse { key: key.clone(), response, length, since: moments.came, promised };
        let mut fill = self.end_sharing(id)?;
        fill.arriving = Some(arriving);
        if shared && freshness.is_fresh(moments.came) {
            fill.shared = Some(key.clone());
            self.shared.insert(key, id);
        }
        self.fills.insert(id, fill);
        Some(())
    }

    /// Takes a fill out, so that nobody finds it.
    fn end_sharing(&mut self, id: FillId) -> Option<CacheFill> {
        let mut fill = self.fills.remove(&id)?;
        self.unshare(id, &fill);
        fill.shared = None;
        Some(fill)
    }

    /// What the responses to a target vary by: as is known of it, or anew, so that what was stored under another list is not found.
    fn known_varies(&mut self, target: &Bytes, varies: Varies) -> Varies {
        if let Some(Stored::Varies(known)) = self.store.get(target)
            && known.has_names_of(&varies)
        {
            return known;
        }
        self.store.put(target, Stored::Varies(varies.clone()));
        varies
    }

    /// A response cannot be stored: if others wait for it, those to come do not.
    fn note_unstorable(&mut self, id: FillId, status: u16, now: Time) {
        let Some(fill) = self.fills.get(&id) else { return };
        let (shared, has_others) = (fill.shared.clone(), fill.subscribers.len() > 1);
        if let Some((key, _)) = fill.stale.clone().filter(|_| status < 500) {
            self.store.remove(&key);
        }
        if let Some(key) = shared.filter(|_| has_others) {
            self.store.put(&key, Stored::Unstorable { until: now + UNSTORABLE });
        }
    }

    /// Whether one who waits may have the response that a fill stores.
    pub(in crate::relay) fn sharing(&mut self, id: FillId, request: &RequestHead, now: Time) -> Sharing {
        let Some(arriving) = self.fills.get(&id).and_then(|fill| fill.arriving.as_ref()) else { return Sharing::Alone };
        if !arriving.response.freshness.is_fresh(now) {
            return Sharing::Alone;
        }
        let (key, length) = (arriving.key.clone(), arriving.length);
        let Some(target) = self.fills.get(&id).map(|fill| fill.target.clone()) else { return Sharing::Alone };
        let own = match self.store.get(&target) {
            Some(Stored::Varies(varies)) => varies.key(&target, request),
            _ => target,
        };
        match length {
            _ if own != key => Sharing::Other,
            Some(_) => Sharing::Receives,
            None => Sharing::Waits,
        }
    }

    /// Content has come for a fill.
    pub(in crate::relay) fn take_content(&mut self, id: FillId, content: &Chunk) -> TakenContent {
        let object = self.limits.object;
        let Some(arriving) = self.fills.get_mut(&id).and_then(|fill| fill.arriving.as_mut()) else {
            return TakenContent::Dropped;
        };
        let len = arriving.response.body.len() + content.len();
        let is_promised = match arriving.length {
            Some(length) => len <= length,
            None => len <= object && self.store.promise(content.len()),
        };
        if !is_promised {
            return TakenContent::TooMuch;
        }
        arriving.promised += if arriving.length.is_none() { content.len() } else { 0 };
        TakenContent::Stored(arriving.response.body.push(content))
    }

    /// All of a response has come: it is stored. What those get who have waited for it.
    pub(in crate::relay) fn complete(&mut self, id: FillId) -> Option<(CacheFill, Arc<StoredResponse>)> {
        let mut fill = self.end(id)?;
        let ArrivingResponse { key, response, length, promised, .. } = fill.arriving.take()?;
        self.store.take_back(promised);
        let is_whole = length.is_none_or(|length| length == response.body.len());
        let response = Arc::new(response);
        if is_whole && !fill.is_doomed {
            self.store.put(&key, Stored::Response(response.clone()));
        }
        Some((fill, response))
    }

    /// Gives a fill up: nothing of it is stored.
    pub(in crate::relay) fn abandon(&mut self, id: FillId, now: Time) -> Option<CacheFill> {
        if self.fills.get(&id).is_some_and(|fill| fill.arriving.is_some()) {
            self.note_unstorable(id, 500, now);
        }
        let mut fill = self.end(id)?;
        if let Some(ArrivingResponse { response, promised, .. }) = fill.arriving.take() {
            self.store.take_back(promised);
            self.store.follow(response);
        }
        Some(fill)
    }
}

/// What a client gets of a response that has been stored for others as well.
pub(in crate::relay) fn answer_of(
    response: &StoredResponse,
    request: &RequestHead,
    outcome: CacheOutcome,
    now: Time,
) -> StoredAnswer {
    let part = match response.part(request) {
        Part::NotModified => Part::NotModified,
        _ => Part::Whole,
    };
    response.answer(part, false, outcome, now)
}
