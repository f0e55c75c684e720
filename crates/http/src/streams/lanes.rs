//! What goes next: the sending side of all streams, and the peer's windows. Who goes next is the `order`'s to say.

use super::Windows;
use super::config::Multiplexing;
use super::order::Order;
use super::tree::Dependency;
use crate::{Body, Chunk, PeerFault, Priority, ResponseHead};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest window (RFC 9113, section 6.9.1; draft 3, section 2.6.8).
const MAX_WINDOW: i64 = 0x7fff_ffff;
/// Where there is no flow control: more than anyone sends.
const NO_LIMIT: i64 = i64::MAX / 2;

/// All streams on which something goes out.
#[derive(Debug)]
pub(super) struct Lanes {
    frame_bytes: u64,
    /// What the peer still takes on the whole session.
    session_window: i64,
    initial_window: i64,
    lanes: BTreeMap<u32, Lane>,
    /// The order of those that have something to send and a window for it.
    order: Order,
}

#[derive(Debug)]
struct Lane {
    /// What the peer still takes on this stream.
    window: i64,
    head: Option<Arc<ResponseHead>>,
    body: Body,
    /// How much of the body has gone out.
    offset: u64,
}

impl Lane {
    fn left(&self) -> u64 {
        self.body.len - self.offset
    }

    /// Whether it has something that its window lets out. Heads need no window.
    fn is_ready(&self) -> bool {
        self.head.is_some() || (self.left() > 0 && self.window > 0)
    }
}

/// What goes out next.
#[derive(PartialEq, Debug)]
pub(super) enum Piece {
    /// The head of a response, and with it the end if there is no body.
    Head { stream: u32, head: Arc<ResponseHead>, end: bool },
    /// A piece of a body.
    Data { stream: u32, run: Chunk, end: bool },
}

impl Lanes {
    /// No streams, and windows as the protocol has them until the peer says otherwise.
    pub(super) fn new(config: &Multiplexing, windows: Windows) -> Lanes {
        let window = |window: Option<u32>| window.map_or(NO_LIMIT, i64::from);
        Lanes {
            frame_bytes: u64::from(config.frame_bytes.get()),
            session_window: window(windows.session),
            initial_window: window(windows.stream),
            lanes: BTreeMap::new(),
            order: Order::new(config.policy),
        }
    }

    /// A stream begins, with nothing to send yet.
    pub(super) fn open(&mut self, stream: u32, priority: Priority) {
        let lane = Lane { window: self.initial_window, head: None, body: Body::EMPTY, offset: 0 };
        self.lanes.insert(stream, lane);
        self.order.open(stream, priority);
    }

    /// The stream's message is ready to go out.
    pub(super) fn send(&mut self, stream: u32, head: Option<Arc<ResponseHead>>, body: Body) {
        self.order.begin(stream);
        let Some(lane) = self.lanes.get_mut(&stream) else { return };
        (lane.head, lane.body, lane.offset) = (head, body, 0);
        if lane.is_ready() {
            self.order.wake(stream);
        }
    }

    /// The client wants a stream sooner or later than it said.
    pub(super) fn prioritise(&mut self, stream: u32, priority: Priority) {
        self.order.prioritise(stream, priority);
    }

    /// The client says what a stream depends on; it need not be open.
    pub(super) fn depend(&mut self, stream: u32, dependency: Dependency) {
        self.order.depend(stream, dependency);
    }

    /// Takes a head that waits, to go in another way; and whether there is nothing behind it.
    pub(super) fn take_head(&mut self, stream: u32) -> Option<(Arc<ResponseHead>, bool)> {
        let lane = self.lanes.get_mut(&stream)?;
        let head = lane.head.take()?;
        if !lane.is_ready() {
            self.order.rest(stream);
        }
        Some((head, lane.left() == 0))
    }

    /// The stream sends no more.
    pub(super) fn close(&mut self, stream: u32) {
        if self.lanes.remove(&stream).is_some() {
            self.order.close(stream);
        }
    }

    /// Nothing more goes out.
    pub(super) fn clear(&mut self) {
        std::mem::take(&mut self.lanes).into_keys().for_each(|stream| self.order.close(stream));
    }

