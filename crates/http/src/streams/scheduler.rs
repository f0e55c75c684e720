//! Which frame is sent next: the sending side of all streams, and the peer's windows. `order` chooses the stream.

use super::Windows;
use super::config::Multiplexing;
use super::order::Order;
use super::tree::StreamDependency;
use crate::pending::{Outgoing, Pending, WrongLength};
use crate::{Body, BodyId, Chunk, Fields, PeerFault, Priority, ResponseHead, Wire};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest window (RFC 9113, section 6.9.1; draft 3, section 2.6.8).
const MAX_WINDOW: i64 = 0x7fff_ffff;
/// The window without flow control: more than is ever sent.
const NO_LIMIT: i64 = i64::MAX / 2;

/// All streams on which this end sends.
#[derive(Debug)]
pub(super) struct SendScheduler {
    frame_bytes: u64,
    /// The peer's window of the session.
    session_window: i64,
    initial_window: i64,
    streams: BTreeMap<u32, SendStream>,
    /// The buffers of streamed bodies.
    pending: BTreeMap<u32, Box<Pending>>,
    /// The order of the streams that have something to send and a window for it.
    order: Order,
}

#[derive(Debug)]
struct SendStream {
    /// The peer's window of this stream; negative if SETTINGS made it smaller.
    window: i64,
    head: Option<Arc<ResponseHead>>,
    body: BodyId,
    source: BodySource,
    /// The length of the body: if it is streamed, what has been appended.
    len: u64,
    /// How much of the body has been sent.
    offset: u64,
}

/// Where the rest of a body comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BodySource {
    /// A body that is known from the beginning and only counted, or none.
    Counted,
    /// A streamed body: the program still appends.
    Streamed,
    /// The streamed body is complete.
    Finished,
    /// The streamed body is complete, and trailers follow.
    Trailers,
}

impl BodySource {
    fn of(pending: &Pending) -> BodySource {
        match pending.trailers() {
            None => BodySource::Streamed,
            Some(fields) if fields.is_empty() => BodySource::Finished,
            Some(_) => BodySource::Trailers,
        }
    }
}

impl SendStream {
    fn left(&self) -> u64 {
        self.len - self.offset
    }

    /// Whether it has something to send that its window allows.
    fn is_ready(&self) -> bool {
        self.head.is_some() || (self.left() > 0 && self.window > 0) || self.is_end_due()
    }

    /// Whether it has something to send that needs no window: a head, trailers or END_STREAM.
    fn needs_no_window(&self) -> bool {
        self.head.is_some() || self.is_end_due()
    }

    /// Whether a streamed body is sent, and only END_STREAM or trailers remain.
    fn is_end_due(&self) -> bool {
        matches!(self.source, BodySource::Finished | BodySource::Trailers) && self.left() == 0
    }

    /// Whether the frame just taken carries END_STREAM; if so, nothing more is sent.
    fn take_end(&mut self) -> bool {
        let ends = self.left() == 0 && matches!(self.source, BodySource::Counted | BodySource::Finished);
        if ends {
            self.source = BodySource::Counted;
        }
        ends
    }
}

/// The next frame to send.
#[derive(Debug)]
pub(super) enum NextFrame {
    /// The head of a response; the end too, if there is no body.
    Head { stream: u32, head: Arc<ResponseHead>, end: bool },
    /// DATA of a counted body.
    Data { stream: u32, run: Chunk, end: bool },
    /// DATA of a streamed body; empty if only END_STREAM is left.
    Streamed { stream: u32, content: Wire, end: bool },
    /// Trailers, which end the message.
    Trailers { stream: u32, fields: Arc<Fields> },
}

