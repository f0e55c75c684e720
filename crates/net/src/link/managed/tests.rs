use crate::{Device, Fate, Link, Network, NotAccepted, Packet};
use loadstone_units::{Rate, Seed, Time};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// A packet of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sent {
    number: u64,
    flow: u32,
    len: u32,
}

impl Packet for Sent {
    fn len(&self) -> u32 {
        self.len
    }

    fn flow(&self) -> u32 {
        self.flow
    }
}

fn ms(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6) as u64)
}

fn link(network: &str) -> Link<Sent> {
    let network: Network = network.parse().unwrap();
    let trace = "2\n2\n7\n8\n20\n21\n30\n".parse().unwrap();
    let network = network.with_traces(&[("t".to_owned(), Arc::new(trace))].into()).unwrap();
    Link::new(&network.down(), Seed(1), "down")
}

/// What came of packets.
#[derive(PartialEq, Debug, Default)]
struct Course {
    out: Vec<(Time, Sent)>,
    not_accepted: Vec<NotAccepted<Sent>>,
    served: Vec<(u64, Time)>,
}

impl Course {
    /// Takes what has come out; `step` is how late the link is looked at.
    fn poll(&mut self, link: &mut Link<Sent>, until: Time, step: u64) {
        while let Some(due) = link.poll_timeout().filter(|due| *due <= until) {
            let now = due.plus_nanos(step).min(until);
            self.out.extend(std::iter::from_fn(|| link.poll_packet(now)).map(|packet| (due, packet)));
        }
    }

    fn of(link: &mut Link<Sent>, arrivals: &[(u64, u32, u32)], step: u64) -> Course {
        let (mut course, mut now) = (Course::default(), Time::ZERO);
        for (number, (gap, len, flow)) in (0..).zip(arrivals) {
            now = now.plus_nanos(*gap);
            course.poll(link, now, step);
            link.handle_packet(now, Sent { number, flow: *flow, len: *len });
        }
        course.poll(link, Time::NEVER, step);
        course.not_accepted.extend(std::iter::from_fn(|| link.poll_lost()));
        course.served.extend(std::iter::from_fn(|| link.poll_served()));
        course
    }
}

#[test]
fn a_full_buffer_drops_under_codel_what_comes_as_without_it() {
    let mut link = link("10mbit,100ms,queue=1p,aqm=codel");
    let packet = |number, len| Sent { number, flow: 0, len };
    (0..4).for_each(|number| link.handle_packet(ms(0.0), packet(number, 1500)));
    link.handle_packet(ms(1.0), packet(4, 750));
    let told: Vec<_> = std::iter::from_fn(|| link.poll_lost()).map(|lost| (lost.number, lost.out, lost.fate)).collect();
    // One is sent until 1.2 ms, one until 2.4 ms; each of the others would have been the next.
    let dropped = |number, out| (number, ms(out), Fate::Dropped);
    assert_eq!(told, [dropped(2, 53.6), dropped(3, 53.6), dropped(4, 53.0)]);
    // At 1.2 ms the second begins to be sent, so a place is free again, and not a moment before.
    link.handle_packet(Time::from_nanos(1_199_999), packet(5, 1500));
    assert_eq!(link.counts().dropped, 4);
    link.handle_packet(ms(1.2), packet(6, 1500));
    assert_eq!(link.counts().dropped, 4);
    assert_eq!(link.poll_timeout(), Some(ms(2.4)), "the queue is served when the serialiser is free");
}

#[test]
fn a_full_buffer_under_fq_codel_tells_at_once_of_what_it_drops() {
    let mut link = link("10mbit,100ms,queue=2p,aqm=fq_codel");
    (0..4).for_each(|number| link.handle_packet(ms(0.0), Sent { number, flow: 0, len: 1500 }));
    let told = link.poll_lost().map(|lost| (lost.number, lost.out, lost.fate));
    // It is the oldest that waits: it would have been sent after the one that is being sent.
    assert_eq!(told, Some((1, ms(52.4), Fate::Dropped)));
}

#[test]
fn codel_tells_of_a_packet_when_it_drops_it_with_when_it_would_have_come_out() {
    // A packet of 1,500 bytes takes 12 ms. The second leaves the queue 12 ms after it came: too long. It still is
    // an interval later, with the packet that leaves at 120 ms.
    let mut link = link("1mbit,20ms,queue=100p,aqm=codel");
    let arrivals = [(0, 1500, 0); 20];
    let course = Course::of(&mut link, &arrivals, 0);
    let [first, ..] = course.not_accepted[..] else { panic!("nothing was dropped") };
    assert_eq!((first.number, first.out, first.fate), (10, ms(120.0 + 12.0 + 10.0), Fate::Dropped));
    assert_eq!(course.out[10], (ms(142.0), Sent { number: 11, flow: 0, len: 1500 }), "the next one in its place");
}

