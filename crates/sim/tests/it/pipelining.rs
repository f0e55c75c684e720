//! Pipelines that a proxy on the way breaks, and a browser that finds out before it sends one (`yahoo` 4.3).

use loadstone_load::page::PROBED_HOST;
use loadstone_scenario::{Outcome, Plan, Scenario};
use loadstone_sim::run_all;
use loadstone_units::Seed;

/// A document with nine images of its host, loaded through a proxy that treats pipelines so.
fn through(proxy: &str, protocol: &str, probe: &str) -> (Plan, Outcome) {
    let images = (1..10).map(|at| format!(r#", {{"url": "http://a.test/{at}.png", "bytes": {at}00}}"#));
    let page = format!(r#"{{"objects": [{{"url": "http://a.test/", "bytes": 1000}}{}]}}"#, images.collect::<String>());
    let text = format!(
        r#"{{"page": {page}, "network": "100/100mbit,100ms",
            "variant": {{"protocol": "{protocol}", "tls": "none", "connections": 1, "pipelining_probe": "{probe}"}},
            "topology": {{"hosts": [
                {{"name": "browser", "runs": "browser", "via": "proxy"}},
                {{"name": "proxy", "runs": "relay", "pipelined": "{proxy}"}},
                {{"name": "servers", "runs": "origins"}}],
            "links": [
                {{"name": "access", "between": ["browser", "proxy"]}},
                {{"name": "backhaul", "between": ["proxy", "servers"], "network": "1gbit,1ms"}}]}}}}"#
    );
    let plan = Plan::new(&Scenario::from_json(text.as_bytes()).unwrap()).unwrap();
    let outcome = run_all(&plan, Seed(1), None).remove(0);
    (plan, outcome)
}

const PIPELINING: &str = "http/1.1+pipelining";
const TRUSTING: &str = "nothing";
const PROBING: &str = "at-start";

/// The page's time in round trips, and how many of its objects came as they are.
fn loaded(proxy: &str, probe: &str) -> (u64, usize) {
    let (plan, outcome) = through(proxy, PIPELINING, probe);
    let own = plan
        .page()
        .fetches()
        .zip(&outcome.waterfall)
        .filter(|((_, fetch), _)| plan.page().hosts[fetch.host.0 as usize].name != PROBED_HOST);
    let whole = own.filter(|((_, fetch), row)| row.last_byte.is_some() && row.body_bytes == fetch.body.len);
    ((outcome.plt.as_ms() / 100.0).round() as u64, whole.count())
}

#[test]
fn a_browser_that_probes_pipelines_where_pipelines_come_through() {
    // A handshake, the document, and the images in one pipeline.
    assert_eq!(loaded("answered", TRUSTING), (3, 10));
    // The probe's three answers are there a moment after the document, so the first image is asked for alone.
    assert_eq!(loaded("answered", PROBING), (4, 10));
}

#[test]
fn a_browser_that_probes_asks_one_by_one_where_a_proxy_breaks_pipelines() {
    for proxy in ["lost", "closed", "mistaken"] {
        assert_eq!(loaded(proxy, PROBING), (2 + 9, 10), "{proxy}");
    }
}

#[test]
fn a_browser_that_trusts_a_faulty_proxy_waits_or_gets_the_wrong_answers() {
    // It gives a connection up on which nothing has come for 300 s, and asks one by one from then on.
    let (round_trips, whole) = loaded("lost", TRUSTING);
    assert!(round_trips > 3000 && whole == 10, "{round_trips} {whole}");
    // A pipeline that is cut costs a connection, and then a round trip for each.
    assert_eq!(loaded("closed", TRUSTING), (3 + 1 + 8, 10));
    // In time, but only the document and the first image are what they should be.
    assert_eq!(loaded("mistaken", TRUSTING), (3, 2));
}

#[test]
fn nothing_is_probed_where_nothing_is_pipelined() {
    let (plan, outcome) = through("answered", "http/1.1", PROBING);
    assert_eq!((plan.page().hosts.len(), outcome.completed), (1, true));
}
