//! What a load's time went into, against calculations made here, and what holds for every account.

use crate::laws::{pages, variants};
use crate::{FAST, MSS, load, object, page, run_once, textbook, variant};
use loadstone_load::page::{ActivityId, ComputeSpec, HostSpec, Need, ObjectSpec, On, PageFile, Task};
use loadstone_load::{Foresight, FoundBy, Names, Scope};
use loadstone_scenario::{Outcome, Part, Plan, Row, Scenario, Span};
use loadstone_sim::run;
use loadstone_units::{Seed, Time};
use proptest::prelude::*;
use std::time::Duration;

use Part::{Handshakes, LossRecovery, PageItself, RequestRoundTrips, Server, Transfer, WaitingForConnection};

/// Bytes of a request's and of a response's head where the page does not say.
const REQUEST: u64 = 400;
const RESPONSE: u64 = 250;
/// Bytes of packets without data, and what data has around it.
const SYN: u64 = 60;
const ACK: u64 = 52;
const MS: u64 = 1_000_000;

/// Nanoseconds that a packet of this length takes at 1000 Gbit/s.
fn fast(bytes: u64) -> u64 {
    (bytes * 8).div_ceil(1000)
}

/// The parts that have a share, with their nanoseconds; they add up to the page load time.
#[track_caller]
fn parts(outcome: &Outcome) -> Vec<(Part, u64)> {
    let account = outcome.account();
    assert!(outcome.completed);
    assert_eq!(account.total(), outcome.plt.as_nanos());
    Part::ALL.into_iter().map(|part| (part, account.nanos(part))).filter(|(_, nanos)| *nanos > 0).collect()
}

/// The parts in whole ms, on a link whose rate does not matter.
#[track_caller]
fn whole_ms(outcome: &Outcome) -> Vec<(Part, u64)> {
    let whole = |(part, nanos): (Part, u64)| {
        assert!(nanos % MS < 50_000, "{part:?}: {nanos}");
        (part, nanos / MS)
    };
    parts(outcome).into_iter().map(whole).filter(|(_, ms)| *ms > 0).collect()
}

#[test]
fn one_object_over_plain_tcp() {
    // A byte takes 0.8 us down and 8 us up; a way takes 50 ms.
    let outcome = load(page([object("/", 1000)]), "10/1mbit,100ms", textbook());
    let handshakes = 8_000 * SYN + 50 * MS + 800 * SYN + 50 * MS;
    // The last acknowledgement of the handshake goes before the request.
    let round_trip = 8_000 * ACK + 8_000 * (ACK + REQUEST) + 50 * MS + 50 * MS;
    let transfer = 800 * (ACK + RESPONSE + 1000);
    assert_eq!(parts(&outcome), [(Handshakes, handshakes), (RequestRoundTrips, round_trip), (Transfer, transfer)]);
    assert_eq!(outcome.first_request, Some(Time::from_nanos(handshakes)));
    let order: Vec<Part> = outcome.path.iter().map(|span| span.part).collect();
    assert_eq!(order, [Handshakes, RequestRoundTrips, Transfer, RequestRoundTrips]);
}

#[test]
fn tls_is_part_of_the_handshakes() {
    let secure = ObjectSpec { url: "https://a.test/".to_owned(), bytes: 1000, ..ObjectSpec::default() };
    let outcome = load(page([secure]), FAST, textbook());
    // SYN; SYN, ACK; ACK, first flight; three segments of 4,000 bytes together.
    let flight = 2 * fast(ACK + MSS) + fast(ACK + 4000 - 2 * MSS);
    let handshakes = 200 * MS + 2 * fast(SYN) + fast(ACK) + fast(ACK + 517) + flight;
    // The last flight of 80 bytes and the request, a record of 22 bytes more, share a segment.
    let round_trip = 100 * MS + fast(ACK + 80 + 22 + REQUEST);
    let transfer = fast(ACK + 22 + RESPONSE + 1000);
    assert_eq!(parts(&outcome), [(Handshakes, handshakes), (RequestRoundTrips, round_trip), (Transfer, transfer)]);
    assert_eq!(outcome.first_request, Some(Time::from_nanos(handshakes)));
}

