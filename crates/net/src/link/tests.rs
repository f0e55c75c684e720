use super::*;
use crate::Network;
use loadstone_units::{Rate, Seed};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

impl Packet for u32 {
    fn len(&self) -> u32 {
        *self
    }
}

fn down(network: &str) -> Link<u32> {
    let network: Network = network.parse().unwrap();
    Link::new(&network.down(), Seed(1), "down")
}

fn ms(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6) as u64)
}

/// All packets and when they come out.
fn drain(link: &mut Link<u32>) -> Vec<(Time, u32)> {
    let mut out = Vec::new();
    while let Some(at) = link.poll_timeout() {
        assert!(link.poll_packet(Time::from_nanos(at.as_nanos() - 1)).is_none(), "a packet came before its time");
        out.extend(link.poll_packet(at).map(|packet| (at, packet)));
    }
    out
}

#[test]
fn packets_queue_behind_one_another_at_the_rate() {
    let mut link = down("10mbit,100ms");
    link.handle_packet(ms(0.0), 1500);
    link.handle_packet(ms(0.0), 1500);
    link.handle_packet(ms(10.0), 1500);
    assert_eq!(drain(&mut link), [(ms(51.2), 1500), (ms(52.4), 1500), (ms(61.2), 1500)]);
}

#[test]
fn the_queue_counts_what_waits_not_what_is_being_sent() {
    let mut link = down("10mbit,100ms,queue=1p");
    for _ in 0..3 {
        link.handle_packet(ms(0.0), 1500);
    }
    assert_eq!(link.counts().dropped, 1, "one is sent, one waits, the third finds no room");
    // At 1.2 ms the second begins to be sent, so a place is free again, and not a moment before.
    link.handle_packet(Time::from_nanos(1_199_999), 1500);
    assert_eq!(link.counts().dropped, 2);
    link.handle_packet(ms(1.2), 1500);
    assert_eq!(link.counts().dropped, 2);
    assert_eq!(drain(&mut link).len(), 3);
}

#[test]
fn a_queue_of_bytes_takes_packets_until_it_is_full_to_the_byte() {
    for (last, dropped) in [(1000, 0), (1001, 1)] {
        let mut link = down("10mbit,100ms,queue=4KB");
        // The first is being sent, and the next two wait.
        [1500, 1500, 1500, last].into_iter().for_each(|len| link.handle_packet(ms(0.0), len));
        assert_eq!(link.counts().dropped, dropped, "{last} bytes more");
    }
}

#[test]
fn a_queue_in_ms_is_the_bytes_of_the_down_rate_in_both_directions() {
    let network: Network = "10/1mbit,100ms,queue=100ms".parse().unwrap();
    assert_eq!(network.down().queue, QueueLimit::Bytes(125_000));
    assert_eq!(network.up().queue, QueueLimit::Bytes(125_000));
}

#[test]
fn a_lost_packet_takes_no_queue_and_no_time() {
    let network: Network = "10mbit,100ms,50%".parse().unwrap();
    let mut draws = Seed(1).stream("down.loss");
    let fate: Vec<bool> = (0..20).map(|_| draws.next_f64() < 0.5).collect();
    let mut link = Link::new(&network.down(), Seed(1), "down");
    (0..20).for_each(|_| link.handle_packet(Time::ZERO, 1500));
    let survivors = fate.iter().filter(|lost| !**lost).count();
    let out = drain(&mut link);
    assert_eq!(out.len(), survivors);
    assert_eq!(out.last().map(|(at, _)| *at), Some(ms(50.0 + 1.2 * survivors as f64)));
}

#[test]
fn a_packet_that_is_not_accepted_is_told_of_with_the_time_at_which_it_would_have_come_out() {
    let mut link = down("10mbit,100ms,queue=1p");
    (0..4).for_each(|_| link.handle_packet(ms(0.0), 1500));
    link.handle_packet(ms(1.0), 750);
    // One is sent until 1.2 ms, one until 2.4 ms; each of the others would have been the next.
    let told: Vec<NotAccepted<u32>> = std::iter::from_fn(|| link.poll_lost()).collect();
    let dropped = |number, out, packet| NotAccepted { packet, number, out: ms(out), fate: Fate::Dropped };
    assert_eq!(told, [dropped(2, 53.6, 1500), dropped(3, 53.6, 1500), dropped(4, 53.0, 750)]);
    assert_eq!(link.poll_lost(), None);

    let lossy: Network = "10mbit,100ms,99.9999%".parse().unwrap();
    let mut link = Link::new(&lossy.down(), Seed(1), "down");
    link.handle_packet(ms(7.0), 1500);
    let told = NotAccepted { packet: 1500, number: 0, out: ms(58.2), fate: Fate::Lost };
    assert_eq!((link.poll_lost(), link.counts().lost), (Some(told), 1), "the link was idle");
}

#[test]
fn jitter_moves_packets_either_way_and_none_past_another() {
    // 10,000 packets, each 4 ms after the one before, with up to 6 ms more or less than 50 ms.
    let mut link = down("100mbit,100ms,jitter=6ms");
    let sent = |at: u32| ms(4.0 * f64::from(at));
    (0..10_000).for_each(|at| link.handle_packet(sent(at), 1000 + at % 400));
    let out = drain(&mut link);
    assert_eq!(out.len(), 10_000);
    assert!(out.iter().zip(0..).all(|((_, len), at)| *len == 1000 + at % 400), "in the order in which they came");
    let delays: Vec<f64> = out.iter().zip(0..).map(|((out, _), at)| out.nanos_since(sent(at)) as f64 / 1e6).collect();
    let (least, most) = delays.iter().fold((f64::MAX, 0.0_f64), |(least, most), ms| (least.min(*ms), most.max(*ms)));
    assert!((44.0..44.2).contains(&least) && (55.9..56.2).contains(&most), "{least} to {most}");
    let mean = delays.iter().sum::<f64>() / 1e4;
    assert!((50.0..51.0).contains(&mean), "waiting for those before makes it a little longer: {mean}");
}

