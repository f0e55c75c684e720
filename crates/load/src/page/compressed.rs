//! How small header compression makes a page's heads: counted on what real sessions put out.

use super::{Fetch, Page};
use loadstone_http::{Body, Chunk, Event, Multiplexing, Protocol, Session, SessionFactory, TransportStream, Wire};
use loadstone_units::Time;
use serde::Serialize;

/// Bytes of all heads of a page over one protocol, the frames that carry them included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct HeaderBytes {
    /// Of the requests.
    pub requests: u64,
    /// Of the responses.
    pub responses: u64,
}

impl HeaderBytes {
    /// Counts the heads of a page: asked for in page order, on one connection to each host.
    pub fn of(page: &Page, protocol: Protocol) -> HeaderBytes {
        let mut total = HeaderBytes::default();
        for host in 0..page.hosts.len() {
            let fetches = page.fetches().map(|(_, fetch)| fetch).filter(|fetch| fetch.host.0 as usize == host);
            let bytes = count(fetches, protocol);
            total.requests += bytes.requests;
            total.responses += bytes.responses;
        }
        total
    }
}

/// Counts the heads of one connection.
fn count<'a>(fetches: impl Iterator<Item = &'a Fetch>, protocol: Protocol) -> HeaderBytes {
    let mut total = HeaderBytes::default();
    if !protocol.is_multiplexed() {
        for fetch in fetches {
            total.requests += fetch.request.http1_len() as u64;
            total.responses += fetch.response.http1_len() as u64;
        }
        return total;
    }
    let sessions = SessionFactory::new(Multiplexing::default());
    let (mut client, mut server) = (sessions.client(protocol), sessions.server(protocol));
    // What both say at the beginning, and their answers to it.
    for _ in 0..2 {
        carry(client.as_mut(), server.as_mut());
        carry(server.as_mut(), client.as_mut());
    }
    for fetch in fetches {
        client.request(fetch.request.clone(), Body::EMPTY.into(), fetch.priority);
        total.requests += carry(client.as_mut(), server.as_mut());
        while let Some(event) = server.poll_event() {
            if let Event::Request { id, .. } = event {
                server.respond(id, fetch.response.clone(), fetch.body.into());
            }
        }
        while server.has_output() {
            total.responses += carry(server.as_mut(), client.as_mut());
            while client.poll_event().is_some() {}
            // As the body arrives the client opens its windows.
            carry(client.as_mut(), server.as_mut());
        }
        while server.poll_event().is_some() {}
    }
    total
}

/// Moves everything from one session to the other; returns how many bytes of it belong to no body.
fn carry(from: &mut dyn Session, to: &mut dyn Session) -> u64 {
    let mut wire = Wire::default();
    from.poll_transmit(Time::ZERO, TransportStream::TCP, usize::MAX, &mut wire);
    let chunks = wire.take_all();
    to.handle_input(Time::ZERO, TransportStream::TCP, &chunks).expect("our sessions keep the protocol");
    // The header of a DATA frame stands before the run that it frames.
    let framed = chunks.windows(2).filter_map(|pair| matches!(pair[1], Chunk::Run { .. }).then_some(&pair[0]));
    let of_bodies: u64 = framed.map(|header| header.len()).sum();
    let of_heads = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Bytes(_))).map(Chunk::len).sum::<u64>();
    of_heads - of_bodies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::synthetic;

    #[test]
    fn heads_of_http1_are_what_the_page_states_and_compressed_ones_are_a_small_part_of_it() {
        let page = synthetic::page("objects=100,size=1KB").unwrap().build().unwrap();
        let plain = HeaderBytes::of(&page, Protocol::Http1);
        assert_eq!(plain, HeaderBytes { requests: 100 * 400, responses: 100 * 250 });
        for protocol in Protocol::ALL.into_iter().filter(|protocol| protocol.is_multiplexed()) {
            let compressed = HeaderBytes::of(&page, protocol);
            // At least the frames' heads and a name each; at most a third.
            assert!((1_500..13_000).contains(&compressed.requests), "{protocol}: {compressed:?}");
            assert!((1_500..9_000).contains(&compressed.responses), "{protocol}: {compressed:?}");
        }
    }

    #[test]
    fn what_is_counted_does_not_depend_on_bodies_nor_is_it_bounded() {
        let of = |page: &str| {
            let page = synthetic::page(page).unwrap().build().unwrap();
            HeaderBytes::of(&page, Protocol::H2)
        };
        let (small, large) = (of("objects=1200,size=1KB"), of("objects=1200,size=9KB"));
        assert_eq!(small, large);
    }
}
