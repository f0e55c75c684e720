//! What a deep buffer does to delays, and what CoDel and fq_codel change.

use crate::{object, page};
use loadstone_load::page::{Need, ObjectSpec, PageFile};
use loadstone_net::LinkId;
use loadstone_scenario::{Captured, Fate, Outcome, Plan, Scenario};
use loadstone_sim::{run_all, run_captured};
use loadstone_units::{Rate, Seed};

/// The rate of the link, in bits per second, and its notation with 1 s of buffer.
const RATE: u64 = 10_000_000;
const LINK: &str = "10mbit,40ms,queue=1000ms";
/// How long a full packet takes on it, in ms.
const PACKET: f64 = 1.2;
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
    for aqm in [",aqm=codel", ",aqm=fq_codel"] {
        let (median, most, plt) = standing(aqm);
        assert!(median < TARGET && most < 2.0 * TARGET, "{aqm}: {median} ms, nine in ten below {most} ms");
        assert!(plt < 1.1 * plain_plt, "{aqm} costs little of the rate: {plt} ms, {plain_plt} ms without");
    }
}

/// Four downloads of 5 MB, which are 16 s at least, and after 3 s beside them four small objects one after the other.
fn small_beside_bulk() -> PageFile {
    let bulk = |at| ObjectSpec { url: format!("http://bulk{at}.test/"), bytes: 5_000_000, ..ObjectSpec::default() };
    let small = |at: usize| {
        let (node, ms) = if at == 0 {
            ("http://a.test/".to_owned(), 3000.0)
        } else {
            (format!("http://small.test/{}", at - 1), 50.0)
        };
        let needs = Some(vec![Need { node, ms, ..Need::default() }]);
        ObjectSpec { url: format!("http://small.test/{at}"), bytes: 500, needs, ..ObjectSpec::default() }
    };
    page([object("/", 1000)].into_iter().chain((0..4).map(bulk)).chain((0..4).map(small)))
}

#[test]
fn fq_codel_lets_a_small_flow_pass_four_downloads() {
    let longest = |aqm| {
        let outcome = loaded(&small_beside_bulk(), aqm);
        let capture = outcome.capture.as_ref().unwrap();
        let small = capture.hosts.iter().position(|host| host == "small.test").unwrap();
        let waits = waits(&outcome, |packet| packet.host as usize == small && packet.len > 0);
        assert!(waits.len() >= 4);
        waits[waits.len() - 1]
    };
    // A new flow has the next turn: it waits for the packet that is being sent, and for acknowledgements of its own. A
    // turn of each download would be four packets.
    let by_flow = longest(",aqm=fq_codel");
    assert!(by_flow < 2.0 * PACKET, "{by_flow}");
    // With one queue for all it waits behind the downloads: CoDel only makes that short.
    let (codel, plain) = (longest(",aqm=codel"), longest(""));
    assert!(codel > 2.0 * PACKET && plain > 10.0 * codel, "{codel} ms with CoDel, {plain} ms without");
}

#[test]
fn four_downloads_share_a_link_evenly_under_fq_codel() {
    let outcome = loaded(&small_beside_bulk(), ",aqm=fq_codel");
    let capture = outcome.capture.as_ref().unwrap();
    // What each has got between the 5th and the 10th second.
    let mut bytes = [0_u64; 4];
    for packet in capture.packets.iter().filter(|packet| packet.link == LinkId(0)) {
        let host = &capture.hosts[packet.host as usize];
        let bulk = host
            .strip_prefix("bulk")
            .and_then(|rest| rest.strip_suffix(".test"))
            .map(|at| at.parse::<usize>().unwrap());
        if let (Some(at), Fate::Delivered(due)) = (bulk, packet.fate)
            && (5000.0..10_000.0).contains(&due.as_ms())
        {
            bytes[at] += u64::from(packet.bytes);
        }
    }
    let share = RATE as f64 / 8.0 * 5.0 / 4.0;
    assert!(bytes.iter().all(|bytes| (*bytes as f64 / share - 1.0).abs() < 0.1), "{bytes:?} of {share}");
}

/// A page of 41 objects that begins 5 s after a download of another client behind the same phone link.
fn page_beside_download(protocol: &str, aqm: &str) -> f64 {
    let objects: Vec<String> = (0..40)
        .map(|at| format!(r#"{{"url": "https://a.test/{at}", "bytes": 20000, "needs": [{{"node": "https://a.test/", "ms": 5000}}]}}"#))
        .collect();
    let text = format!(
        r#"{{"page": {{"objects": [{{"url": "https://a.test/", "bytes": 500}}, {}]}},
            "variant": {{"protocol": "{protocol}"}},
            "topology": {{
                "hosts": [
                    {{"name": "page", "runs": "browser"}},
                    {{"name": "download", "runs": "browser",
                      "page": {{"objects": [{{"url": "http://big.test/", "bytes": 60000000}}]}}}},
                    {{"name": "home", "runs": "junction"}},
                    {{"name": "servers", "runs": "origins"}}],
                "links": [
                    {{"name": "one", "between": ["page", "home"], "network": "1000mbit,0ms"}},
                    {{"name": "other", "between": ["download", "home"], "network": "1000mbit,0ms"}},
                    {{"name": "phone", "between": ["home", "servers"],
                      "network": "10.5/2.8mbit,74ms,queue=500ms{aqm}"}}]}}}}"#,
        objects.join(",")
    );
    let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
    run_all(&plan, Seed(1), None)[0].plt.as_ms() - 5000.0
}

#[test]
fn a_page_is_loaded_at_least_twice_as_fast_beside_a_download_if_the_queue_is_managed() {
    // The figures of docs/networks.md: run this with --nocapture.
    for protocol in ["http/1.1", "h2"] {
        let [plain, codel, fq_codel] =
            ["", ",aqm=codel", ",aqm=fq_codel"].map(|aqm| page_beside_download(protocol, aqm));
        println!("{protocol}: {plain:.0} ms, codel {codel:.0} ms, fq_codel {fq_codel:.0} ms");
        assert!(2.0 * codel < plain && 2.0 * fq_codel < plain);
    }
}
