//! What browsers, servers and links know of a run, as outcomes.

use super::{RunError, RunRecord};
use crate::report::LinkStats;
use crate::{BedHost, ConnectionKey, ConnectionReport, LinkReport};
use loadstone_http::TransportStream;
use loadstone_live::{Joined, Loaded, Served, join};
use loadstone_load::{ConnectionRecord, Marks, StreamStalls, critical_path};
use loadstone_net::Fabric;
use loadstone_scenario::{Conditions, ConnectionOutcome, HostRole, Outcome, Plan, PlannedHost, Way};
use loadstone_units::{Seed, Time};
use std::fs;

/// What each browser gave, in their order.
pub(super) fn outcomes(plan: &Plan, seed: Seed, seen: RunRecord) -> Result<Vec<Outcome>, RunError> {
    let RunRecord { loaded, served, links } = seen;
    let each = loaded.into_iter().enumerate();
    each.map(|(at, loaded)| outcome(plan, seed, BedHost(at), loaded, &served, &links)).collect()
}

/// What one browser gave, counted from its first packet.
fn outcome(
    plan: &Plan,
    seed: Seed,
    at: BedHost,
    loaded: Loaded,
    served: &[Served],
    report: &LinkReport,
) -> Result<Outcome, RunError> {
    let browser = &plan.hosts()[at.0];
    let HostRole::Browser { page } = browser.role else { unreachable!("browsers come first") };
    let origin = report.departures[at.0].ok_or(RunError::Nothing)?;
    let (end, over) = (loaded.end, loaded.over);
    let completed = end.is_some_and(|end| end.completed);
    let ended = end.map_or(over, |end| end.at);
    // The load is over when its last packet is delivered, of which the browser hears a little later; unless that comes
    // with a load event, which also waits for computing, and for names that do not exist.
    let ends_with_data = completed && loaded.marks.load_event.is_none();
    let last_data = report.arrivals[at.0].last_data.filter(|at| ends_with_data && *at <= ended);
    let delivered = last_data.unwrap_or(ended);
    let (mut marks, joined) = join(loaded, served);
    marks = marks.counted_from(origin);
    let plt = delivered.counted_from(origin);
    trim(&mut marks, plt);
    let on_links = |conn| (conn, on_links(at, browser, conn, &report.connections));
    let connections: Vec<_> = joined.iter().map(on_links).collect();
    let per_connection: Vec<_> =
        connections.iter().map(|(conn, seen)| connection(conn, *seen, (origin, plt))).collect();
    let fabric = plan.fabric_of(seed);
    let records: Vec<_> = connections
        .iter()
        .map(|(conn, seen)| record(&fabric, browser.ways[conn.host.0 as usize], conn, *seen, origin))
        .collect();
    let link = plan.access_link(at.0);
    let LinkStats { counts: down, .. } = report.passage(link);
    let LinkStats { counts: up, .. } = report.passage(link.reversed());
    Ok(Outcome {
        seed: seed.0,
        completed,
        plt,
        first_request: marks.first_request(),
        packets_down: down.packets,
        packets_up: up.packets,
        bytes_down: down.bytes,
        bytes_up: up.bytes,
        discarded: marks.discarded,
        moments: marks.moments,
        view: std::mem::take(&mut marks.view),
        retransmissions: per_connection.iter().map(|connection| connection.retransmissions).sum(),
        loss_recovery: None,
        connections: joined.len() as u32,
        path: if completed { critical_path(plan.page_at(page), &marks, &records) } else { Vec::new() },
        waterfall: marks.rows,
        per_connection,
        conditions: Some(conditions(report)),
        capture: None,
    })
}

fn conditions(report: &LinkReport) -> Conditions {
    Conditions {
        kernel: kernel_release(),
        paused: report.paused,
        pauses: report.pauses,
        late_median: report.lateness.median,
        late_p90: report.lateness.p90,
        late_worst: report.lateness.worst,
    }
}

/// What the browser noted a little after the last packet was delivered happened with that packet.
fn trim(marks: &mut Marks, plt: Time) {
    for row in &mut marks.rows {
        for mark in [&mut row.first_byte, &mut row.last_byte] {
            *mark = mark.map(|at| at.min(plt));
        }
    }
}

/// What the links saw of a browser's connection; nothing if it never sent a packet. Ports may be used again: the
/// first that was opened no earlier than the browser says.
pub(super) fn on_links<'a>(
    browser: BedHost,
    planned: &PlannedHost,
    conn: &Joined,
    reports: &'a [ConnectionReport],
) -> Option<&'a ConnectionReport> {
    let server = BedHost(planned.ways[conn.host.0 as usize].to);
    let is_it = |report: &&ConnectionReport| {
        let ConnectionKey { client, client_port, server: to, .. } = report.connection;
        let is_own = client == browser && conn.client.map(|own| own.port()) == Some(client_port);
        is_own && to == server && report.opened.is_some_and(|opened| opened >= conn.opened)
    };
    reports.iter().find(is_it)
}

fn connection(conn: &Joined, seen: Option<&ConnectionReport>, (origin, plt): (Time, Time)) -> ConnectionOutcome {
    ConnectionOutcome {
        host: conn.host,
        opened: opened(conn, seen).counted_from(origin),
        established: conn.established.map(|at| at.counted_from(origin)),
        closed: conn.closed.map(|at| at.counted_from(origin)).filter(|at| *at < plt),
        content_up: conn.content_up,
        content_down: conn.content_down,
        retransmissions: seen.map_or(0, |seen| seen.up.retransmissions + seen.down.retransmissions),
    }
}

/// When its SYN was sent, as far as anybody knows.
fn opened(conn: &Joined, seen: Option<&ConnectionReport>) -> Time {
    seen.and_then(|seen| seen.opened).unwrap_or(conn.opened)
}

fn record(fabric: &Fabric, way: Way, conn: &Joined, seen: Option<&ConnectionReport>, origin: Time) -> ConnectionRecord {
    let stalls = |stalls: &[std::ops::Range<Time>]| {
        stalls.iter().map(|stall| stall.start.counted_from(origin)..stall.end.counted_from(origin)).collect()
    };
    let of_tcp = seen.map(|seen| StreamStalls { up: stalls(&seen.stalls_up), down: stalls(&seen.stalls_down) });
    ConnectionRecord {
        opened: opened(conn, seen).counted_from(origin),
        established: conn.established.map(|at| at.counted_from(origin)),
        min_owd: fabric.min_delay(way.back),
        stalls: of_tcp.map(|stalls| (TransportStream::TCP, stalls)).into_iter().collect(),
    }
}

/// The kernel's release, as `uname -r` gives it.
fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}