    /// Whether [`Lanes::poll`] has something to give, if there is room.
    pub(super) fn has_piece(&self) -> bool {
        self.next().is_some()
    }

    fn next(&self) -> Option<u32> {
        if self.session_window > 0 {
            return self.order.next();
        }
        self.order.next_of(|stream| self.lanes[&stream].head.is_some())
    }

    /// What goes next if there is room for `room` bytes of content beside a frame's head.
    pub(super) fn poll(&mut self, room: u64) -> Option<Piece> {
        if room == 0 {
            return None;
        }
        let stream = self.next()?;
        let lane = self.lanes.get_mut(&stream)?;
        if let Some(head) = lane.head.take() {
            let end = lane.left() == 0;
            if !lane.is_ready() {
                self.order.rest(stream);
            }
            return Some(Piece::Head { stream, head, end });
        }
        let window = lane.window.min(self.session_window) as u64;
        let len = lane.left().min(self.frame_bytes).min(window).min(room);
        let run = Chunk::Run { body: lane.body.id, offset: lane.offset, len };
        lane.offset += len;
        lane.window -= len as i64;
        self.session_window -= len as i64;
        let end = lane.left() == 0;
        self.order.sent(stream, len);
        if !lane.is_ready() {
            self.order.rest(stream);
        }
        Some(Piece::Data { stream, run, end })
    }

    /// The peer takes more on the session.
    pub(super) fn widen_session(&mut self, delta: u32) -> Result<(), PeerFault> {
        self.session_window += i64::from(delta);
        if self.session_window > MAX_WINDOW { Err(PeerFault::FlowControl) } else { Ok(()) }
    }

    /// The peer takes more on a stream. One that is over is not meant any more.
    pub(super) fn widen(&mut self, stream: u32, delta: u32) -> Result<(), PeerFault> {
        let Some(lane) = self.lanes.get_mut(&stream) else { return Ok(()) };
        lane.window += i64::from(delta);
        if lane.window > MAX_WINDOW {
            return Err(PeerFault::FlowControl);
        }
        if lane.is_ready() {
            self.order.wake(stream);
        }
        Ok(())
    }

