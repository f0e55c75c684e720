//! Rates, queues and losses, with the kernel's TCP on both sides.

use crate::{MSS, bed, begin, data, fetch, initial_window, turn};
use loadstone_bed::{BedHost, LinkReport, LoggedPacket};
use loadstone_net::Fate;
use loadstone_units::Seed;
use std::time::Duration;

/// One way, of a round trip of 10 ms.
const DELAY: Duration = Duration::from_millis(5);

/// The rate at which full packets arrive, against that of the link: 1 if they are equal. It counts while the link is
/// full: from each packet to the next that was there before the first had left. A sender that pauses leaves it empty.
fn rate(report: &LinkReport, mbit: f64) -> f64 {
    let full: Vec<&LoggedPacket> = data(report).filter(|event| event.packet.payload() == MSS as u32).collect();
    let due = |event: &LoggedPacket| match event.fate {
        Fate::Delivered(due) => due,
        other => panic!("{other:?} on a link that loses nothing"),
    };
    let waited: Vec<_> = full.windows(2).filter(|pair| pair[1].entered + DELAY <= due(pair[0])).collect();
    assert!(
        waited.len() * 10 >= full.len() * 9,
        "the link was empty before {} of {}",
        full.len() - waited.len(),
        full.len()
    );
    let nanos: u64 = waited.iter().map(|pair| pair[1].written.unwrap().nanos_since(pair[0].written.unwrap())).sum();
    let bytes: u64 = waited.iter().map(|pair| u64::from(pair[1].packet.len)).sum();
    bytes as f64 * 8.0 / (nanos as f64 / 1e9) / (mbit * 1e6)
}

#[test]
fn a_full_link_carries_its_rate() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &initial_window(100));
    for mbit in [1.0, 10.0, 20.0, 100.0] {
        // The first flight fills the link: 100 packets, where 100 Mbit/s in 10 ms are 84. It takes 1 s.
        let run = begin(&bed, &format!("{mbit}mbit,10ms,queue=10000p"), 1);
        fetch(&bed, 0, MSS * (mbit * 1e6 / 8.0 / 1500.0) as usize);
        let ratio = rate(&run.finish().unwrap(), mbit);
        assert!((ratio - 1.0).abs() <= 0.0005, "{mbit} Mbit/s: {ratio}");
    }
}

#[test]
fn two_full_links_at_once_carry_their_rates() {
    let Some(_turn) = turn() else { return };
    let ratio = |mbit: f64| {
        let bed = bed(1, &initial_window(100));
        let run = begin(&bed, &format!("{mbit}mbit,10ms,queue=10000p"), 1);
        fetch(&bed, 0, MSS * (mbit * 1e6 / 8.0 / 1500.0) as usize);
        rate(&run.finish().unwrap(), mbit)
    };
    let ratios = std::thread::scope(|scope| {
        let other = scope.spawn(|| ratio(20.0));
        [ratio(10.0), other.join().unwrap()]
    });
    assert!(ratios.iter().all(|ratio| (ratio - 1.0).abs() <= 0.0005), "{ratios:?}");
}

#[test]
fn a_seed_loses_the_same_packets_and_the_kernel_repairs_it() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &initial_window(10));
    for seed in [1, 1, 2] {
        let run = begin(&bed, "20/10mbit,20ms,4%/2%,queue=1000p", seed);
        fetch(&bed, 0, 300_000);
        let report = run.finish().unwrap();
        for (passage, name, loss) in [(report.down(), "down.loss", 0.04), (report.up(), "up.loss", 0.02)] {
            let mut draws = Seed(seed).stream(name);
            let expected: Vec<u64> = (0..passage.counts.packets).filter(|_| draws.next_f64() < loss).collect();
            assert_eq!(passage.lost.iter().map(|lost| lost.number).collect::<Vec<_>>(), expected);
            assert_eq!((passage.counts.lost, passage.counts.dropped), (expected.len() as u64, 0));
            assert!(passage.lost.iter().all(|lost| lost.fate == Fate::Lost));
        }
        let lost_data = report.down().lost.iter().filter(|lost| lost.packet.numbers() > 0).count() as u64;
        assert!(lost_data > 0);
        // Each is retransmitted at least once, except those that nothing waits for at the end.
        let again = report.connections[0].down;
        assert!(again.retransmissions + again.syn_retransmissions + 1 >= lost_data);
        assert!(again.retransmissions < 2 * lost_data + 10, "{again:?} of {lost_data}");
    }
}

