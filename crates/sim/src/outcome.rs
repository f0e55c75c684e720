//! What a world that has come to its end gave.

use crate::host::{Runs, Side, SimHost};
use crate::parcel::capture;
use crate::world::{Connection, World};
use loadstone_load::{ConnectionRecord, Service, critical_path};
use loadstone_net::LinkCounts;
use loadstone_scenario::{ConnectionOutcome, HostRole, Outcome, Plan};
use loadstone_units::{Seed, Time};

/// What is known of a browser's load besides what it noted itself.
#[derive(Default)]
struct Seen {
    /// What servers tell of its requests, with its own numbers of connections.
    services: Vec<Service>,
    /// The connections that it opened, in their order.
    connections: Vec<ConnectionOutcome>,
    records: Vec<ConnectionRecord>,
    down: LinkCounts,
    up: LinkCounts,
}

/// The outcome of each browser, in their order. The first has the run's packets, if they were noted.
pub(crate) fn outcomes(world: World, seed: Seed) -> Vec<Outcome> {
    let World { plan, now, hosts, connections, path, .. } = world;
    let mut seen: Vec<Seen> = (0..plan.browsers()).map(|_| Seen::default()).collect();
    for (at, seen) in seen.iter_mut().enumerate() {
        let link = plan.access_link(at);
        (seen.down, seen.up) = (path.counts(link), path.counts(link.reversed()));
    }
    note_services(&mut seen, &hosts, &connections);
    let server_of = |at: usize| connections[at].ends[Side::Server as usize].host;
    let captured = path.into_log(now).map(|log| capture(plan, log, server_of));
    note_connections(&mut seen, plan, connections, now);
    let loads = hosts.into_iter().zip(seen).zip(0..);
    let mut outcomes: Vec<Outcome> =
        loads.map(|((host, seen), at)| outcome(plan, (seed, now), (at, host), seen)).collect();
    if let Some(first) = outcomes.first_mut() {
        first.capture = captured;
    }
    outcomes
}

/// What servers tell of requests goes to the browsers that made them. A relay's requests are nobody's.
fn note_services(seen: &mut [Seen], hosts: &[SimHost], connections: &[Connection]) {
    for host in hosts {
        let Runs::Origin(origin) = &host.runs else { continue };
        for service in origin.services() {
            let end = host.ends[service.conn.0 as usize];
            let client = &connections[end.connection()].ends[Side::Client as usize];
            if let Some(seen) = seen.get_mut(client.host as usize) {
                seen.services.push(Service { conn: client.conn, ..*service });
            }
        }
    }
}

/// The connections of each browser, in the order in which it opened them.
fn note_connections(seen: &mut [Seen], plan: &Plan, connections: Vec<Connection>, now: Time) {
    for connection in connections {
        let client = connection.ends[Side::Client as usize].host as usize;
        if let Some(seen) = seen.get_mut(client) {
            let way = plan.hosts()[client].ways[connection.to.0 as usize];
            seen.connections.push(connection.outcome());
            seen.records.push(connection.into_record(now, plan.fabric().least_delay(way.back)));
        }
    }
}

fn outcome(plan: &Plan, (seed, now): (Seed, Time), (at, host): (usize, SimHost), seen: Seen) -> Outcome {
    let Seen { services, connections, records, down, up } = seen;
    let (Runs::Browser(browser), HostRole::Browser { page }) = (host.runs, plan.hosts()[at].role) else {
        unreachable!("browsers come first");
    };
    let (end, opened) = (browser.end(), browser.opened());
    let mut marks = browser.into_marks();
    marks.note(&services);
    Outcome {
        seed: seed.0,
        completed: end.is_some_and(|end| end.completed),
        plt: end.map_or(now, |end| end.at),
        packets_down: down.packets,
        packets_up: up.packets,
        bytes_down: down.bytes,
        bytes_up: up.bytes,
        retransmissions: connections.iter().map(|connection| connection.retransmissions).sum(),
        connections: opened,
        path: critical_path(plan.page_at(page), &marks, &records),
        waterfall: marks.rows,
        per_connection: connections,
        conditions: None,
        capture: None,
    }
}