impl SendScheduler {
    /// No streams, and the protocol's initial windows.
    pub(super) fn new(config: &Multiplexing, windows: Windows) -> SendScheduler {
        let window = |window: Option<u32>| window.map_or(NO_LIMIT, i64::from);
        SendScheduler {
            frame_bytes: u64::from(config.frame_bytes.get()),
            session_window: window(windows.session),
            initial_window: window(windows.stream),
            streams: BTreeMap::new(),
            pending: BTreeMap::new(),
            order: Order::new(config.policy),
        }
    }

    /// Adds a stream that has nothing to send yet.
    pub(super) fn open(&mut self, stream: u32, priority: Priority) {
        let Body { id: body, len } = Body::EMPTY;
        let sending =
            SendStream { window: self.initial_window, head: None, body, source: BodySource::Counted, len, offset: 0 };
        self.streams.insert(stream, sending);
        self.order.open(stream, priority);
    }

    /// The stream's message is ready to be sent.
    pub(super) fn send(&mut self, stream: u32, head: Option<Arc<ResponseHead>>, content: Outgoing) {
        self.order.enqueue(stream);
        let Some(sending) = self.streams.get_mut(&stream) else { return };
        (sending.head, sending.offset) = (head, 0);
        match content {
            Outgoing::Whole(body) => (sending.body, sending.len) = (body.id, body.len),
            Outgoing::Streamed(pending) => {
                (sending.source, sending.len) = (BodySource::of(&pending), pending.len());
                self.pending.insert(stream, pending);
            }
        }
        if sending.is_ready() {
            self.order.unblock(stream);
        }
    }

    /// Appends to a streamed body.
    pub(super) fn append(&mut self, stream: u32, chunk: Chunk) -> Result<(), WrongLength> {
        self.change_pending(stream, |pending| pending.append(chunk))
    }

    /// Finishes a streamed body.
    pub(super) fn finish(&mut self, stream: u32, trailers: &Fields) -> Result<(), WrongLength> {
        self.change_pending(stream, |pending| pending.finish(trailers))
    }

    fn change_pending(
        &mut self,
        stream: u32,
        change: impl FnOnce(&mut Pending) -> Result<(), WrongLength>,
    ) -> Result<(), WrongLength> {
        let Some(pending) = self.pending.get_mut(&stream) else { return Ok(()) };
        change(pending)?;
        let Some(sending) = self.streams.get_mut(&stream) else { return Ok(()) };
        (sending.source, sending.len) = (BodySource::of(pending), sending.offset + pending.len());
        if sending.is_ready() {
            self.order.unblock(stream);
        }
        Ok(())
    }

    /// Bytes that were appended and not sent.
    pub(super) fn buffered(&self, stream: u32) -> u64 {
        self.pending.get(&stream).map_or(0, |pending| pending.len())
    }

    /// Changes the priority of a stream.
    pub(super) fn prioritise(&mut self, stream: u32, priority: Priority) {
        self.order.prioritise(stream, priority);
    }

    /// Sets the dependency of a stream, which need not be open.
    pub(super) fn depend(&mut self, stream: u32, dependency: StreamDependency) {
        self.order.depend(stream, dependency);
    }

    /// Takes a response head that is queued, so that it can go inside the push; also whether the message ends with it.
    pub(super) fn take_response_head(&mut self, stream: u32) -> Option<(Arc<ResponseHead>, bool)> {
        let sending = self.streams.get_mut(&stream)?;
        let head = sending.head.take()?;
        let end = sending.take_end();
        if !sending.is_ready() {
            self.order.block(stream);
        }
        Some((head, end))
    }

    /// The stream sends no more.
    pub(super) fn close(&mut self, stream: u32) {
        if self.streams.remove(&stream).is_some() {
            if !self.pending.is_empty() {
                self.pending.remove(&stream);
            }
            self.order.close(stream);
        }
    }

    /// Removes all streams.
    pub(super) fn clear(&mut self) {
        std::mem::take(&mut self.streams).into_keys().for_each(|stream| self.order.close(stream));
        self.pending.clear();
    }