#[test]
fn thinking_is_the_server_s() {
    let mut slow = page([ObjectSpec { think_ms: Some(30.0), ..object("/", 1000) }]);
    slow.hosts.insert("a.test".to_owned(), HostSpec { think_ms: 12.5, ..HostSpec::default() });
    let account = load(slow, FAST, textbook()).account();
    assert_eq!(account.nanos(Server), 42_500_000);
}

#[test]
fn a_distant_host_makes_round_trips_longer_and_nothing_else() {
    let mut distant = page([object("/", 1000)]);
    distant.hosts.insert("a.test".to_owned(), HostSpec { rtt_ms: 40.0, ..HostSpec::default() });
    assert_eq!(whole_ms(&load(distant, FAST, textbook())), [(Handshakes, 140), (RequestRoundTrips, 140)]);
}

fn need(node: &str, on: On, ms: f64) -> Need {
    Need { node: node.to_owned(), on, bytes: Some(1), ms, ..Need::default() }
}

#[test]
fn compute_nodes_and_delays_are_the_page_itself() {
    let mut objects = vec![object("/", 1000), object("/app.js", 1000), object("/data", 1000)];
    objects[2].needs = Some(vec![need("run", On::End, 5.0)]);
    let after_the_script = Some(vec![need("http://a.test/app.js", On::End, 0.0)]);
    let compute =
        vec![ComputeSpec { name: "run".to_owned(), ms: 30.0, needs: after_the_script, ..ComputeSpec::default() }];
    let outcome = load(PageFile { objects, compute, ..PageFile::default() }, FAST, textbook());
    assert_eq!(whole_ms(&outcome), [(Handshakes, 100), (RequestRoundTrips, 300), (PageItself, 35)]);
    let own: Vec<u32> = outcome.path.iter().filter(|s| s.part == PageItself).map(|s| s.activity.0).collect();
    assert_eq!(own, [3, 2], "the node, then the delay of what waited for it");
}

