//! Graceful shutdown (RFC 9113, section 6.8; draft 2, "GOAWAY"; draft 3, section 2.6.6) and PING.

use super::push::{Early, LAST_STREAM};
use super::{Framing, GoAwayMode, Perspective, Streams};
use crate::{Chunk, Event};
use std::collections::VecDeque;

/// The state of this end's graceful shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shutdown {
    Open,
    /// GOAWAY with the last stream 2^31 - 1 is sent; new streams are accepted until its PING is acknowledged.
    Draining,
    /// GOAWAY is sent once no stream is open.
    WhenIdle,
    /// The final GOAWAY is sent: no new streams are accepted.
    GoAwaySent,
}

/// Why a PING was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PingPurpose {
    Program,
    /// To follow a GOAWAY: once it is acknowledged, the peer has seen that GOAWAY.
    GoAway,
}

/// This end's PINGs without a reply: at most one for each purpose.
#[derive(Debug, Default)]
pub(super) struct Pings {
    sent: u32,
    outstanding: VecDeque<(u32, PingPurpose)>,
}

impl<F: Framing> Streams<F> {
    pub(super) fn ping(&mut self) {
        if !self.pings.outstanding.iter().any(|(_, why)| *why == PingPurpose::Program) {
            self.send_ping(PingPurpose::Program);
        }
    }

    fn send_ping(&mut self, why: PingPurpose) {
        if self.connection_error.is_some() {
            return;
        }
        self.pings.sent += 1;
        let number = self.pings.sent;
        self.pings.outstanding.push_back((number, why));
        let frame = self.framing.ping(number);
        self.control_queue.push(Chunk::Bytes(frame));
    }

    /// A reply to a PING; one to no PING of ours is ignored.
    pub(super) fn handle_pong(&mut self, number: u32) {
        let Some(at) = self.pings.outstanding.iter().position(|(sent, _)| *sent == number) else { return };
        match self.pings.outstanding.remove(at) {
            Some((_, PingPurpose::Program)) => self.events.push_back(Event::Pong),
            Some((_, PingPurpose::GoAway)) => self.send_goaway(),
            None => {}
        }
    }

    pub(super) fn shut_down(&mut self) {
        if self.connection_error.is_some() || self.shutdown != Shutdown::Open {
            return;
        }
        match (self.role, self.framing.goaway_mode()) {
            (Perspective::Server, GoAwayMode::TwoPhase) => {
                self.shutdown = Shutdown::Draining;
                let frame = self.framing.go_away(LAST_STREAM, None);
                self.control_queue.push(Chunk::Bytes(frame));
                self.send_ping(PingPurpose::GoAway);
            }
            (Perspective::Server, GoAwayMode::WhenIdle) => {
                self.shutdown = Shutdown::WhenIdle;
                self.send_goaway_if_idle();
            }
            (Perspective::Client, _) | (Perspective::Server, GoAwayMode::Immediate) => self.send_goaway(),
        }
    }

    /// Sends the final GOAWAY: from now on no streams of the peer are accepted.
    fn send_goaway(&mut self) {
        self.shutdown = Shutdown::GoAwaySent;
        let frame = self.framing.go_away(self.last_remote, None);
        self.control_queue.push(Chunk::Bytes(frame));
    }

    /// Sends GOAWAY if it waits for the last stream to close.
    pub(super) fn send_goaway_if_idle(&mut self) {
        if self.shutdown == Shutdown::WhenIdle && self.open_streams.is_empty() {
            self.send_goaway();
        }
    }

    /// Whether to ignore new streams of the peer: GOAWAY is sent, and they crossed it.
    pub(super) fn is_goaway_sent(&self) -> bool {
        self.shutdown == Shutdown::GoAwaySent
    }

    pub(super) fn is_over(&self) -> bool {
        let is_leaving = self.is_goaway_sent() || self.goaway_received;
        let has_promises = self.early.iter().any(|early| matches!(early, Early::Promise(_)));
        self.connection_error.is_some() || (is_leaving && self.open_streams.is_empty() && !has_promises)
    }
}
