//! What one end said, put in order: a segment that comes before others waits for these.

use std::collections::BTreeMap;

/// What a segment that waits takes beside its bytes.
const WAITING_BYTES: usize = 128;

/// A segment that waits.
#[derive(Debug)]
struct WaitingSegment {
    at: u64,
    captured: Box<[u8]>,
    len: u64,
}

impl WaitingSegment {
    fn bytes(&self) -> usize {
        self.captured.len() + WAITING_BYTES
    }
}

/// Data in order, and for the first time.
#[derive(Debug)]
pub(crate) struct OrderedData<'a> {
    /// When it came, or those that it waited for; ns since 1970.
    pub(crate) at: u64,
    /// What was captured of it.
    pub(crate) captured: &'a [u8],
    pub(crate) len: u64,
    /// Bytes before it that the capture has not.
    pub(crate) skipped: u64,
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct InOrder {
    /// The number of the next byte; 0 if nothing was said.
    next: u64,
    /// By their first numbers.
    waiting: BTreeMap<u64, WaitingSegment>,
}

impl InOrder {
    /// A segment was captured: data from a number on, of which some may have been said before; the `first` number of all, if
    /// it is known. `room` is how many bytes may wait, here and elsewhere; where there is none the capture is taken to lack
    /// what is missing.
    #[inline]
    pub(crate) fn handle_segment(
        &mut self,
        first: Option<u64>,
        start: u64,
        data: OrderedData<'_>,
        room: &mut usize,
        said: &mut dyn FnMut(OrderedData<'_>),
    ) {
        if self.next == 0 {
            self.next = first.unwrap_or(start);
        }
        if self.waiting.is_empty() && start <= self.next {
            self.say(start, data, said);
        } else {
            self.handle_disorder(start, data, room, said);
        }
    }

    /// Whether anything waits for what comes before it: acknowledgements say nothing of other data.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The other end has all numbers below this: what is missing there was not captured, and nothing waits for it.
    #[inline]
    pub(crate) fn handle_ack(&mut self, ack: u64, room: &mut usize, said: &mut dyn FnMut(OrderedData<'_>)) {
        while self.waiting.first_key_value().is_some_and(|(start, _)| *start <= ack) {
            self.say_first(None, room, said);
        }
    }

    /// Nothing more comes.
    pub(crate) fn close(&mut self, room: &mut usize, said: &mut dyn FnMut(OrderedData<'_>)) {
        self.handle_ack(u64::MAX, room, said);
    }

    fn handle_disorder(
        &mut self,
        start: u64,
        data: OrderedData<'_>,
        room: &mut usize,
        said: &mut dyn FnMut(OrderedData<'_>),
    ) {
        let at = data.at;
        if start <= self.next {
            self.say(start, data, said);
        } else {
            let segment = WaitingSegment { at, captured: data.captured.into(), len: data.len };
            while segment.bytes() > *room && !self.waiting.is_empty() {
                self.say_first(None, room, said);
            }
            if segment.bytes() > *room || start <= self.next {
                return self.say(start, data, said);
            }
            // It may be sent again while it waits.
            if self.waiting.get(&start).is_none_or(|waiting| waiting.len < segment.len) {
                *room -= segment.bytes();
                *room += self.waiting.insert(start, segment).map_or(0, |before| before.bytes());
            }
        }
        while self.waiting.first_key_value().is_some_and(|(start, _)| *start <= self.next) {
            self.say_first(Some(at), room, said);
        }
    }

    /// The first that waits need not wait any more: since then, or it need not have.
    fn say_first(&mut self, since: Option<u64>, room: &mut usize, said: &mut dyn FnMut(OrderedData<'_>)) {
        let Some((start, segment)) = self.waiting.pop_first() else { return };
        *room += segment.bytes();
        let WaitingSegment { at, captured, len } = &segment;
        let data = OrderedData { at: since.unwrap_or(*at), captured, len: *len, skipped: 0 };
        self.say(start, data, said);
    }

    #[inline]
    fn say(&mut self, start: u64, data: OrderedData<'_>, said: &mut dyn FnMut(OrderedData<'_>)) {
        let end = start.saturating_add(data.len);
        if end <= self.next {
            return;
        }
        let (before, skipped) = (self.next.saturating_sub(start), start.saturating_sub(self.next));
        let captured = data.captured.get(before as usize..).unwrap_or_default();
        self.next = end;
        said(OrderedData { at: data.at, captured, len: data.len - before, skipped });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOM: usize = 4_000;
    const FIRST: u64 = 1 << 32;

    /// What was said: for each byte it, or nothing if the capture lacks it.
    fn put(segments: &[(usize, usize)], acks: &[usize], room: &mut usize) -> Vec<Option<u8>> {
        let text: Vec<u8> = (0..1_000_u32).map(|n| (n % 251) as u8).collect();
        let mut order = InOrder::default();
        let mut all = Vec::new();
        let mut said = |data: OrderedData<'_>| {
            all.extend(std::iter::repeat_n(None, data.skipped as usize));
            all.extend(data.captured.iter().copied().map(Some));
            assert_eq!(data.captured.len() as u64, data.len);
        };
        for (n, (from, len)) in segments.iter().enumerate() {
            let captured = &text[*from..(*from + *len).min(text.len())];
            let data = OrderedData { at: n as u64, captured, len: captured.len() as u64, skipped: 0 };
            order.handle_segment(Some(FIRST), FIRST + *from as u64, data, room, &mut said);
            if let Some(ack) = acks.get(n) {
                order.handle_ack(FIRST + *ack as u64, room, &mut said);
            }
        }
        order.close(room, &mut said);
        for (at, byte) in all.iter().enumerate() {
            assert!(byte.is_none_or(|byte| byte == text[at]), "byte {at} stands in its place");
        }
        all
    }

    #[test]
    fn what_comes_before_others_waits_for_them() {
        let mut room = ROOM;
        let said = put(&[(0, 100), (200, 100), (200, 100), (300, 50), (100, 100)], &[], &mut room);
        assert_eq!((said.len(), room), (350, ROOM));
        assert!(said.iter().all(Option::is_some));
    }

    #[test]
    fn nothing_waits_for_what_the_other_end_has() {
        let mut room = ROOM;
        // The first hole is acknowledged when the second segment comes: its bytes are of no use afterwards.
        let said = put(&[(0, 100), (200, 100), (100, 100)], &[0, 300, 300], &mut room);
        assert_eq!(said.iter().filter(|byte| byte.is_none()).count(), 100);
        assert_eq!((said.len(), room), (300, ROOM));
    }

    #[test]
    fn where_there_is_no_room_the_first_bytes_are_lacking() {
        let mut room = 300;
        let said = put(&[(0, 10), (100, 150), (300, 150), (10, 90)], &[], &mut room);
        assert_eq!((said.iter().filter(|byte| byte.is_none()).count(), room), (140, 300));
        assert_eq!(said.len(), 450);
    }

    proptest! {
        /// Each byte that was captured in time is said once and in its place, and all room is given back.
        #[test]
        fn bytes_are_said_once_and_in_order(
            segments in proptest::collection::vec((0_usize..1_000, 1_usize..200), 1..40),
            acks in proptest::collection::vec(0_usize..1_000, 0..40),
        ) {
            let mut room = ROOM;
            let said = put(&segments, &acks, &mut room);
            prop_assert_eq!(room, ROOM);
            prop_assert_eq!(said.len(), segments.iter().map(|(from, len)| (from + len).min(1_000)).max().unwrap());
        }

        /// In any order all is said, if there is room and nothing is acknowledged that was not captured.
        #[test]
        fn any_order_is_put_right(order in Just((0..50_usize).collect::<Vec<_>>()).prop_shuffle()) {
            let segments: Vec<_> = order.iter().map(|n| (n * 20, 20)).collect();
            let mut room = 50 * (20 + WAITING_BYTES);
            let said = put(&segments, &[], &mut room);
            prop_assert!(said.len() == 1_000 && said.iter().all(Option::is_some));
        }
    }
}