    /// Whether [`SendScheduler::poll`] returns a frame if there is room.
    pub(super) fn has_frame(&self) -> bool {
        self.next().is_some()
    }

    fn next(&self) -> Option<u32> {
        if self.session_window > 0 {
            return self.order.next();
        }
        self.order.next_of(|stream| self.streams[&stream].needs_no_window())
    }

    /// The next frame, if there is room for `room` bytes of content after the frame header.
    pub(super) fn poll(&mut self, room: u64) -> Option<NextFrame> {
        if room == 0 {
            return None;
        }
        let stream = self.next()?;
        let sending = self.streams.get_mut(&stream)?;
        if let Some(head) = sending.head.take() {
            let end = sending.take_end();
            if !sending.is_ready() {
                self.order.block(stream);
            }
            return Some(NextFrame::Head { stream, head, end });
        }
        let source = sending.source;
        let window = sending.window.min(self.session_window) as u64;
        let len = sending.left().min(self.frame_bytes).min(window).min(room);
        let run = Chunk::Run { body: sending.body, offset: sending.offset, len };
        sending.offset += len;
        sending.window -= len as i64;
        self.session_window -= len as i64;
        let end = sending.take_end();
        if source == BodySource::Trailers && len == 0 {
            sending.source = BodySource::Counted;
        }
        self.order.sent(stream, len);
        if !sending.is_ready() {
            self.order.block(stream);
        }
        if source != BodySource::Counted {
            return self.take_pending(stream, len);
        }
        Some(NextFrame::Data { stream, run, end })
    }

    /// The next `len` bytes of a streamed body, or its trailers.
    #[cold]
    fn take_pending(&mut self, stream: u32, len: u64) -> Option<NextFrame> {
        let pending = self.pending.get_mut(&stream)?;
        let mut content = Wire::default();
        pending.take(len, &mut content);
        let end = pending.is_nothing();
        if len == 0 && !end {
            let fields = Arc::new(pending.take_trailers()?);
            self.pending.remove(&stream);
            return Some(NextFrame::Trailers { stream, fields });
        }
        if end {
            self.pending.remove(&stream);
        }
        Some(NextFrame::Streamed { stream, content, end })
    }

    /// WINDOW_UPDATE of the session.
    pub(super) fn increase_session_window(&mut self, delta: u32) -> Result<(), PeerFault> {
        self.session_window += i64::from(delta);
        if self.session_window > MAX_WINDOW { Err(PeerFault::FlowControl) } else { Ok(()) }
    }

    /// WINDOW_UPDATE of a stream; ignored on a closed one.
    pub(super) fn increase_window(&mut self, stream: u32, delta: u32) -> Result<(), PeerFault> {
        let Some(sending) = self.streams.get_mut(&stream) else { return Ok(()) };
        sending.window += i64::from(delta);
        if sending.window > MAX_WINDOW {
            return Err(PeerFault::FlowControl);
        }
        if sending.is_ready() {
            self.order.unblock(stream);
        }
        Ok(())
    }

    /// The window of a new stream.
    pub(super) fn initial_window(&self) -> i64 {
        self.initial_window
    }