#[test]
fn a_small_flow_passes_a_bulk_flow_that_fills_the_buffer() {
    let delay = |aqm: &str| {
        let mut link = link(&format!("10mbit,0ms,queue=200p{aqm}"));
        (0..80).for_each(|number| link.handle_packet(ms(0.0), Sent { number, flow: 1, len: 1500 }));
        link.handle_packet(ms(3.0), Sent { number: 80, flow: 2, len: 500 });
        let mut course = Course::default();
        course.poll(&mut link, Time::NEVER, 0);
        let (out, _) = course.out.iter().find(|(_, packet)| packet.flow == 2).unwrap();
        out.nanos_since(ms(3.0))
    };
    // The packet that is being sent goes until 3.6 ms, and the small one takes 0.4 ms.
    assert_eq!(delay(",aqm=fq_codel"), 1_000_000);
    assert_eq!(delay(""), 93_400_000);
    assert_eq!(delay(",aqm=codel"), 93_400_000, "too short for CoDel to have dropped");
}

#[test]
fn what_is_inside_is_taken_out_with_nothing_lost() {
    for aqm in ["codel", "fq_codel"] {
        let mut link = link(&format!("10mbit,100ms,queue=200p,aqm={aqm}"));
        (0..100).for_each(|number| link.handle_packet(ms(0.0), Sent { number, flow: number as u32 % 3, len: 1500 }));
        assert!(link.poll_packet(ms(5.0)).is_none(), "five are on their way, and the rest waits");
        let mut numbers: Vec<u64> = link.drain().map(|packet| packet.number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100), "{aqm}");
        assert_eq!(link.poll_timeout(), None);
    }
}

/// Packets that come faster than the link can send them for much of the time: gap in ns, bytes, flow.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32, u32)>> {
    prop::collection::vec((0_u64..6_000_000, 40_u32..1500, 0_u32..5), 1..400)
}

fn networks() -> impl Strategy<Value = String> {
    let aqm = prop_oneof!["codel", "fq_codel"];
    let more = prop_oneof!["", ",trace=t", ",jitter=3ms", ",5%", ",gemodel=1%/30%,jitter=1ms,trace=t"];
    (aqm, more, 1_u32..200).prop_map(|(aqm, more, limit)| format!("2mbit,20ms{more},queue={limit}p,aqm={aqm}"))
}

proptest! {
    #[test]
    fn every_packet_comes_out_once_in_its_flows_order_or_is_told_of(arrivals in arrivals(), network in networks()) {
        let mut link = link(&network);
        let course = Course::of(&mut link, &arrivals, 0);
        let mut numbers: Vec<u64> = course.out.iter().map(|(_, packet)| packet.number).collect();
        prop_assert!(course.served.iter().map(|(number, _)| number).eq(&numbers), "the link tells which and when");
        numbers.extend(course.not_accepted.iter().map(|lost| lost.number));
        numbers.sort_unstable();
        prop_assert!(numbers.into_iter().eq(0..arrivals.len() as u64));
        for flow in 0..5 {
            let of_flow = course.out.iter().filter(|(_, packet)| packet.flow == flow);
            prop_assert!(of_flow.is_sorted_by_key(|(_, packet)| packet.number));
        }
        for lost in &course.not_accepted {
            prop_assert_eq!((lost.packet.number, lost.packet.len), (lost.number, arrivals[lost.number as usize].1));
        }
        let counts = link.counts();
        prop_assert_eq!(counts.packets, arrivals.len() as u64);
        prop_assert_eq!(counts.bytes, arrivals.iter().map(|(_, len, _)| u64::from(*len)).sum::<u64>());
        prop_assert_eq!(course.out.len() as u64 + counts.lost + counts.dropped, counts.packets);
    }

    #[test]
    fn nothing_leaves_early_or_above_the_rate(arrivals in arrivals(), aqm in prop_oneof!["codel", "fq_codel"]) {
        let mut link = link(&format!("2mbit,20ms,queue=50p,aqm={aqm}"));
        let mut previous = Time::ZERO;
        for (at, packet) in Course::of(&mut link, &arrivals, 0).out {
            let entered: u64 = arrivals[..=packet.number as usize].iter().map(|(gap, ..)| gap).sum();
            let serialised = Rate::from_bits_per_second(2_000_000).transmission(packet.len);
            prop_assert!(at >= Time::from_nanos(entered) + serialised + Duration::from_millis(10));
            prop_assert!(at >= previous + serialised);
            previous = at;
        }
    }

    #[test]
    fn how_late_it_is_looked_at_does_not_change_what_it_does(
        arrivals in arrivals(),
        network in networks(),
        step in 0_u64..50_000_000,
    ) {
        let [on_time, late] = [0, step].map(|step| Course::of(&mut link(&network), &arrivals, step));
        prop_assert_eq!(&on_time.served, &late.served);
        prop_assert_eq!(on_time.not_accepted, late.not_accepted);
        prop_assert!(on_time.out.iter().map(|(_, packet)| packet).eq(late.out.iter().map(|(_, packet)| packet)));
    }

    #[test]
    fn where_codel_drops_nothing_the_link_is_as_without_it(arrivals in arrivals(), network in networks()) {
        let network = network.replace("fq_codel", "codel");
        let short = &arrivals[..arrivals.len().min(40)];
        let managed = Course::of(&mut link(&network), short, 0);
        let plain = Course::of(&mut link(&network.replace(",aqm=codel", "")), short, 0);
        let by_codel = managed.not_accepted.len() > plain.not_accepted.len();
        prop_assume!(!by_codel);
        prop_assert_eq!(managed.out, plain.out);
        prop_assert_eq!(managed.not_accepted, plain.not_accepted);
    }
}