#[test]
fn an_object_is_on_the_path_only_until_it_is_left() {
    // The first segments of the root lead to the second object; the rest of the root comes in time.
    let mut objects = vec![object("/", 20 * MSS - RESPONSE), object("/late", 1000)];
    objects[1].needs = Some(vec![need("http://a.test/", On::Bytes, 400.0)]);
    let outcome = load(page(objects), FAST, variant(r#"{"connections": 1}"#));
    assert_eq!(whole_ms(&outcome), [(Handshakes, 100), (RequestRoundTrips, 200), (PageItself, 400)]);
    assert_eq!(outcome.account().nanos(Transfer), fast(ACK + MSS) + fast(ACK + RESPONSE + 1000));
}

#[test]
fn seven_objects_over_one_connection_wait_for_it() {
    let outcome = load(page((0..7).map(|at| object(&format!("/{at}"), 1000))), FAST, variant(r#"{"connections": 1}"#));
    // The root, then five others before the last: each takes a round trip.
    assert_eq!(whole_ms(&outcome), [(Handshakes, 100), (WaitingForConnection, 500), (RequestRoundTrips, 200)]);
    let activities: Vec<u32> = outcome.path.iter().map(|span| span.activity.0).collect();
    assert!(activities.iter().all(|activity| [0, 6].contains(activity)), "{activities:?}");
}

#[test]
fn what_does_not_fit_into_the_window_is_transfer() {
    // 10, 20, 40 segments a round; see `arithmetic`.
    for (segments, ms) in [(10, None), (11, Some(100)), (30, Some(100)), (31, Some(200)), (71, Some(300))] {
        let outcome = load(page([object("/", segments * MSS - RESPONSE)]), FAST, textbook());
        let transfer = ms.map(|ms| (Transfer, ms));
        let expected: Vec<_> = [(Handshakes, 100), (RequestRoundTrips, 100)].into_iter().chain(transfer).collect();
        assert_eq!(whole_ms(&outcome), expected, "{segments} segments");
    }
}

#[test]
fn a_response_that_waits_for_its_turn_is_transfer() {
    let mut objects = vec![object("/", 1000), object("/slow", 1000), object("/quick", 1000)];
    objects[1].think_ms = Some(200.0);
    let outcome = load(page(objects), FAST, variant(r#"{"protocol": "http/1.1+pipelining"}"#));
    assert_eq!(outcome.path.last().map(|span| span.activity), Some(ActivityId(2)));
    assert_eq!(whole_ms(&outcome), [(Handshakes, 100), (RequestRoundTrips, 200), (Transfer, 200)]);
}

/// A run of a lone object of this many segments in which, of the first packets of each direction,
/// exactly those are lost whose numbers are named, from 0.
fn losing(segments: u64, up: &[usize], down: &[usize]) -> Outcome {
    losing_on(page([object("/", segments * MSS - RESPONSE)]), up, down)
}

fn losing_on(page: PageFile, up: &[usize], down: &[usize]) -> Outcome {
    let fits = |seed: u64, name: &str, lost: &[usize]| {
        let mut draws = Seed(seed).stream(name);
        (0..30).all(|at| (draws.next_f64() < 0.05) == lost.contains(&at))
    };
    let seed = (0..1_000_000).find(|seed| fits(*seed, "up.loss", up) && fits(*seed, "down.loss", down)).unwrap();
    let network = "1000gbit,100ms,loss=5%,queue=1000000p".parse().unwrap();
    run_once(&Plan::new(&Scenario { network, variant: textbook(), seed, ..Scenario::of(page) }).unwrap())
}

#[test]
fn without_losses_the_lossy_link_is_the_other_one() {
    assert_eq!(parts(&losing(10, &[], &[])), parts(&load(page([object("/", 10 * MSS - RESPONSE)]), FAST, textbook())));
}

#[test]
fn a_lost_syn_costs_a_second_from_when_it_would_have_arrived() {
    let whole = parts(&losing(1, &[], &[]));
    let outcome = losing(1, &[0], &[]);
    assert_eq!(parts(&outcome), [whole, vec![(LossRecovery, 1000 * MS)]].concat());
    assert_eq!(outcome.path[0].to.as_nanos(), 50 * MS + fast(SYN), "from when it would have arrived");
    // The SYN of the client is sent again too, and answered again.
    let outcome = losing(1, &[], &[0]);
    assert_eq!(outcome.account().nanos(LossRecovery), 1000 * MS);
    assert_eq!(outcome.path[0].to.as_nanos(), 100 * MS + 2 * fast(SYN));
}

#[test]
fn a_packet_lost_on_the_access_link_would_have_gone_on_to_the_distant_host() {
    for (up, down, due) in [(&[0][..], &[][..], 70 * MS + fast(SYN)), (&[], &[0], 140 * MS + 2 * fast(SYN))] {
        let mut distant = page([object("/", 1000)]);
        distant.hosts.insert("a.test".to_owned(), HostSpec { rtt_ms: 40.0, ..HostSpec::default() });
        let outcome = losing_on(distant, up, down);
        assert_eq!(outcome.path[0].to.as_nanos(), due);
        assert_eq!(whole_ms(&outcome), [(Handshakes, 140), (RequestRoundTrips, 140), (LossRecovery, 1000)]);
    }
}

#[test]
fn a_lost_request_costs_a_second() {
    let outcome = losing(1, &[2], &[]);
    // The first copy had queued behind the acknowledgement.
    assert_eq!(outcome.account().nanos(LossRecovery), 1000 * MS - fast(ACK));
    let order: Vec<Part> = outcome.path.iter().map(|span| span.part).collect();
    assert_eq!(order, [Handshakes, RequestRoundTrips, LossRecovery, Transfer, RequestRoundTrips]);
}

#[test]
fn a_segment_lost_in_the_middle_costs_a_round_trip() {
    let whole = losing(10, &[], &[]);
    let outcome = losing(10, &[], &[3]);
    // It would have arrived when the fourth did, as it took no time on the link. The sixth told the
    // server, by an acknowledgement with one SACK block of 8 + 4 bytes.
    let segment = fast(ACK + MSS);
    let stall = 2 * segment + fast(ACK + 12) + 50 * MS + segment + 50 * MS;
    assert_eq!(outcome.account().nanos(LossRecovery), stall);
    // With it all that came meanwhile is there. Before it two more segments than the first arrived.
    assert_eq!(outcome.account().nanos(Transfer), 3 * segment);
    assert_eq!(whole.account().nanos(Transfer), 10 * segment);
    assert_eq!(outcome.path.last().map(|span| span.part), Some(LossRecovery));
    let counts = outcome.loss_recovery.unwrap();
    assert_eq!((counts.fast_retransmissions, counts.timeouts), (outcome.retransmissions, 0));
}

#[test]
fn a_lost_tail_costs_a_timeout_and_what_comes_before_it() {
    let outcome = losing(10, &[], &[10]);
    // The ninth segment is acknowledged after 40 ms, which starts the timer of one second.
    let segment = fast(ACK + MSS);
    let from_the_ninth = 40 * MS + fast(ACK) + 50 * MS + 1000 * MS + segment + 50 * MS;
    assert_eq!(outcome.account().nanos(LossRecovery), from_the_ninth - segment);
    let counts = outcome.loss_recovery.unwrap();
    assert_eq!((counts.fast_retransmissions, counts.timeouts, outcome.retransmissions), (0, 1, 1));
}

#[test]
fn a_retransmission_that_is_lost_too_prolongs_the_stall() {
    let (once, twice) = (losing(10, &[], &[10]), losing(10, &[], &[10, 11]));
    let more = twice.account().nanos(LossRecovery) - once.account().nanos(LossRecovery);
    assert_eq!(more, 2000 * MS, "the timeout is doubled");
    assert_eq!(parts(&once)[..3], parts(&twice)[..3]);
}

#[test]
fn a_packet_dropped_at_a_full_queue_is_lost() {
    // One is sent, one waits, the third finds no room.
    let outcome = load(page([object("/", 3 * MSS - RESPONSE)]), "10/1mbit,100ms,queue=1p", textbook());
    let (segment, ack) = (800 * 1500, 8_000 * ACK);
    assert_eq!(outcome.retransmissions, 1);
    // Two segments are acknowledged at once. The third would have arrived right behind them.
    let stall = ack + 50 * MS + 1000 * MS + segment + 50 * MS - segment;
    assert_eq!(outcome.account().nanos(LossRecovery), stall);
    assert_eq!(outcome.account().nanos(Transfer), 3 * segment);
}

#[test]
fn a_failed_attempt_is_loss_recovery() {
    let network = "1000gbit,100ms,loss=0%/70%,queue=1000000p".parse().unwrap();
    let scenario = Scenario { network, variant: textbook(), ..Scenario::of(page([object("/", 1000)])) };
    let plan = Plan::new(&scenario).unwrap();
    let again = |seed| run(&plan, Seed(seed));
    let retried = |outcome: &Outcome| outcome.completed && outcome.waterfall[0].retried.is_some();
    let outcome = (0..200).map(again).find(retried).unwrap();
    let row = outcome.waterfall[0];
    assert_eq!((row.found, row.connection), (Some(Time::ZERO), Some(1)));
    // The browser waits for 300 s in silence.
    assert!(row.retried >= Some(Time::ZERO + Duration::from_secs(300)));
    let first = Span { activity: ActivityId(0), part: LossRecovery, from: Time::ZERO, to: row.retried.unwrap() };
    assert_eq!(outcome.path[0], first);
    let marks = [row.retried, row.sent, row.arrived, row.answered, row.first_byte, row.last_byte];
    assert!(marks.is_sorted() && marks.iter().all(Option::is_some), "{row:?}");
    assert_eq!(outcome.account().total(), outcome.plt.as_nanos());
}

#[test]
fn a_load_that_is_not_completed_has_no_account() {
    let network = "1mbit,100ms,99.9%".parse().unwrap();
    let scenario = Scenario { network, variant: textbook(), ..Scenario::of(page([object("/", 1000)])) };
    let outcome = run_once(&Plan::new(&scenario).unwrap());
    assert!(!outcome.completed && outcome.path.is_empty());
    assert_eq!(outcome.account().total(), 0);
    assert!(outcome.per_connection.iter().all(|connection| connection.established.is_none()));
}

#[test]
fn connections_say_what_they_carried_without_tls() {
    for tls in ["none", "1.2", "1.3"] {
        let mut objects = vec![object("/", 1000), object("/1", 30_000), object("/2", 30_000)];
        objects[1].url = "http://b.test/1".to_owned();
        objects[2].needs = Some(vec![need("http://b.test/1", On::End, 0.0)]);
        let outcome = load(page(objects), FAST, variant(&format!(r#"{{"tls": "{tls}"}}"#)));
        let carried: Vec<_> =
            outcome.per_connection.iter().map(|conn| (conn.host.0, conn.content_up, conn.content_down)).collect();
        let expected = [(0, 2 * REQUEST, 2 * RESPONSE + 31_000), (1, REQUEST, RESPONSE + 30_000)];
        assert_eq!(carried, expected, "TLS {tls}");
        let opened: Vec<_> = outcome.per_connection.iter().map(|conn| Some(conn.opened)).collect();
        assert_eq!(opened, [Some(Time::ZERO), outcome.waterfall[1].found]);
        let established: Vec<_> = outcome.per_connection.iter().map(|conn| conn.established).collect();
        assert_eq!(established, [outcome.waterfall[0].sent, outcome.waterfall[1].sent]);
    }
}

/// The pages of `laws` with a distant host and with compute nodes that some objects wait for as well.
fn richer_pages() -> impl Strategy<Value = PageFile> {
    let nodes = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u32..40), 0..4);
    (pages(), nodes, 0_u32..60, 0_u32..20).prop_map(|(mut page, nodes, rtt, think)| {
        let spec = HostSpec { rtt_ms: f64::from(rtt), think_ms: f64::from(think), ..HostSpec::default() };
        page.hosts.insert("h1.test".to_owned(), spec);
        for (name, (before, after, ms)) in nodes.into_iter().enumerate() {
            let name = format!("node {name}");
            let before = before.index(page.objects.len());
            let node = &page.objects[before].url;
            let needs = Some(vec![need(node, [On::Start, On::Bytes, On::End][(ms % 3) as usize], 0.0)]);
            // Only what comes later on the page may wait for it: no circles.
            let later = before + 1 + after.index(page.objects.len());
            if let Some(Some(needs)) = page.objects.get_mut(later).map(|object| &mut object.needs) {
                needs.push(need(&name, On::End, 1.0));
            }
            page.compute.push(ComputeSpec { name, ms: f64::from(ms), needs, ..ComputeSpec::default() });
        }
        page
    })
}

/// The stretch of an object's load in which a part may lie.
fn stretch(part: Part, row: &Row) -> (Option<Time>, Option<Time>) {
    match part {
        PageItself => (Some(Time::ZERO), row.found),
        Handshakes | WaitingForConnection => (row.found.max(row.retried), row.sent),
        RequestRoundTrips => (row.sent, row.first_byte),
        Server => (row.arrived, row.answered),
        Transfer => (row.answered, row.last_byte),
        LossRecovery => (row.found, row.last_byte),
    }
}

/// What every account obeys.
fn check(plan: &Plan, outcome: &Outcome) -> Result<(), TestCaseError> {
    let (page, mut now) = (plan.page(), Time::ZERO);
    for span in &outcome.path {
        prop_assert_eq!(span.from, now);
        prop_assert!(span.to > span.from);
        now = span.to;
    }
    prop_assert_eq!(now, outcome.plt);
    prop_assert_eq!(outcome.account().total(), outcome.plt.as_nanos());
    for span in &outcome.path {
        let at = span.activity.0 as usize;
        let Task::Fetch(fetch) = &page.activities[at].task else {
            prop_assert_eq!(span.part, PageItself);
            continue;
        };
        let row = &outcome.waterfall[at];
        // Of an object that was left before its first attempt failed the marks are those of another.
        if row.retried.is_none_or(|again| span.to > again) {
            let (from, to) = stretch(span.part, row);
            let inside = from.is_some_and(|from| from <= span.from) && to.is_none_or(|to| span.to <= to);
            // What was told of may have come before the page wants it.
            let is_early = span.part == PageItself && row.found_by != FoundBy::Page && row.last_byte <= Some(span.from);
            prop_assert!(inside || is_early, "{:?} of {:?}", span, row);
        }
        if span.part == Server {
            let think = page.hosts[fetch.host.0 as usize].think + fetch.think;
            let thought = u128::from(span.to.nanos_since(span.from));
            // Of what is told ahead the page waits for the end of the thinking, of what tells for its beginning.
            let Foresight { push, hint, .. } = plan.variant().foresight;
            let is_told = (push, hint) != (Scope::Nothing, Scope::Nothing);
            prop_assert!(thought == think.as_nanos() || (is_told && thought < think.as_nanos()), "{:?}", span);
        }
        if span.part == Handshakes && row.retried.is_none() {
            let conn = &outcome.per_connection[row.connection.unwrap() as usize];
            // The look-up of its name comes before.
            prop_assert!(conn.opened <= span.from || plan.variant().names == Names::LookedUp);
            prop_assert!(Some(span.to) <= conn.established);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_account_is_exact(
        page in richer_pages(),
        variant_json in variants(),
        (rate, rtt) in (100_u64..50_000, 1_u64..400),
        loss in 0_u32..30,
        queue in prop::sample::select(vec!["1p", "10p", "100ms", "1000p"]),
        seed in 1_u64..1_000_000,
    ) {
        let network = format!("{rate}kbit,{rtt}ms,{loss}%,queue={queue}").parse().unwrap();
        let plan = Plan::new(&Scenario { network, variant: variant(&variant_json), seed, ..Scenario::of(page) }).unwrap();
        let outcome = run_once(&plan);
        if outcome.completed {
            check(&plan, &outcome)?;
        }
        let again: u64 = outcome.per_connection.iter().map(|connection| connection.retransmissions).sum();
        prop_assert_eq!(again, outcome.retransmissions);
        let used = outcome.waterfall.iter().filter_map(|row| row.connection).max();
        prop_assert!(used.is_none_or(|used| used < outcome.connections), "{:?} of {}", used, outcome.connections);
    }

    #[test]
    fn where_nothing_is_lost_nothing_is_recovered(
        page in richer_pages(),
        variant_json in variants(),
        (rate, rtt) in (100_u64..50_000, 1_u64..400),
    ) {
        let network = format!("{rate}kbit,{rtt}ms,queue=1000000p").parse().unwrap();
        let plan = Plan::new(&Scenario { network, variant: variant(&variant_json), seed: 1, ..Scenario::of(page) }).unwrap();
        let outcome = run_once(&plan);
        check(&plan, &outcome)?;
        prop_assert_eq!(outcome.account().nanos(LossRecovery), 0);
    }
}