    /// SETTINGS_INITIAL_WINDOW_SIZE: changes the windows of open streams by the difference, even below zero
    /// (RFC 9113, section 6.9.2; draft 3, section 2.6.8).
    pub(super) fn set_initial_window(&mut self, window: u32) -> Result<(), PeerFault> {
        let delta = i64::from(window) - self.initial_window;
        self.initial_window = i64::from(window);
        if window > MAX_WINDOW as u32 {
            return Err(PeerFault::FlowControl);
        }
        for (stream, sending) in &mut self.streams {
            let was_ready = sending.is_ready();
            sending.window += delta;
            if sending.window > MAX_WINDOW {
                return Err(PeerFault::FlowControl);
            }
            match (was_ready, sending.is_ready()) {
                (false, true) => self.order.unblock(*stream),
                (true, false) => self.order.block(*stream),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use proptest::prelude::*;

    const WINDOW: u32 = 65_535;

    fn scheduler(policy: Policy) -> SendScheduler {
        SendScheduler::new(
            &Multiplexing { policy, frame_bytes: loadstone_units::Bounded::known(1000), ..Default::default() },
            Windows { stream: Some(WINDOW), session: Some(WINDOW) },
        )
    }

    fn respond(scheduler: &mut SendScheduler, stream: u32, len: u64) {
        let head = Arc::new(ResponseHead::new(200, Fields::default()));
        scheduler.send(stream, Some(head), Outgoing::Whole(Body { id: BodyId(stream), len }));
    }

    /// Opens streams of these urgencies and answers each with two frames' worth; the streams in the
    /// order in which their pieces go out.
    fn order(policy: Policy, streams: &[(u32, Priority)]) -> Vec<u32> {
        let mut scheduler = scheduler(policy);
        streams.iter().for_each(|(stream, priority)| scheduler.open(*stream, *priority));
        streams.iter().for_each(|(stream, _)| respond(&mut scheduler, *stream, 2000));
        drain(&mut scheduler)
    }

    fn stream_of(piece: &NextFrame) -> u32 {
        match piece {
            NextFrame::Head { stream, .. } | NextFrame::Data { stream, .. } => *stream,
            NextFrame::Streamed { stream, .. } | NextFrame::Trailers { stream, .. } => *stream,
        }
    }

    fn drain(scheduler: &mut SendScheduler) -> Vec<u32> {
        std::iter::from_fn(|| scheduler.poll(u64::MAX)).map(|piece| stream_of(&piece)).collect()
    }

    #[test]
    fn the_most_urgent_goes_first_and_of_equals_the_earliest_request() {
        let streams = [(3, Priority::at(5)), (1, Priority::at(5)), (5, Priority::at(0))];
        assert_eq!(order(Policy::Priority, &streams), [5, 5, 5, 1, 1, 1, 3, 3, 3]);
    }

    #[test]
    fn incremental_responses_share_after_whole_ones_rfc9218_10() {
        let shared = Priority::incremental_at;
        let streams = [(1, shared(3)), (3, shared(3)), (5, Priority::at(3))];
        assert_eq!(order(Policy::Priority, &streams), [5, 5, 5, 1, 1, 3, 3, 1, 3]);
    }

    #[test]
    fn round_robin_gives_each_a_frame_in_turn_whatever_its_urgency() {
        let streams = [(1, Priority::at(7)), (3, Priority::at(0))];
        assert_eq!(order(Policy::RoundRobin, &streams), [1, 1, 3, 3, 1, 3]);
    }

    #[test]
    fn first_come_first_served_goes_by_when_responses_were_ready() {
        let streams = [(3, Priority::at(7)), (1, Priority::at(0))];
        assert_eq!(order(Policy::FirstComeFirstServed, &streams), [3, 3, 3, 1, 1, 1]);
    }

    #[test]
    fn a_more_urgent_response_overtakes_one_that_was_begun() {
        let mut scheduler = scheduler(Policy::Priority);
        scheduler.open(1, Priority::at(5));
        scheduler.open(3, Priority::at(1));
        respond(&mut scheduler, 1, 3000);
        assert!(matches!(scheduler.poll(100), Some(NextFrame::Head { stream: 1, .. })));
        assert!(matches!(scheduler.poll(100), Some(NextFrame::Data { stream: 1, .. })));
        respond(&mut scheduler, 3, 10);
        assert!(matches!(scheduler.poll(100), Some(NextFrame::Head { stream: 3, .. })));
        assert!(matches!(scheduler.poll(100), Some(NextFrame::Data { stream: 3, end: true, .. })));
        assert!(matches!(scheduler.poll(100), Some(NextFrame::Data { stream: 1, .. })));
    }

    #[test]
    fn a_stream_without_a_window_stands_aside_and_comes_back_when_it_opens() {
        let mut scheduler = scheduler(Policy::Priority);
        scheduler.set_initial_window(0).unwrap();
        [1, 3].into_iter().for_each(|stream| scheduler.open(stream, Priority::default()));
        [1, 3].into_iter().for_each(|stream| respond(&mut scheduler, stream, 500));
        assert_eq!(drain(&mut scheduler), [1, 3], "heads need no window");
        scheduler.increase_window(3, 500).unwrap();
        assert_eq!(drain(&mut scheduler), [3]);
        // A larger initial window alone must unblock the stream.
        scheduler.set_initial_window(1).unwrap();
        assert_eq!(drain(&mut scheduler), [1]);
    }

    /// How much content is sent on stream 1, from a counted or a streamed body.
    fn content(scheduler: &mut SendScheduler) -> u64 {
        let len = |piece| match piece {
            NextFrame::Data { run, .. } => run.len(),
            NextFrame::Streamed { content, .. } => content.len(),
            NextFrame::Head { .. } | NextFrame::Trailers { .. } => 0,
        };
        std::iter::from_fn(|| scheduler.poll(u64::MAX)).map(len).sum()
    }

    fn open_content(len: u64) -> Outgoing {
        let head = crate::RequestHead::get("a.test", "/", Fields::default());
        let mut content = Outgoing::of_request(&head, crate::Content::Streamed);
        content.pending().unwrap().append(Chunk::Run { body: BodyId(1), offset: 0, len }).unwrap();
        content
    }

    #[test]
    fn a_window_that_settings_shrink_lets_out_what_is_left_of_it_and_no_more_rfc9113_6_9_2() {
        let whole = || Outgoing::Whole(Body { id: BodyId(1), len: 5_000 });
        let contents: [fn() -> Outgoing; 2] = [whole, || open_content(5_000)];
        for (policy, make) in Policy::ALL.into_iter().flat_map(|policy| contents.map(|make| (policy, make))) {
            for (window, expected) in [(-1_000, 0), (-1, 0), (0, 0), (1, 1), (2_000, 2_000)] {
                let mut scheduler = scheduler(policy);
                scheduler.open(1, Priority::default());
                scheduler.send(1, None, make());
                // A frame of 1,000 has gone, and the rest is ready to go when SETTINGS come.
                assert!(scheduler.poll(u64::MAX).is_some());
                scheduler.set_initial_window((1_000 + window) as u32).unwrap();
                assert_eq!((scheduler.streams[&1].window, scheduler.has_frame()), (window, window > 0), "{policy:?}");
                assert_eq!(content(&mut scheduler), expected, "{policy:?}, {window}");
                // It opens by what it lacks and one byte more.
                scheduler.increase_window(1, (1 - window.min(0)) as u32).unwrap();
                assert_eq!(content(&mut scheduler), 1, "{policy:?}, {window}");
            }
        }
    }

    #[test]
    fn the_sessions_window_lets_out_what_is_left_of_it_and_no_more() {
        for window in [0, 1] {
            let mut scheduler =
                SendScheduler::new(&Multiplexing::default(), Windows { stream: Some(WINDOW), session: Some(window) });
            for (stream, content) in [(1, Outgoing::Whole(Body { id: BodyId(1), len: 9 })), (3, open_content(9))] {
                scheduler.open(stream, Priority::default());
                scheduler.send(stream, None, content);
            }
            assert_eq!(content(&mut scheduler), u64::from(window));
            assert!(!scheduler.has_frame());
        }
    }

    #[test]
    fn windows_may_fall_below_zero_and_not_rise_above_their_largest_rfc9113_6_9() {
        let mut scheduler = scheduler(Policy::Priority);
        scheduler.open(1, Priority::default());
        respond(&mut scheduler, 1, 2000);
        drain(&mut scheduler);
        scheduler.set_initial_window(100).unwrap();
        assert_eq!(scheduler.streams[&1].window, 100 - 2000);
        assert_eq!(scheduler.increase_window(1, 0x7fff_ffff), Ok(()));
        assert_eq!(scheduler.increase_window(1, 0x7fff_ffff), Err(PeerFault::FlowControl));
        assert_eq!(scheduler.increase_session_window(0x7fff_ffff), Err(PeerFault::FlowControl));
        assert_eq!(scheduler.set_initial_window(0x8000_0000), Err(PeerFault::FlowControl));
    }

    #[test]
    fn of_equal_weights_round_robin_is_what_weighted_comes_to() {
        let streams = [(5, Priority::at(3)), (1, Priority::at(3)), (3, Priority::at(3))];
        assert_eq!(order(Policy::Weighted, &streams), order(Policy::RoundRobin, &streams));
    }

    #[test]
    fn a_stream_that_comes_later_has_saved_nothing() {
        let mut scheduler = scheduler(Policy::Weighted);
        [1, 3].into_iter().for_each(|stream| scheduler.open(stream, Priority::at(0)));
        respond(&mut scheduler, 1, 20_000);
        (0..11).for_each(|_| assert!(scheduler.poll(u64::MAX).is_some()));
        respond(&mut scheduler, 3, 10_000);
        // Its head, and then in turn.
        let next: Vec<u32> = drain(&mut scheduler).into_iter().take(7).collect();
        assert_eq!(next.iter().filter(|stream| **stream == 3).count(), 4, "{next:?}");
    }

    #[test]
    fn another_priority_counts_from_then_on_rfc9218_7() {
        for (policy, expected) in [(Policy::Priority, [3, 3, 3, 1, 1]), (Policy::FirstComeFirstServed, [1, 1, 3, 3, 3])]
        {
            let mut scheduler = scheduler(policy);
            [1, 3].into_iter().for_each(|stream| scheduler.open(stream, Priority::at(4)));
            [1, 3].into_iter().for_each(|stream| respond(&mut scheduler, stream, 2000));
            assert!(matches!(scheduler.poll(u64::MAX), Some(NextFrame::Head { stream: 1, .. })));
            scheduler.prioritise(3, Priority::at(0));
            assert_eq!(drain(&mut scheduler), expected, "{policy:?}");
        }
    }

    #[test]
    fn what_becomes_incremental_shares_and_what_no_longer_is_goes_whole() {
        let mut scheduler = scheduler(Policy::Priority);
        [1, 3].into_iter().for_each(|stream| scheduler.open(stream, Priority::at(3)));
        [1, 3].into_iter().for_each(|stream| respond(&mut scheduler, stream, 3000));
        [1, 3].into_iter().for_each(|stream| scheduler.prioritise(stream, Priority::incremental_at(3)));
        let first: Vec<u32> = (0..4).filter_map(|_| scheduler.poll(u64::MAX)).map(|piece| stream_of(&piece)).collect();
        assert_eq!(first, [1, 1, 3, 3]);
        scheduler.prioritise(3, Priority::at(3));
        assert_eq!(drain(&mut scheduler), [3, 3, 1, 1]);
    }

    proptest! {
        #[test]
        fn weighted_streams_send_in_proportion_to_within_a_frame_of_each(
            urgencies in prop::collection::vec(0_u8..8, 2..7),
            rooms in prop::collection::vec(1_u64..3_000, 1..20),
        ) {
            // As Chromium has them: 256 to 1 in equal steps.
            let weights = [256_u64, 220, 183, 147, 110, 74, 37, 1];
            let mut scheduler = SendScheduler::new(
                &Multiplexing { policy: Policy::Weighted, frame_bytes: loadstone_units::Bounded::known(1000), ..Default::default() },
                Windows { stream: None, session: None },
            );
            for (at, urgency) in urgencies.iter().enumerate() {
                scheduler.open(2 * at as u32 + 1, Priority::at(*urgency));
                scheduler.send(2 * at as u32 + 1, None, Outgoing::Whole(Body { id: BodyId(0), len: 1 << 40 }));
            }
            let mut sent = vec![0_u64; urgencies.len()];
            for room in rooms.iter().cycle().take(500) {
                let Some(NextFrame::Data { stream, run, .. }) = scheduler.poll(*room) else { panic!("always ready") };
                sent[(stream / 2) as usize] += run.len();
                let had: Vec<f64> = sent.iter().zip(&urgencies).map(|(sent, u)| *sent as f64 / weights[usize::from(*u)] as f64).collect();
                for (one, a) in had.iter().zip(&urgencies) {
                    for (other, b) in had.iter().zip(&urgencies) {
                        let frames = 1000.0 / weights[usize::from(*a)] as f64 + 1000.0 / weights[usize::from(*b)] as f64;
                        prop_assert!(one - other <= frames + 1e-6, "{:?} {:?}", sent, urgencies);
                    }
                }
            }
        }

        #[test]
        fn nothing_goes_beyond_a_window_and_everything_goes_in_the_end(
            policy in prop::sample::select(Policy::ALL.to_vec()),
            streams in prop::collection::vec((0_u8..8, any::<bool>(), 0_u64..200_000), 1..8),
            rooms in prop::collection::vec(1_u64..5_000, 1..20),
            grants in prop::collection::vec((0_usize..8, 1_u32..50_000), 0..40),
        ) {
            let mut scheduler = scheduler(policy);
            for (at, (urgency, incremental, len)) in streams.iter().enumerate() {
                let stream = 2 * at as u32 + 1;
                let priority = if *incremental { Priority::incremental_at(*urgency) } else { Priority::at(*urgency) };
                scheduler.open(stream, priority);
                respond(&mut scheduler, stream, *len);
            }
            let mut sent = vec![0_u64; streams.len()];
            let mut granted = vec![u64::from(WINDOW); streams.len()];
            let mut session = u64::from(WINDOW);
            let mut rooms = rooms.into_iter().cycle();
            let mut ends = 0;
            let mut drain = |scheduler: &mut SendScheduler, sent: &mut Vec<u64>| {
                while let Some(piece) = scheduler.poll(rooms.next().unwrap_or(1)) {
                    match piece {
                        NextFrame::Head { end, .. } => ends += u32::from(end),
                        NextFrame::Data { stream, run, end } => {
                            let at = (stream / 2) as usize;
                            assert!(matches!(run, Chunk::Run { offset, .. } if offset == sent[at]), "in order");
                            sent[at] += run.len();
                            ends += u32::from(end);
                        }
                        NextFrame::Streamed { .. } | NextFrame::Trailers { .. } => panic!("all is known as a whole"),
                    }
                }
                ends
            };
            for (at, delta) in grants {
                drain(&mut scheduler, &mut sent);
                let at = at % streams.len();
                prop_assert!(sent.iter().zip(&granted).all(|(sent, granted)| sent <= granted));
                prop_assert!(sent.iter().sum::<u64>() <= session);
                scheduler.increase_window(2 * at as u32 + 1, delta).unwrap();
                scheduler.increase_session_window(delta).unwrap();
                granted[at] += u64::from(delta);
                session += u64::from(delta);
            }
            (0..streams.len()).for_each(|at| scheduler.increase_window(2 * at as u32 + 1, 1 << 20).unwrap());
            scheduler.increase_session_window(1 << 22).unwrap();
            let ends = drain(&mut scheduler, &mut sent);
            prop_assert_eq!(ends as usize, streams.len());
            prop_assert!(sent.iter().zip(&streams).all(|(sent, (_, _, len))| sent == len));
            prop_assert!(!scheduler.has_frame());
        }
    }
}
