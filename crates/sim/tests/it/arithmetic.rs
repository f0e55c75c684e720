//! The `textbook` profile against calculations made here, which know nothing of the simulator.

use crate::{FAST, MSS, load, object, page, variant};
use loadstone_scenario::Outcome;
use std::collections::BTreeMap;

const RTT: u64 = 100;
const DELAYED_ACK: u64 = 40;

/// A single object whose response, with its head of 250 bytes, fills `segments` segments.
fn single(segments: u64, iw: u64) -> Outcome {
    let variant = variant(&format!(r#"{{"tcp": {{"profile": "textbook", "iw": {iw}, "cc": "reno"}}}}"#));
    load(page([object("/", segments * MSS - 250)]), FAST, variant)
}

/// When the last of `segments` segments arrives, in ms, on a link whose rate does not matter.
///
/// One round trip for the handshake, half of one for the request; then the server sends its window.
/// The client acknowledges every second segment at once, a lone one after 40 ms. Each acknowledged
/// segment frees its own place and adds one.
fn slow_start(segments: u64, iw: u64) -> u64 {
    let (mut window, mut flight, mut sent) = (iw, 0, 0);
    let (mut arrived, mut unacknowledged, mut lone_since) = (0, 0, None);
    // Batches of segments on their way to the client, of acknowledged segments to the server.
    let mut data: BTreeMap<u64, u64> = BTreeMap::new();
    let mut acks: BTreeMap<u64, u64> = BTreeMap::from([(RTT + RTT / 2, 0)]);
    loop {
        let deadline = lone_since.map_or(u64::MAX, |since| since + DELAYED_ACK);
        let next = |batches: &BTreeMap<u64, u64>| batches.keys().next().copied().unwrap_or(u64::MAX);
        let now = next(&data).min(next(&acks)).min(deadline);
        if let Some(acked) = acks.remove(&now) {
            (window, flight) = (window + acked, flight - acked);
            let batch = (window - flight).min(segments - sent);
            (flight, sent) = (flight + batch, sent + batch);
            *data.entry(now + RTT / 2).or_default() += batch;
        }
        if let Some(batch) = data.remove(&now) {
            arrived += batch;
            if arrived == segments {
                return now;
            }
            unacknowledged += batch;
            let acked = unacknowledged / 2 * 2;
            unacknowledged -= acked;
            *acks.entry(now + RTT / 2).or_default() += acked;
            // A lone segment that was waiting is answered with the first of this batch.
            lone_since = (unacknowledged == 1 && batch > 0).then_some(now);
        }
        if deadline == now {
            (lone_since, unacknowledged) = (None, 0);
            *acks.entry(now + RTT / 2).or_default() += 1;
        }
    }
}

/// Milliseconds, less what the packets take on the wire (some 12 ns each).
fn whole_ms(outcome: &Outcome) -> u64 {
    let ms = outcome.plt.as_ms();
    assert!(ms - ms.floor() < 0.05, "{ms}");
    ms.floor() as u64
}

#[test]
fn the_calculation_agrees_with_what_is_known_of_even_windows() {
    // 10, 20, 40, 80 segments a round: the sender never waits for a delayed acknowledgement.
    for (segments, rounds) in [(1, 1), (10, 1), (11, 2), (30, 2), (31, 3), (70, 3), (71, 4), (150, 4), (151, 5)] {
        assert_eq!(slow_start(segments, 10), RTT * (1 + rounds), "{segments}");
    }
    // And with an odd one: 3 segments, then 4, then 2 that the lone third segment frees 40 ms later.
    assert_eq!([3, 4, 7, 8, 9, 10].map(|n| slow_start(n, 3)), [200, 300, 300, 340, 340, 400]);
}

#[test]
fn a_single_object_takes_a_handshake_and_windows_that_grow_by_what_is_acknowledged() {
    for iw in [1, 2, 3, 4, 10, 16, 32] {
        for segments in (1..=100).chain([150, 151, 500]) {
            assert_eq!(whole_ms(&single(segments, iw)), slow_start(segments, iw), "{segments} segments, IW {iw}");
        }
    }
}

#[test]
fn initial_window_10_saves_against_3_what_the_calculation_says() {
    for segments in 1..=100 {
        let saved = whole_ms(&single(segments, 3)) - whole_ms(&single(segments, 10));
        assert_eq!(saved, slow_start(segments, 3) - slow_start(segments, 10), "{segments} segments");
    }
}

#[test]
fn a_large_object_tends_to_the_rate_less_heads() {
    // Of 1,500 bytes on the wire 1,448 are content.
    let ms_on_the_wire = |bytes: f64| bytes * 1500.0 / 1448.0 * 8.0 / 10_000.0;
    for cc in ["reno", "cubic"] {
        let plt = |bytes: u64| {
            let variant = variant(&format!(r#"{{"tcp": {{"cc": "{cc}"}}}}"#));
            load(page([object("/", bytes)]), "10mbit,20ms", variant).plt.as_ms()
        };
        let least = ms_on_the_wire(3e6) + 2.0 * 20.0;
        let three_megabytes = plt(3_000_000);
        assert!((least..least * 1.05).contains(&three_megabytes), "{cc}: {three_megabytes} of at least {least}");
        // Beyond that every byte takes what the rate says, to half a percent.
        let more = plt(30_000_000) - three_megabytes;
        let ideal = ms_on_the_wire(27e6);
        assert!((ideal * 0.999..ideal * 1.005).contains(&more), "{cc}: {more} of {ideal}");
    }
}
