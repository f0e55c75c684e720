//! The packets of a run against what the run says of itself, and against arithmetic.

use crate::{MSS, load, object, page, textbook, variant};
use loadstone_http::Protocol;
use loadstone_load::page::{HostSpec, PageFile, RequestScheduling};
use loadstone_net::LinkId;
use loadstone_net::tcp::{LossRecovery, Repair};
use loadstone_scenario::{Capture, Captured, Fate, Outcome, Plan, Repetition, Scenario, Timestamps, Variant};
use loadstone_sim::run_captured;
use loadstone_units::{Seed, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// A ms in nanoseconds.
const MILLI: u64 = 1_000_000;
/// The access link towards the client.
const DOWN: LinkId = LinkId(0);
/// The same towards the servers.
const UP: LinkId = LinkId(1);

fn captured(scenario: &Scenario, limit: usize) -> (Outcome, Capture) {
    let plan = Plan::new(scenario).unwrap();
    let mut outcome = run_captured(&plan, Seed(scenario.seed), limit);
    let capture = outcome.capture.take().unwrap();
    (outcome, capture)
}

/// A page of two hosts, one of them 30 ms further away, through loss and a short queue.
fn lossy() -> Scenario {
    let mut page = page([object("/", 200_000), object("/1", 100_000), object("/2", 30_000)]);
    page.objects[2].url = "http://far.test/".to_owned();
    page.hosts.insert("far.test".to_owned(), HostSpec { rtt_ms: 30.0, ..HostSpec::default() });
    let network = "10/1mbit,50ms,2%,queue=5p".parse().unwrap();
    Scenario { network, seed: 3, ..Scenario::of(page) }
}

#[test]
fn a_capture_changes_nothing_and_is_not_made_unasked() {
    let scenario = lossy();
    let plain = loadstone_sim::run(&Plan::new(&scenario).unwrap(), Seed(3));
    assert_eq!((captured(&scenario, 100_000).0, plain.capture.as_ref()), (plain.clone(), None));
}

#[test]
fn requests_of_chromium_fill_the_congestion_window_one_by_one() {
    let requests = |scheduling| {
        let objects = std::iter::once(object("/", 5_000)).chain((0..14).map(|at| object(&format!("/{at}"), 1_000)));
        let page = PageFile { scheduling, ..page(objects) };
        let variant = variant(r#"{"protocol": "h2"}"#);
        let scenario = Scenario { network: "50/10mbit,100ms".parse().unwrap(), variant, ..Scenario::of(page) };
        let (_, Capture { packets, .. }) = captured(&scenario, 100_000);
        // After the acknowledgement of the server's SETTINGS.
        let is_request =
            |packet: &&Captured| packet.link == UP && packet.len > 9 && packet.entered.as_nanos() > 150 * MILLI;
        let sent: Vec<u64> =
            packets.iter().filter(is_request).map(|packet| packet.entered.as_nanos() / MILLI).collect();
        sent
    };
    assert_eq!(requests(RequestScheduling::PageOrder), [201], "all in one segment");
    // Nine more segments are the initial window, and the rest goes in one when the first are acknowledged.
    let apart: Vec<u64> = [201; 9].into_iter().chain([301]).collect();
    assert_eq!(requests(RequestScheduling::Chromium), apart);
}

#[test]
fn every_packet_is_there_with_its_fate() {
    let (outcome, Capture { packets, hosts, left_out, .. }) = captured(&lossy(), 100_000);
    let count = |is: &dyn Fn(&&Captured) -> bool| packets.iter().filter(is).count() as u64;
    assert_eq!(left_out, 0);
    assert_eq!(count(&|packet| packet.link.is_down()), outcome.packets_down);
    assert_eq!(count(&|packet| !packet.link.is_down()), outcome.packets_up);
    let bytes = packets.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>();
    assert_eq!(bytes, outcome.bytes_down + outcome.bytes_up);
    assert!(packets.is_sorted_by_key(|packet| packet.entered));
    for fate in [Fate::Lost, Fate::Dropped] {
        assert!(count(&|packet| packet.fate == fate) > 0, "{fate:?}");
    }
    assert!(packets.iter().any(|packet| !packet.sacks.is_empty()));
    for packet in &packets {
        let host = outcome.per_connection[packet.connection as usize].host;
        assert_eq!(hosts[packet.host as usize], ["a.test", "far.test"][host.0 as usize]);
        if let Fate::Delivered(due) = packet.fate {
            // The way to the far host is 15 ms longer, and behind the link's end only upwards.
            let far = host.0 == 1 && !packet.link.is_down();
            let least = Duration::from_millis(if far { 40 } else { 25 });
            assert!(due > packet.entered + least && due <= outcome.plt, "{packet:?}");
        }
    }
}

#[test]
fn the_packets_of_a_handshake_come_when_they_should() {
    // A SYN of 60 bytes takes 0.48 ms upwards and 0.048 ms downwards, an acknowledgement of 52 0.416 ms.
    let scenario = Scenario { network: "10/1mbit,100ms".parse().unwrap(), ..Scenario::of(page([object("/", 1)])) };
    let (_, capture) = captured(&Scenario { variant: textbook(), ..scenario }, 3);
    let us = |us: u64| Time::from_nanos(us * 1000);
    let seen = |packet: &Captured| (packet.entered, packet.link, packet.flags.to_string(), packet.seq, packet.fate);
    let expected = [
        (us(0), UP, "S".to_owned(), 0, Fate::Delivered(us(50_480))),
        (us(50_480), DOWN, "SA".to_owned(), 0, Fate::Delivered(us(100_528))),
        (us(100_528), UP, "A".to_owned(), 1, Fate::Delivered(us(150_944))),
    ];
    assert_eq!(capture.packets.iter().map(seen).collect::<Vec<_>>(), expected);
    let all = load(page([object("/", 1)]), "10/1mbit,100ms", textbook());
    assert_eq!(capture.left_out, all.packets_down + all.packets_up - 3);
}

#[test]
fn what_is_not_there_at_the_end_is_under_way() {
    // A response of two segments, of which the second is acknowledged at once.
    let scenario = Scenario { variant: textbook(), ..Scenario::of(page([object("/", 2 * MSS - 250)])) };
    let (outcome, capture) = captured(&scenario, 100);
    let last = capture.packets.last().unwrap();
    assert_eq!((last.entered, last.link, last.fate), (outcome.plt, UP, Fate::Underway));
}

#[test]
fn over_time_the_window_opens_the_queue_fills_and_the_round_trip_grows_by_as_much() {
    let network = "4/4mbit,100ms,queue=1s".parse().unwrap();
    let scenario = Scenario { network, ..Scenario::of(page([object("/", 400_000), object("/small", 1000)])) };
    let (_, capture) = captured(&scenario, 100_000);
    let timeline = capture.timeline().expect("there was a connection");
    let values = |samples: &[(f64, f64)]| samples.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let [cwnd, rtt, queue] = [&timeline.cwnd, &timeline.rtt_ms, &timeline.queue_ms].map(|samples| values(samples));
    assert_eq!(cwnd[0], 10.0);
    assert!(cwnd.is_sorted() && most(&cwnd) > 60.0, "nothing is lost: {cwnd:?}");
    assert!(rtt.iter().all(|ms| *ms > 100.0) && rtt[0] < 110.0, "{rtt:?}");
    assert!(queue.contains(&0.0) && most(&queue) > 100.0, "{queue:?}");
    // A full packet takes 3 ms at this rate, an acknowledgement may wait for a second one.
    assert!((most(&rtt) - 100.0 - most(&queue)).abs() < 10.0, "{} {}", most(&rtt), most(&queue));
    assert!(timeline.rtt_ms.is_sorted_by(|a, b| a.0 <= b.0));
    let [connection, ..] = &capture.packets[..] else { panic!() };
    assert_eq!((timeline.connection, timeline.host.as_str()), (connection.connection, "a.test"));
    assert_eq!(Capture::default().timeline(), None);
}

/// For each packet what a judge that looks at every number finds of it; for one link.
fn judged(packets: &[Captured]) -> Vec<Repetition> {
    let mut sent: BTreeMap<(u32, u32, u64), Repetition> = BTreeMap::new();
    let judge = |packet: &Captured| {
        let key = |number| (packet.connection, packet.sender, number);
        let of_numbers: Vec<Option<Repetition>> =
            packet.numbers().map(|number| sent.get(&key(number)).copied()).collect();
        let is_delivered = matches!(packet.fate, Fate::Delivered(_));
        for number in packet.numbers() {
            let state = sent.entry(key(number)).or_insert(Repetition::Needed);
            *state = if is_delivered { Repetition::Spurious } else { *state };
        }
        if of_numbers.iter().all(Option::is_none) {
            Repetition::New
        } else if of_numbers.iter().all(|state| *state == Some(Repetition::Spurious)) {
            Repetition::Spurious
        } else {
            Repetition::Needed
        }
    };
    packets.iter().map(judge).collect()
}

#[test]
fn every_retransmission_says_why_and_whether_it_was_needed() {
    let (mut total, mut spurious, mut handshakes) = (LossRecovery::default(), 0, 0);
    for (seed, protocol) in (1..=12).zip([Protocol::Http1, Protocol::H2, Protocol::Spdy31].into_iter().cycle()) {
        let scenario = lossy();
        let variant = Variant { protocol, ..scenario.variant.clone() };
        let network = "10/1mbit,50ms,5%,queue=5p".parse().unwrap();
        let (outcome, capture) = captured(&Scenario { seed, variant, network, ..scenario }, 100_000);
        let count = |is: fn(Repair) -> bool| {
            capture.packets.iter().filter_map(|packet| packet.repair).filter(|repair| is(*repair)).count() as u64
        };
        let counted = LossRecovery {
            fast_retransmissions: count(|repair| matches!(repair, Repair::Fast(_))),
            tail_loss_probes: count(|repair| matches!(repair, Repair::LossProbe | Repair::NewDataProbe)),
            timeouts: count(|repair| repair == Repair::Timeout),
        };
        assert_eq!(Some(counted), outcome.loss_recovery);
        let of_data = count(|repair| repair.is_retransmission() && repair != Repair::Handshake);
        assert_eq!(of_data, outcome.retransmissions);
        let repetitions = capture.repetitions();
        for (packet, repetition) in capture.packets.iter().zip(&repetitions) {
            let is_retransmission = packet.repair.is_some_and(Repair::is_retransmission);
            assert_eq!(is_retransmission, *repetition != Repetition::New, "{packet:?}");
        }
        assert_eq!(repetitions, judged(&capture.packets));
        total = total + counted;
        spurious += repetitions.iter().filter(|repetition| **repetition == Repetition::Spurious).count();
        handshakes += count(|repair| repair == Repair::Handshake);
    }
    assert!(total.fast_retransmissions > 0 && total.tail_loss_probes > 0 && total.timeouts > 0, "{total:?}");
    assert!(spurious > 0 && handshakes > 0, "{spurious}, {handshakes}");
}

#[test]
fn a_packet_has_its_window_and_when_it_was_sent_and_echoes_when_the_other_was() {
    let (_, Capture { packets, connections, .. }) = captured(&lossy(), 100_000);
    for (at, packet) in packets.iter().enumerate() {
        let Timestamps { val, ecr } = packet.timestamps.unwrap();
        let connection = connections[packet.connection as usize];
        let ends = if packet.sender == connection.client { connection.there } else { connection.back }.unwrap();
        let sent = packet.entered.as_nanos() - ends.before_first.as_nanos() as u64;
        // From 1 on, since an echo of 0 is none.
        assert_eq!(u64::from(val), sent / MILLI + 1, "{packet:?}");
        let is_there = |other: &Captured| matches!(other.fate, Fate::Delivered(due) if due <= packet.entered);
        let echoed = |other: &&Captured| {
            let is_from_other = (other.connection, other.sender == packet.sender) == (packet.connection, false);
            is_from_other && is_there(other) && other.timestamps.unwrap().val == ecr
        };
        assert_eq!(ecr == 0, packet.flags.syn && !packet.flags.ack);
        assert!(ecr == 0 || packets[..at].iter().any(|other| echoed(&other)), "{packet:?}");
        assert!(packet.window >= 14_600, "the initial window: {packet:?}");
    }
}