    /// The peer changes the window of all streams, open ones included: by the difference, also below
    /// zero (RFC 9113, section 6.9.2; draft 3, section 2.6.8).
    pub(super) fn set_initial_window(&mut self, window: u32) -> Result<(), PeerFault> {
        let delta = i64::from(window) - self.initial_window;
        self.initial_window = i64::from(window);
        if window > MAX_WINDOW as u32 {
            return Err(PeerFault::FlowControl);
        }
        for (stream, lane) in &mut self.lanes {
            lane.window += delta;
            if lane.window > MAX_WINDOW {
                return Err(PeerFault::FlowControl);
            }
            if lane.is_ready() {
                self.order.wake(*stream);
            } else {
                self.order.rest(*stream);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyId, Fields, Policy};
    use proptest::prelude::*;

    const WINDOW: u32 = 65_535;

    fn lanes(policy: Policy) -> Lanes {
        Lanes::new(
            &Multiplexing { policy, frame_bytes: loadstone_units::Bounded::known(1000), ..Default::default() },
            Windows { stream: Some(WINDOW), session: Some(WINDOW) },
        )
    }

    fn respond(lanes: &mut Lanes, stream: u32, len: u64) {
        let head = Arc::new(ResponseHead::new(200, Fields::default()));
        lanes.send(stream, Some(head), Body { id: BodyId(stream), len });
    }

    /// Opens streams of these urgencies and answers each with two frames' worth; the streams in the
    /// order in which their pieces go out.
    fn order(policy: Policy, streams: &[(u32, Priority)]) -> Vec<u32> {
        let mut lanes = lanes(policy);
        streams.iter().for_each(|(stream, priority)| lanes.open(*stream, *priority));
        streams.iter().for_each(|(stream, _)| respond(&mut lanes, *stream, 2000));
        drain(&mut lanes)
    }

    fn stream_of(piece: &Piece) -> u32 {
        match piece {
            Piece::Head { stream, .. } | Piece::Data { stream, .. } => *stream,
        }
    }

    fn drain(lanes: &mut Lanes) -> Vec<u32> {
        std::iter::from_fn(|| lanes.poll(u64::MAX)).map(|piece| stream_of(&piece)).collect()
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
        let mut lanes = lanes(Policy::Priority);
        lanes.open(1, Priority::at(5));
        lanes.open(3, Priority::at(1));
        respond(&mut lanes, 1, 3000);
        assert!(matches!(lanes.poll(100), Some(Piece::Head { stream: 1, .. })));
        assert!(matches!(lanes.poll(100), Some(Piece::Data { stream: 1, .. })));
        respond(&mut lanes, 3, 10);
        assert!(matches!(lanes.poll(100), Some(Piece::Head { stream: 3, .. })));
        assert!(matches!(lanes.poll(100), Some(Piece::Data { stream: 3, end: true, .. })));
        assert!(matches!(lanes.poll(100), Some(Piece::Data { stream: 1, .. })));
    }

    #[test]
    fn a_stream_without_a_window_stands_aside_and_comes_back_when_it_opens() {
        let mut lanes = lanes(Policy::Priority);
        lanes.set_initial_window(0).unwrap();
        [1, 3].into_iter().for_each(|stream| lanes.open(stream, Priority::default()));
        [1, 3].into_iter().for_each(|stream| respond(&mut lanes, stream, 500));
        assert_eq!(drain(&mut lanes), [1, 3], "heads need no window");
        lanes.widen(3, 500).unwrap();
        assert_eq!(drain(&mut lanes), [3]);
        // A rise of the initial window alone must wake what is stalled.
        lanes.set_initial_window(1).unwrap();
        assert_eq!(drain(&mut lanes), [1]);
    }

    #[test]
    fn windows_may_fall_below_zero_and_not_rise_above_their_largest_rfc9113_6_9() {
        let mut lanes = lanes(Policy::Priority);
        lanes.open(1, Priority::default());
        respond(&mut lanes, 1, 2000);
        drain(&mut lanes);
        lanes.set_initial_window(100).unwrap();
        assert_eq!(lanes.lanes[&1].window, 100 - 2000);
        assert_eq!(lanes.widen(1, 0x7fff_ffff), Ok(()));
        assert_eq!(lanes.widen(1, 0x7fff_ffff), Err(PeerFault::FlowControl));
        assert_eq!(lanes.widen_session(0x7fff_ffff), Err(PeerFault::FlowControl));
        assert_eq!(lanes.set_initial_window(0x8000_0000), Err(PeerFault::FlowControl));
    }

    #[test]
    fn of_equal_weights_round_robin_is_what_weighted_comes_to() {
        let streams = [(5, Priority::at(3)), (1, Priority::at(3)), (3, Priority::at(3))];
        assert_eq!(order(Policy::Weighted, &streams), order(Policy::RoundRobin, &streams));
    }

    #[test]
    fn a_stream_that_comes_later_has_saved_nothing() {
        let mut lanes = lanes(Policy::Weighted);
        [1, 3].into_iter().for_each(|stream| lanes.open(stream, Priority::at(0)));
        respond(&mut lanes, 1, 20_000);
        (0..11).for_each(|_| assert!(lanes.poll(u64::MAX).is_some()));
        respond(&mut lanes, 3, 10_000);
        // Its head, and then in turn.
        let next: Vec<u32> = drain(&mut lanes).into_iter().take(7).collect();
        assert_eq!(next.iter().filter(|stream| **stream == 3).count(), 4, "{next:?}");
    }

    #[test]
    fn another_priority_counts_from_then_on_rfc9218_7() {
        for (policy, expected) in [(Policy::Priority, [3, 3, 3, 1, 1]), (Policy::FirstComeFirstServed, [1, 1, 3, 3, 3])]
        {
            let mut lanes = lanes(policy);
            [1, 3].into_iter().for_each(|stream| lanes.open(stream, Priority::at(4)));
            [1, 3].into_iter().for_each(|stream| respond(&mut lanes, stream, 2000));
            assert!(matches!(lanes.poll(u64::MAX), Some(Piece::Head { stream: 1, .. })));
            lanes.prioritise(3, Priority::at(0));
            assert_eq!(drain(&mut lanes), expected, "{policy:?}");
        }
    }

    #[test]
    fn what_becomes_incremental_shares_and_what_no_longer_is_goes_whole() {
        let mut lanes = lanes(Policy::Priority);
        [1, 3].into_iter().for_each(|stream| lanes.open(stream, Priority::at(3)));
        [1, 3].into_iter().for_each(|stream| respond(&mut lanes, stream, 3000));
        [1, 3].into_iter().for_each(|stream| lanes.prioritise(stream, Priority::incremental_at(3)));
        let first: Vec<u32> = (0..4).filter_map(|_| lanes.poll(u64::MAX)).map(|piece| stream_of(&piece)).collect();
        assert_eq!(first, [1, 1, 3, 3]);
        lanes.prioritise(3, Priority::at(3));
        assert_eq!(drain(&mut lanes), [3, 3, 1, 1]);
    }

    proptest! {
        #[test]
        fn weighted_streams_send_in_proportion_to_within_a_frame_of_each(
            urgencies in prop::collection::vec(0_u8..8, 2..7),
            rooms in prop::collection::vec(1_u64..3_000, 1..20),
        ) {
            // As Chromium has them: 256 to 1 in equal steps.
            let weights = [256_u64, 220, 183, 147, 110, 74, 37, 1];
            let mut lanes = Lanes::new(
                &Multiplexing { policy: Policy::Weighted, frame_bytes: loadstone_units::Bounded::known(1000), ..Default::default() },
                Windows { stream: None, session: None },
            );
            for (at, urgency) in urgencies.iter().enumerate() {
                lanes.open(2 * at as u32 + 1, Priority::at(*urgency));
                lanes.send(2 * at as u32 + 1, None, Body { id: BodyId(0), len: 1 << 40 });
            }
            let mut sent = vec![0_u64; urgencies.len()];
            for room in rooms.iter().cycle().take(500) {
                let Some(Piece::Data { stream, run, .. }) = lanes.poll(*room) else { panic!("always ready") };
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
            let mut lanes = lanes(policy);
            for (at, (urgency, incremental, len)) in streams.iter().enumerate() {
                let stream = 2 * at as u32 + 1;
                let priority = if *incremental { Priority::incremental_at(*urgency) } else { Priority::at(*urgency) };
                lanes.open(stream, priority);
                respond(&mut lanes, stream, *len);
            }
            let mut sent = vec![0_u64; streams.len()];
            let mut granted = vec![u64::from(WINDOW); streams.len()];
            let mut session = u64::from(WINDOW);
            let mut rooms = rooms.into_iter().cycle();
            let mut ends = 0;
            let mut drain = |lanes: &mut Lanes, sent: &mut Vec<u64>| {
                while let Some(piece) = lanes.poll(rooms.next().unwrap_or(1)) {
                    match piece {
                        Piece::Head { end, .. } => ends += u32::from(end),
                        Piece::Data { stream, run, end } => {
                            let at = (stream / 2) as usize;
                            assert!(matches!(run, Chunk::Run { offset, .. } if offset == sent[at]), "in order");
                            sent[at] += run.len();
                            ends += u32::from(end);
                        }
                    }
                }
                ends
            };
            for (at, delta) in grants {
                drain(&mut lanes, &mut sent);
                let at = at % streams.len();
                prop_assert!(sent.iter().zip(&granted).all(|(sent, granted)| sent <= granted));
                prop_assert!(sent.iter().sum::<u64>() <= session);
                lanes.widen(2 * at as u32 + 1, delta).unwrap();
                lanes.widen_session(delta).unwrap();
                granted[at] += u64::from(delta);
                session += u64::from(delta);
            }
            (0..streams.len()).for_each(|at| lanes.widen(2 * at as u32 + 1, 1 << 20).unwrap());
            lanes.widen_session(1 << 22).unwrap();
            let ends = drain(&mut lanes, &mut sent);
            prop_assert_eq!(ends as usize, streams.len());
            prop_assert!(sent.iter().zip(&streams).all(|(sent, (_, _, len))| sent == len));
            prop_assert!(!lanes.has_piece());
        }
    }
}
