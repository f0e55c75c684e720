use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Pairs of numbers instead of times.
fn plain(stalls: Vec<Range<Time>>) -> Vec<(u64, u64)> {
    stalls.into_iter().map(|stall| (stall.start.as_nanos(), stall.end.as_nanos())).collect()
}

#[test]
fn a_stall_lasts_from_when_the_packet_was_due_until_its_numbers_are_there() {
    let mut stalls = Stalls::default();
    stalls.handle_lost(1..11, at(50), 1);
    assert!(!stalls.is_idle());
    stalls.handle_expected(at(170), 31);
    assert!(stalls.is_idle());
    assert_eq!(plain(stalls.until(at(500))), [(50, 170)]);
}

#[test]
fn it_begins_when_all_before_it_is_there_if_that_is_later() {
    let mut stalls = Stalls::default();
    stalls.handle_lost(11..21, at(50), 1);
    stalls.handle_expected(at(60), 6);
    stalls.handle_expected(at(80), 11);
    stalls.handle_expected(at(90), 21);
    assert_eq!(plain(stalls.until(at(500))), [(80, 90)]);
}

#[test]
fn a_hole_that_is_filled_before_it_is_reached_is_no_stall() {
    let mut stalls = Stalls::default();
    stalls.handle_lost(11..21, at(50), 1);
    // The numbers came again out of order, and the receiver went past them at once.
    stalls.handle_expected(at(70), 31);
    assert!(plain(stalls.until(at(500))).is_empty());
}

#[test]
fn a_retransmission_that_is_lost_prolongs_it() {
    let mut stalls = Stalls::default();
    stalls.handle_lost(1..11, at(50), 1);
    stalls.handle_lost(1..11, at(150), 1);
    stalls.handle_expected(at(900), 11);
    assert_eq!(plain(stalls.until(at(1000))), [(50, 900)]);
}

#[test]
fn one_that_was_repaired_in_pieces_is_one() {
    let mut stalls = Stalls::default();
    stalls.handle_lost(1..11, at(50), 1);
    stalls.handle_expected(at(70), 8);
    stalls.handle_expected(at(90), 11);
    assert_eq!(plain(stalls.until(at(500))), [(50, 90)]);
}

#[test]
fn losses_of_what_is_there_already_and_of_pure_acknowledgements_are_none() {
    let mut stalls = Stalls::default();
    stalls.handle_lost(1..11, at(50), 11);
    stalls.handle_lost(11..11, at(50), 11);
    assert!(stalls.is_idle());
    assert!(plain(stalls.until(at(500))).is_empty());
}

#[test]
fn a_stall_that_is_under_way_ends_with_the_account() {
    let mut stalls = Stalls::default();
    stalls.handle_lost(0..1, at(50), 0);
    assert_eq!(plain(stalls.clone().until(at(51))), [(50, 51)]);
    assert!(plain(stalls.until(at(50))).is_empty());
}

/// A packet of a script: its numbers, when it is sent, how long it takes, whether it is lost.
#[derive(Clone, Debug)]
struct Sent {
    at: u64,
    takes: u64,
    numbers: Range<u64>,
    lost: bool,
}

impl Sent {
    fn due(&self) -> u64 {
        self.at + self.takes
    }
}

/// Packets over few numbers, in any order, sent within 60 ns; at the end everything comes once more.
fn scripts() -> impl Strategy<Value = Vec<Sent>> {
    let packet = (0_u64..60, 1_u64..20, 0_u64..12, 0_u64..5, any::<bool>());
    prop::collection::vec(packet, 0..40).prop_map(|drawn| {
        let mut script: Vec<Sent> = drawn
            .into_iter()
            .map(|(at, takes, start, len, lost)| Sent { at, takes, numbers: start..start + len, lost })
            .collect();
        script.sort_by_key(|sent| sent.at);
        script
    })
}

/// The number that is expected at `now`: the first that has not arrived by then.
fn expected(script: &[Sent], now: u64) -> u64 {
    let arrived = script.iter().filter(|sent| !sent.lost && sent.due() <= now);
    let held: BTreeSet<u64> = arrived.flat_map(|sent| sent.numbers.clone()).collect();
    (0..).find(|number| !held.contains(number)).unwrap()
}

const END: u64 = 100;

/// The definition, nanosecond by nanosecond.
fn naive(script: &[Sent]) -> Vec<(u64, u64)> {
    let mut stalls: Vec<(u64, u64)> = Vec::new();
    for now in 0..END {
        let next = expected(script, now);
        if script.iter().any(|sent| sent.lost && sent.due() <= now && sent.numbers.contains(&next)) {
            match stalls.last_mut() {
                Some(last) if last.1 == now => last.1 = now + 1,
                _ => stalls.push((now, now + 1)),
            }
        }
    }
    stalls
}

/// The machine, told of things as a driver meets them.
fn told(script: &[Sent]) -> Vec<(u64, u64)> {
    let mut stalls = Stalls::default();
    let mut before = 0;
    for now in 0..END {
        let next = expected(script, now);
        if next != before && !stalls.is_idle() {
            stalls.handle_expected(at(now), next);
        }
        before = next;
        for sent in script.iter().filter(|sent| sent.at == now && sent.lost) {
            stalls.handle_lost(sent.numbers.clone(), at(sent.due()), next);
        }
    }
    plain(stalls.until(at(END)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn it_is_the_definition_nanosecond_by_nanosecond(script in scripts()) {
        prop_assert_eq!(told(&script), naive(&script));
    }
}
