//! TCP under TLS as a transport with one stream.

use crate::transport::Transport;
use loadstone_http::TransportStream;
use loadstone_load::{Closed, ConnId, Program};
use loadstone_net::tcp::{Endpoint, LossRecovery, Metrics, Segment, State};
use loadstone_net::tls::{Handshake, Records, Tls};
use loadstone_units::Time;
use std::iter;
use std::ops::Range;

/// One end of a TCP connection, with TLS or without.
#[derive(Debug)]
pub(crate) struct TcpTls {
    endpoint: Endpoint,
    tls: Tls,
    handshake: Handshake,
    /// Of what was written here.
    records: Records,
    /// A segment has come since it was last read.
    has_arrived: bool,
}

impl TcpTls {
    pub(crate) fn new(endpoint: Endpoint, tls: Tls, handshake: Handshake) -> TcpTls {
        TcpTls { endpoint, tls, handshake, records: Records::new(tls), has_arrived: false }
    }
}

impl Transport for TcpTls {
    type Packet = Segment;

    fn is_connected(&self) -> bool {
        self.endpoint.may_write()
    }

    fn drive_handshake(&mut self) -> bool {
        if !self.endpoint.may_write() {
            return false;
        }
        while let Some(flight) = self.handshake.poll_transmit() {
            self.endpoint.write(flight);
        }
        self.handshake.may_send()
    }

    #[inline]
    fn next_stream(&self, _: &dyn Program, _: ConnId) -> Option<(TransportStream, u64)> {
        let room = self.tls.content_room(self.endpoint.writable());
        (room > 0).then_some((TransportStream::TCP, room))
    }

    fn write(&mut self, _: TransportStream, content: u64) {
        self.endpoint.write(self.records.write(content));
    }

    fn written(&self, _: TransportStream) -> u64 {
        self.endpoint.written()
    }

    #[inline]
    fn poll_arrived(&mut self) -> Option<TransportStream> {
        std::mem::take(&mut self.has_arrived).then_some(TransportStream::TCP)
    }

    #[inline]
    fn read(&mut self, _: TransportStream, most: u64, writer: &mut TcpTls) -> u64 {
        let most = if most == 0 || most == u64::MAX { most } else { self.tls.transport_room(most) };
        let arrived = self.handshake.handle_input(self.endpoint.read(most));
        writer.records.handle_input(arrived)
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, segment: &Segment) {
        self.has_arrived = true;
        self.endpoint.handle_segment(now, segment);
    }

    #[inline]
    fn poll_packet(&mut self, now: Time) -> Option<Segment> {
        self.endpoint.poll_segment(now)
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
    }

    #[inline]
    fn poll_timeout(&self) -> Time {
        self.endpoint.poll_timeout()
    }

    fn numbers(segment: &Segment) -> impl Iterator<Item = (TransportStream, Range<u64>)> {
        iter::once((TransportStream::TCP, segment.seq..segment.end()))
    }

    fn expected(&self, _: TransportStream) -> u64 {
        self.endpoint.rcv_nxt()
    }

    fn close(&mut self) {
        self.endpoint.close();
    }

    fn abort(&mut self) {
        self.endpoint.abort();
    }

    #[inline]
    fn closed(&self) -> Option<Closed> {
        match self.endpoint.state() {
            State::Established => None,
            State::TimedOut | State::Reset => Some(Closed::Failed),
            _ => self.endpoint.is_finished().then_some(Closed::Finished),
        }
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.endpoint.state().is_over()
    }

    fn save_metrics(&self, metrics: &mut Metrics) {
        self.endpoint.save_metrics(metrics);
    }

    fn cwnd(&self) -> u32 {
        self.endpoint.cwnd()
    }

    fn retransmissions(&self) -> u64 {
        self.endpoint.retransmissions()
    }

    fn loss_recovery(&self) -> LossRecovery {
        self.endpoint.loss_recovery()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_net::tcp::Config;
    use loadstone_net::tls::{Role, TlsFlights};

    const ON: TransportStream = TransportStream::TCP;

    /// Passes segments between a client and a server, at once, until neither has any.
    fn exchange(now: Time, [client, server]: &mut [TcpTls; 2]) {
        loop {
            let (up, down) = (client.poll_packet(now), server.poll_packet(now));
            if up.is_none() && down.is_none() {
                return;
            }
            up.iter().for_each(|segment| server.handle_packet(now, segment));
            down.iter().for_each(|segment| client.handle_packet(now, segment));
        }
    }

    /// Reads at the client, as far as `most` bytes are wanted.
    fn read([client, server]: &mut [TcpTls; 2], most: u64) -> u64 {
        client.read(ON, most, server)
    }

    /// A connection with TLS 1.3 on which content may be sent.
    fn open() -> [TcpTls; 2] {
        let (config, now) = (Config::default(), Time::ZERO);
        let [connect, listen] = [Endpoint::connect(&config), Endpoint::listen(&config)];
        let end =
            |endpoint, role| TcpTls::new(endpoint, Tls::V1_3, Handshake::new(Tls::V1_3, TlsFlights::default(), role));
        let mut ends = [end(connect, Role::Client), end(listen, Role::Server)];
        // TCP's handshake, and three flights of TLS.
        for _ in 0..4 {
            exchange(now, &mut ends);
            let [client, server] = &mut ends;
            assert_eq!((client.read(ON, u64::MAX, server), server.read(ON, u64::MAX, client)), (0, 0));
            ends.iter_mut().for_each(|end| _ = end.drive_handshake());
        }
        assert!(ends.iter_mut().all(TcpTls::drive_handshake));
        exchange(now, &mut ends);
        ends
    }

    #[test]
    fn a_record_that_was_begun_is_read_whole_and_none_is_begun_without_demand() {
        let mut ends = open();
        ends[1].write(ON, 2 * 16_384);
        exchange(Time::ZERO, &mut ends);
        assert_eq!(read(&mut ends, 0), 0);
        assert_eq!(read(&mut ends, 1), 16_384);
        assert_eq!(read(&mut ends, u64::MAX), 16_384);
    }

    #[test]
    fn it_is_closed_when_all_that_came_was_read_or_when_it_was_reset() {
        let mut ends = open();
        ends[1].write(ON, 100);
        ends[1].close();
        exchange(Time::ZERO, &mut ends);
        assert_eq!(ends[0].closed(), None);
        assert_eq!((read(&mut ends, u64::MAX), ends[0].closed()), (100, Some(Closed::Finished)));

        let mut ends = open();
        ends[1].abort();
        exchange(Time::ZERO, &mut ends);
        assert_eq!((ends[0].closed(), ends[0].is_over()), (Some(Closed::Failed), true));
    }
}
