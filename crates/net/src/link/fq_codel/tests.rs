use super::*;

/// A packet: its flow and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OfFlow(u32, u32);

impl Packet for OfFlow {
    fn len(&self) -> u32 {
        self.1
    }

    fn flow(&self) -> u32 {
        self.0
    }
}

const NO_LIMIT: QueueLimit = QueueLimit::Packets(u32::MAX);

/// A queue with so many packets of each kind, numbered as they come, and what was dropped.
struct Filled {
    queues: FqCodel<OfFlow>,
    dropped: VecDeque<QueuedPacket<OfFlow>>,
    limit: QueueLimit,
    number: u64,
}

impl Filled {
    fn new(limit: QueueLimit) -> Filled {
        Filled { queues: FqCodel::new(), dropped: VecDeque::new(), limit, number: 0 }
    }

    fn add(&mut self, count: u64, packet: OfFlow) {
        for _ in 0..count {
            let waiting = QueuedPacket { packet, entered: Time::ZERO, number: self.number };
            self.queues.enqueue(self.limit, waiting, &mut self.dropped);
            self.number += 1;
        }
    }

    /// The next packets: no time passes, so CoDel drops none.
    fn take(&mut self, count: usize) -> Vec<OfFlow> {
        let next = std::iter::from_fn(|| self.queues.dequeue(Time::ZERO, &mut self.dropped));
        next.take(count).map(|waiting| waiting.packet).collect()
    }

    fn dropped(&self) -> Vec<(u32, u64)> {
        self.dropped.iter().map(|waiting| (waiting.packet.0, waiting.number)).collect()
    }
}

#[test]
fn flows_with_packets_of_any_size_send_as_many_bytes_rfc8290_4_2() {
    let mut filled = Filled::new(NO_LIMIT);
    let packets = [OfFlow(1, 1500), OfFlow(2, 300), OfFlow(3, 52)];
    packets.into_iter().for_each(|packet| filled.add(2000, packet));
    let mut sent = [0_i64; 4];
    for _ in 0..2000 {
        let OfFlow(flow, len) = filled.take(1)[0];
        sent[flow as usize] += i64::from(len) + HEADER;
        let (most, least) = (sent[1..].iter().max().unwrap(), sent[1..].iter().min().unwrap());
        assert!(most - least <= 2 * QUANTUM, "{sent:?}: more than a turn and a packet apart");
    }
}

#[test]
fn a_new_flow_does_not_wait_behind_a_bulk_flow_rfc8290_4_2() {
    let (bulk, small) = (OfFlow(1, 1500), OfFlow(2, 100));
    let mut filled = Filled::new(NO_LIMIT);
    filled.add(100, bulk);
    assert_eq!(filled.take(3), [bulk; 3]);
    filled.add(1, small);
    assert_eq!(filled.take(2), [small, bulk]);
}

#[test]
fn a_flow_is_not_new_again_as_soon_as_it_is_empty_rfc8290_4_2() {
    // Five packets of the bulk flow are a turn.
    let (bulk, small) = (OfFlow(1, 300), OfFlow(2, 100));
    let mut filled = Filled::new(NO_LIMIT);
    filled.add(100, bulk);
    assert_eq!(filled.take(6), [bulk; 6]);
    filled.add(1, small);
    assert_eq!(filled.take(2), [small, bulk]);
    // The small flow was empty when it was looked at again: it is an old one now, and waits for its turn.
    filled.add(1, small);
    assert_eq!(filled.take(5), [bulk, bulk, bulk, small, bulk]);
    // Its next turn found it empty, so it has left the list, and is new when it sends again.
    filled.add(1, small);
    assert_eq!(filled.take(1), [small]);
}

#[test]
fn a_full_buffer_takes_half_of_the_longest_queue_from_its_head_rfc8290_4_1() {
    let (bulk, small) = (OfFlow(1, 1500), OfFlow(2, 100));
    let mut filled = Filled::new(QueueLimit::Packets(63));
    filled.add(60, bulk);
    filled.add(3, small);
    assert_eq!(filled.dropped(), []);
    filled.add(1, small);
    assert_eq!(filled.dropped(), (0..30).map(|number| (1, number)).collect::<Vec<_>>());
    assert_eq!((filled.queues.len(), filled.queues.bytes), (34, 30 * 1500 + 4 * 100));
    filled.dropped.clear();
    // A packet of the bulk flow itself is kept where there is an older one.
    filled.add(30, bulk);
    assert_eq!(filled.dropped()[0], (1, 30));
}

#[test]
fn at_most_64_packets_are_dropped_at_once_rfc8290_4_1() {
    let mut filled = Filled::new(QueueLimit::Bytes(300_000));
    filled.add(201, OfFlow(1, 1500));
    assert_eq!(filled.dropped().len(), 64);
}

#[test]
fn flows_share_a_queue_only_where_there_are_more_than_1024() {
    let mut filled = Filled::new(NO_LIMIT);
    let [first, last, other] = [5, 1028, 1029].map(|flow| OfFlow(flow, 1500));
    filled.add(2, first);
    filled.add(2, last);
    filled.add(1, other);
    assert_eq!(filled.take(5), [first, last, first, last, other], "1029 is behind 5");
}

#[test]
fn flows_of_one_packet_each_are_a_standing_queue_together() {
    // Like Linux. A packet takes 12 ms, and each of ten flows sends another one when its packet has left: all wait
    // for 120 ms.
    let mut filled = Filled::new(NO_LIMIT);
    (0..10).for_each(|flow| filled.add(1, OfFlow(flow, 1500)));
    let mut sent = 0;
    for turn in 1..100 {
        let now = Time::from_nanos(12_000_000 * turn);
        if let Some(QueuedPacket { packet, .. }) = filled.queues.dequeue(now, &mut filled.dropped) {
            sent += 1;
            let again = QueuedPacket { packet, entered: now, number: 10 + turn };
            filled.queues.enqueue(NO_LIMIT, again, &mut filled.dropped);
        }
    }
    // A flow whose packet is dropped sends no more here; two that are left are no standing queue.
    assert_eq!((sent, filled.dropped.len()), (99, 8));
}

#[test]
fn what_would_go_before_a_packet_is_as_much_of_each_flow_as_of_its_own() {
    let mut filled = Filled::new(NO_LIMIT);
    filled.add(100, OfFlow(1, 1500));
    filled.add(2, OfFlow(2, 100));
    assert_eq!(filled.queues.bytes_before(&OfFlow(2, 100)), 300 + 200);
    assert_eq!(filled.queues.bytes_before(&OfFlow(1, 1500)), 150_000 + 200);
}