proptest! {
    #[test]
    fn nothing_leaves_early_or_above_the_rate_and_every_packet_is_accounted_for(
        arrivals in prop::collection::vec((0_u64..5_000_000, 40_u32..1500), 1..200),
        loss in 0..60_u32,
        limit in 1_u32..50,
    ) {
        let mut link = down(&format!("3mbit,40ms,{loss}%,queue={limit}p"));
        let mut now = 0;
        // When each packet comes out, with its length and the earliest time that physics allows.
        let mut entered = std::collections::VecDeque::new();
        let mut out = Vec::new();
        // The time at which the last of the packets that have entered comes out.
        let mut latest = Time::ZERO;
        for (gap, len) in &arrivals {
            now += gap;
            while let Some(at) = link.poll_timeout().filter(|at| *at <= Time::from_nanos(now)) {
                out.extend(link.poll_packet(at).map(|packet| (at, packet)));
            }
            let before = link.counts();
            link.handle_packet(Time::from_nanos(now), *len);
            if (link.counts().lost, link.counts().dropped) == (before.lost, before.dropped) {
                entered.push_back((Time::from_nanos(now), *len));
                prop_assert_eq!(link.poll_lost(), None);
                latest = link.inside.back().unwrap().0;
            } else {
                let NotAccepted { packet: lost, number, out: would_arrive, .. } = link.poll_lost().unwrap();
                prop_assert_eq!((lost, number, link.poll_lost()), (*len, before.packets, None));
                // Had it been accepted it would have been the last of all, and at the rate behind the others.
                let serialised = Rate::from_bits_per_second(3_000_000).transmission(*len);
                let alone = Time::from_nanos(now) + serialised + Duration::from_millis(20);
                prop_assert_eq!(would_arrive, alone.max(latest + serialised));
            }
        }
        out.extend(drain(&mut link));
        prop_assert_eq!(out.len(), entered.len());
        let mut previous = Time::ZERO;
        for ((at, packet), (arrived, len)) in out.iter().zip(entered) {
            prop_assert_eq!(*packet, len, "in order");
            let serialised = Rate::from_bits_per_second(3_000_000).transmission(len);
            // Not before it can have crossed the link, and not faster than the rate behind the last.
            prop_assert!(*at >= arrived + serialised + Duration::from_millis(20));
            prop_assert!(*at >= previous + serialised, "{:?} after {:?}", at, previous);
            previous = *at;
        }
        let counts = link.counts();
        prop_assert_eq!(counts.packets, arrivals.len() as u64);
        prop_assert_eq!(counts.bytes, arrivals.iter().map(|(_, len)| u64::from(*len)).sum::<u64>());
        prop_assert_eq!(out.len() as u64 + counts.lost + counts.dropped, counts.packets);
    }
}

/// A link without propagation that follows a trace.
fn traced(trace: &str, queue: &str) -> Link<u32> {
    let network: Network = format!("10mbit,0ms,queue={queue},trace=t").parse().unwrap();
    let traces = [("t".to_owned(), Arc::new(trace.parse().unwrap()))].into();
    Link::new(&network.with_traces(&traces).unwrap().down(), Seed(1), "down")
}

#[test]
fn a_traced_link_delivers_at_its_opportunities() {
    let mut link = traced("3\n5\n5\n10\n", "100p");
    for _ in 0..5 {
        link.handle_packet(ms(0.0), 1500);
    }
    assert_eq!(drain(&mut link).into_iter().map(|(at, _)| at).collect::<Vec<_>>(), [3.0, 5.0, 5.0, 10.0, 13.0].map(ms));
    // The opportunity at 20 ms is wasted, since no packet waits; the next is at 23 ms.
    link.handle_packet(ms(20.5), 100);
    assert_eq!(drain(&mut link), [(ms(23.0), 100)]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_take_several() {
    let mut link = traced("10\n", "100p");
    for len in [700, 700, 700, 1500] {
        link.handle_packet(ms(1.0), len);
    }
    // 100 bytes of the third are in the first opportunity; the last needs what the second leaves, and more.
    assert_eq!(drain(&mut link), [(ms(10.0), 700), (ms(10.0), 700), (ms(20.0), 700), (ms(30.0), 1500)]);
}

#[test]
fn on_a_traced_link_a_packet_waits_for_its_opportunity_in_the_queue() {
    let mut link = traced("10\n", "1p");
    link.handle_packet(ms(1.0), 1500);
    link.handle_packet(ms(2.0), 1500);
    assert_eq!(link.counts().dropped, 1);
    let told = NotAccepted { packet: 1500, number: 1, out: ms(20.0), fate: Fate::Dropped };
    assert_eq!(link.poll_lost(), Some(told), "had it been accepted");
    link.handle_packet(ms(10.0), 1500);
    assert_eq!(drain(&mut link), [(ms(10.0), 1500), (ms(20.0), 1500)]);
}
