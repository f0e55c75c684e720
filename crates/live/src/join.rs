//! Joins what a browser and its servers know of a load.

use crate::{Failure, Loaded, Served, SocketRecord};
use loadstone_http::Protocol;
use loadstone_load::page::HostId;
use loadstone_load::{ConnId, Marks, Service};
use loadstone_units::Time;
use std::net::SocketAddr;

/// What both ends know of a connection.
#[derive(Clone, PartialEq, Debug)]
pub struct Joined {
    /// Its id at the browser.
    pub conn: ConnId,
    /// The server.
    pub host: HostId,
    /// The address and port of the browser's end, if it had one.
    pub client: Option<SocketAddr>,
    /// Its SYN was sent.
    pub opened: Time,
    /// The browser could use it.
    pub established: Option<Time>,
    /// The browser closed it.
    pub closed: Option<Time>,
    /// What it spoke from then on.
    pub protocol: Option<Protocol>,
    /// Bytes that the browser wrote: heads, frames, bodies, without what TLS adds.
    pub content_up: u64,
    /// Bytes that the server wrote.
    pub content_down: u64,
    /// Segments that the browser's end retransmitted.
    pub retransmissions_up: u64,
    /// Segments that the server's end retransmitted.
    pub retransmissions_down: u64,
    /// Why it failed at the browser's end, if it did.
    pub failure: Option<Failure>,
}

/// Joins what the servers report with what the browser noted: its marks with the servers' added, and the
/// connections with their ids at the browser. What servers report of the connections of others is left out.
pub fn join(loaded: Loaded, served: &[Served]) -> (Marks, Vec<Joined>) {
    let Loaded { mut marks, connections, .. } = loaded;
    let mut joined: Vec<Joined> = connections.iter().map(Joined::of).collect();
    for server in served {
        let ids: Vec<Option<ConnId>> = server.connections.iter().map(|end| id_of(end, &connections)).collect();
        for (end, conn) in server.connections.iter().zip(&ids) {
            if let Some(ConnId(conn)) = conn {
                joined[*conn as usize].add(end);
            }
        }
        // A server that keeps no records has none.
        let with_id = |service: &Service| {
            let conn = (*ids.get(service.conn.0 as usize)?)?;
            Some(Service { conn, ..*service })
        };
        let services: Vec<Service> = server.services.iter().filter_map(with_id).collect();
        marks.note(&services);
    }
    (marks, joined)
}

/// The id at the browser of the connection whose other end is `end`. A port may be used again: then
/// it is the one opened last before this was accepted.
fn id_of(end: &SocketRecord, connections: &[SocketRecord]) -> Option<ConnId> {
    let is_other_end = |connection: &&SocketRecord| {
        connection.host == end.host && connection.client == end.client && connection.opened <= end.opened
    };
    connections.iter().rfind(is_other_end).map(|connection| connection.conn)
}

impl Joined {
    /// What the browser alone knows.
    fn of(end: &SocketRecord) -> Joined {
        Joined {
            conn: end.conn,
            host: end.host,
            client: end.client,
            opened: end.opened,
            established: end.established,
            closed: end.close_requested_at,
            protocol: end.protocol,
            content_up: end.content,
            content_down: 0,
            retransmissions_up: end.retransmissions,
            retransmissions_down: 0,
            failure: end.failure.clone(),
        }
    }

    /// Adds what the server knows.
    fn add(&mut self, end: &SocketRecord) {
        self.content_down = end.content;
        self.retransmissions_down = end.retransmissions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_load::Row;
    use loadstone_load::page::ActivityId;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// An end of a connection of the browser's.
    fn end(conn: u32, host: u32, port: u16, opened: Time, content: u64) -> SocketRecord {
        let client = (Ipv4Addr::LOCALHOST, port).into();
        SocketRecord { content, ..SocketRecord::new(ConnId(conn), HostId(host), client, Some(client), opened) }
    }

    #[test]
    fn ends_find_one_another_by_host_and_port_and_then_by_time() {
        // Both hosts see port 7, and host 0 sees it twice; what it accepted first was opened second.
        let connections = vec![
            end(0, 0, 7, at(0), 10),
            SocketRecord { close_requested_at: Some(at(9)), ..end(1, 0, 8, at(0), 20) },
            end(2, 1, 7, at(5), 30),
            end(3, 0, 7, at(50), 40),
            end(4, 0, 9, at(60), 50),
        ];
        let rows = [0, 1, 2, 3].map(|conn| Row { connection: Some(conn), ..Row::default() });
        let marks = Marks { rows: rows.to_vec(), ..Marks::default() };
        let loaded = Loaded { end: None, marks, began: at(0), over: at(99), connections, loop_iterations: 0 };
        let service = |conn, object, ms| Service {
            conn: ConnId(conn),
            object: ActivityId(object),
            is_pushed: false,
            arrived: at(ms),
            answered: None,
        };
        let first = Served {
            host: HostId(0),
            services: vec![service(0, 1, 11), service(1, 0, 12), service(2, 3, 13)],
            connections: vec![end(0, 0, 8, at(1), 200), end(1, 0, 7, at(2), 100), end(2, 0, 7, at(51), 400)],
            records_dropped: 0,
            peak_connections: 3,
            still_open: 0,
            loop_iterations: 0,
        };
        let other = Some((Ipv4Addr::new(198, 18, 0, 2), 7).into());
        let second = Served {
            host: HostId(1),
            // Another browser has the same port.
            services: vec![service(0, 2, 14), service(1, 2, 15)],
            connections: vec![end(0, 1, 7, at(6), 300), SocketRecord { client: other, ..end(1, 1, 7, at(7), 900) }],
            records_dropped: 0,
            peak_connections: 3,
            still_open: 0,
            loop_iterations: 0,
        };
        let (marks, joined) = join(loaded, &[first, second]);
        let content: Vec<_> = joined.iter().map(|it| (it.conn.0, it.content_up, it.content_down)).collect();
        assert_eq!(content, [(0, 10, 100), (1, 20, 200), (2, 30, 300), (3, 40, 400), (4, 50, 0)]);
        let closed: Vec<_> = joined.iter().map(|it| it.closed).collect();
        assert_eq!(closed, [None, Some(at(9)), None, None, None]);
        let arrived: Vec<_> = marks.rows.iter().map(|row| row.arrived).collect();
        assert_eq!(arrived, [12, 11, 14, 13].map(|ms| Some(at(ms))));
    }
}
