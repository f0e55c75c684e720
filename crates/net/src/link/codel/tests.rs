use super::*;

const MS: u64 = 1_000_000;

/// A queue that is served every millisecond with one packet of 1,500 bytes, whatever comes.
struct Served {
    queue: CodelQueue<u32>,
    /// In ms.
    now: u64,
    /// When the next packet comes, in microseconds.
    arrival: u64,
}

impl Served {
    fn new() -> Served {
        Served { queue: CodelQueue::new(), now: 0, arrival: 0 }
    }

    /// Packets come every `gap` microseconds until `end` ms. The times of drops, in ms.
    fn overload(&mut self, end: u64, gap: u64) -> Vec<u64> {
        let mut drops = Vec::new();
        self.arrival = self.arrival.max(1000 * self.now);
        while self.now < end {
            while self.arrival <= 1000 * self.now {
                self.push(Time::from_nanos(1000 * self.arrival));
                self.arrival += gap;
            }
            drops.extend(self.serve());
        }
        drops
    }

    /// Nothing comes until the queue is empty.
    fn drain(&mut self) -> Vec<u64> {
        let mut drops = Vec::new();
        while self.queue.len() > 0 {
            drops.extend(self.serve());
        }
        drops
    }

    fn push(&mut self, entered: Time) {
        self.queue.push(QueuedPacket { packet: 1500, entered, number: 0 });
    }

    fn serve(&mut self) -> Vec<u64> {
        let mut dropped = VecDeque::new();
        self.queue.dequeue(Time::from_nanos(self.now * MS), 0, &mut dropped);
        self.now += 1;
        vec![self.now - 1; dropped.len()]
    }
}

#[test]
fn drops_come_ever_faster_by_the_square_root_of_their_count_rfc8289_5_6() {
    // 1.25 packets come for each that is sent: the target of 5 ms is reached after 25 ms.
    let drops = Served::new().overload(1500, 800);
    let first = drops[0];
    assert_eq!(first, 25 + 100, "an interval after packets have begun to wait for too long");
    let mut due = first as f64;
    let by_the_law = (1..).map(|count| {
        due += 100.0 / f64::from(count).sqrt();
        due.ceil() as u64
    });
    assert!(drops.len() > 40);
    assert!(drops[1..].iter().copied().eq(by_the_law.take(drops.len() - 1)), "{drops:?}");
}

#[test]
fn a_burst_that_is_gone_within_an_interval_is_no_standing_queue_rfc8289_3_1() {
    // Packet n leaves after n ms, so packets wait too long from the fifth on. An interval later it is the 105th.
    for (packets, dropped) in [(105, vec![]), (200, vec![105])] {
        let mut served = Served::new();
        (0..packets).for_each(|_| served.push(Time::ZERO));
        assert_eq!(served.drain(), dropped, "{packets} packets");
    }
}

#[test]
fn packets_that_wait_for_less_than_the_target_are_never_dropped() {
    let mut served = Served::new();
    // Five wait when one is sent: the last one waits for 4 ms.
    (0..4).for_each(|_| served.push(Time::ZERO));
    assert!(served.overload(10_000, 1000).is_empty());
    // A sixth makes it 5 ms, which is not below the target.
    served.push(Time::from_nanos(served.now * MS));
    assert!(!served.overload(20_000, 1000).is_empty());
}

#[test]
fn one_full_packet_that_waits_on_a_slow_link_is_no_standing_queue_rfc8289_5_6() {
    // 12 ms a packet, as on 1 Mbit/s: of those that wait one is sent, the others wait for 12 ms more.
    for (waiting, is_dropped) in [(2, false), (3, true)] {
        let (mut queue, mut dropped) = (CodelQueue::new(), VecDeque::new());
        let at = |turn: u64| Time::from_nanos(12 * MS * turn);
        (0..waiting).for_each(|_| queue.push(QueuedPacket { packet: 1500, entered: at(0), number: 0 }));
        for turn in 1..100 {
            queue.dequeue(at(turn), 0, &mut dropped);
            while queue.len() < waiting {
                queue.push(QueuedPacket { packet: 1500, entered: at(turn), number: 0 });
            }
        }
        assert_eq!(!dropped.is_empty(), is_dropped, "{waiting} waiting");
    }
}

#[test]
fn it_goes_on_where_it_was_if_the_queue_is_back_within_sixteen_intervals_rfc8289_5_5() {
    // What passes between the first and the second drop of an overload, after an idle time of so many ms.
    let first_gap = |idle: u64| {
        let mut served = Served::new();
        let before = served.overload(1500, 800).len() + served.drain().len();
        served.now += idle;
        let drops = served.overload(served.now + 1500, 800);
        (before, drops[1] - drops[0])
    };
    // 125 ms pass from the end of the idle time to the first drop.
    let (count, gap) = first_gap(1400);
    assert_eq!(gap, (100.0 / ((count - 1) as f64).sqrt()).ceil() as u64, "after {count} drops, the first began it");
    assert_eq!(first_gap(1500).1, 100, "that is long ago");
}

#[test]
fn what_a_full_buffer_drops_counts_as_dropped() {
    let mut served = Served::new();
    let first = served.overload(126, 800)[0];
    served.queue.count_overflow(99);
    let later = served.overload(300, 800);
    // The second was due already; from there on it is the 101st.
    assert_eq!(later[..2], [first + 100, first + 110]);
    // Before any drop there is no rate to go on with.
    let mut served = Served::new();
    served.queue.count_overflow(99);
    let drops = served.overload(300, 800);
    assert_eq!(drops[..2], [first, first + 100]);
}
