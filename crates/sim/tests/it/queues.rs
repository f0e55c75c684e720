//! What a deep buffer does to delays, and what CoDel changes.

use crate::{object, page};
use loadstone_load::page::PageFile;
use loadstone_net::LinkId;
use loadstone_scenario::{Captured, Fate, Outcome, Plan, Scenario};
use loadstone_sim::run_captured;
use loadstone_units::{Rate, Seed};

/// The rate of the link, in bits per second, and its notation with 1 s of buffer.
const RATE: u64 = 10_000_000;
const LINK: &str = "10mbit,40ms,queue=1000ms";
/// CoDel's target, in ms.
const TARGET: f64 = 5.0;

/// A load with all its packets.
fn loaded(page: &PageFile, aqm: &str) -> Outcome {
    let network = format!("{LINK}{aqm}").parse().unwrap();
    let plan = Plan::new(&Scenario { network, ..Scenario::of(page.clone()) }).unwrap();
    let outcome = run_captured(&plan, Seed(1), 1_000_000);
    assert!(outcome.completed);
    outcome
}

/// For how long a packet waited in the queue, in ms; nothing if it did not come out.
fn wait(packet: &Captured) -> Option<f64> {
    let Fate::Delivered(due) = packet.fate else { return None };
    let serialised = Rate::from_bits_per_second(RATE).transmission(packet.bytes).as_secs_f64() * 1e3;
    Some(due.as_ms() - packet.entered.as_ms() - serialised - 20.0)
}

/// The waits of those packets towards the client for which this holds, the shortest first.
fn waits(outcome: &Outcome, holds: impl Fn(&Captured) -> bool) -> Vec<f64> {
    let packets = outcome.capture.as_ref().unwrap().packets.iter();
    let mut waits: Vec<f64> =
        packets.filter(|packet| packet.link == LinkId(0) && holds(packet)).filter_map(wait).collect();
    waits.sort_unstable_by(f64::total_cmp);
    waits
}

#[test]
fn codel_keeps_a_download_from_filling_a_deep_buffer() {
    // Of 30 MB, the second half of the time: CUBIC has found the size of the buffer by then.
    let standing = |aqm| {
        let outcome = loaded(&page([object("/", 30_000_000)]), aqm);
        let half = outcome.plt.as_ms() / 2.0;
        let waits = waits(&outcome, |packet| packet.entered.as_ms() > half);
        (waits[waits.len() / 2], waits[waits.len() * 9 / 10], outcome.plt.as_ms())
    };
    let (plain, _, plain_plt) = standing("");
    // From a full buffer CUBIC goes back to 0.7 of its window, which is the buffer and the round trip.
    assert!((0.7 * 1040.0 - 40.0..=1000.0).contains(&plain), "{plain} ms without CoDel");
    for aqm in [",aqm=codel"] {
        let (median, most, plt) = standing(aqm);
        assert!(median < TARGET && most < 2.0 * TARGET, "{aqm}: {median} ms, nine in ten below {most} ms");
        assert!(plt < 1.1 * plain_plt, "{aqm} costs little of the rate: {plt} ms, {plain_plt} ms without");
    }
}