#[test]
fn every_packet_is_delivered_lost_or_dropped() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &initial_window(32));
    for aqm in ["", ",aqm=codel", ",aqm=fq_codel"] {
        let run = begin(&bed, &format!("10/1mbit,40ms,1%,queue=10p{aqm}"), 3);
        fetch(&bed, 0, 200_000);
        check_fates(&run.finish().unwrap());
    }
}

/// What the log says of each packet is what the links counted, and what came through was put into its host.
fn check_fates(report: &LinkReport) {
    let mut delivered = 0;
    for (passage, is_down) in [(report.down(), true), (report.up(), false)] {
        let there: Vec<Fate> = report
            .trace
            .iter()
            .filter(|event| (event.packet.to == BedHost::CLIENT) == is_down)
            .map(|event| event.fate)
            .collect();
        let count = |is: fn(&Fate) -> bool| there.iter().filter(|fate| is(fate)).count() as u64;
        assert_eq!(there.len() as u64, passage.counts.packets);
        assert_eq!(count(|fate| *fate == Fate::Lost), passage.counts.lost);
        assert_eq!(count(|fate| *fate == Fate::Dropped), passage.counts.dropped);
        assert_eq!(passage.lost.len() as u64, passage.counts.lost + passage.counts.dropped);
        delivered += count(|fate| matches!(fate, Fate::Delivered(_)));
    }
    assert_eq!(delivered, report.lateness.packets);
}

#[test]
fn a_short_queue_drops_the_tail_of_a_flight() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &initial_window(32));
    let run = begin(&bed, "10/1mbit,40ms,queue=5p", 1);
    fetch(&bed, 0, MSS * 32);
    let report = run.finish().unwrap();
    // One is being sent and five wait; the others come within the 1.2 ms of the first, but for a few perhaps.
    let dropped: Vec<_> = report.down().lost.iter().filter(|lost| lost.fate == Fate::Dropped).collect();
    let of_the_flight = dropped.iter().filter(|lost| lost.number <= 34).count();
    assert!((20..=26).contains(&of_the_flight), "{dropped:?}");
    assert!(report.connections[0].down.retransmissions >= dropped.len() as u64);
}

#[test]
fn codel_keeps_a_kernels_download_from_filling_a_deep_buffer() {
    let Some(_turn) = turn() else { return };
    let bed = bed(1, &initial_window(10));
    // 6 MB take 2.4 s: after half of it the kernel has learned what the buffer holds.
    let median_wait = |aqm: &str| {
        let run = begin(&bed, &format!("20mbit,10ms,queue=500ms{aqm}"), 1);
        fetch(&bed, 0, 6_000_000);
        let report = run.finish().unwrap();
        let wait = |event: &LoggedPacket| match event.fate {
            Fate::Delivered(due) => Some(due.nanos_since(event.entered + DELAY) as f64 / 1e6),
            _ => None,
        };
        let mut waits: Vec<f64> = data(&report).filter_map(wait).collect();
        let mut later = waits.split_off(waits.len() / 2);
        later.sort_unstable_by(f64::total_cmp);
        later[later.len() / 2]
    };
    let (plain, codel, fq_codel) = (median_wait(""), median_wait(",aqm=codel"), median_wait(",aqm=fq_codel"));
    // CoDel's target is 5 ms, and a packet takes 0.6 ms.
    assert!(codel < 10.0 && fq_codel < 10.0, "{codel} and {fq_codel} ms, {plain} ms without");
    assert!(plain > 50.0, "{plain}");
}
