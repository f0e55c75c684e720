//! How a session comes to its end by its own wish (RFC 9113, section 6.8; draft 2, "GOAWAY"; draft 3, section
//! 2.6.6), and how one end asks the other for a sign of life.

use super::push::{Early, LAST_STREAM};
use super::{Framing, GoAwayMode, Perspective, Streams};
use crate::{Chunk, Event};
use std::collections::VecDeque;

/// How far this end is on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shutdown {
    Staying,
    /// The peer hears of it; what it asks for until then is still answered.
    Announced,
    /// It says so when nothing is under way any more.
    AtTheEnd,
    /// Nothing new is taken.
    Gone,
}

/// For what a PING was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    TheProgram,
    /// When it comes back, the peer has heard of the GOAWAY before it.
    Leaving,
}

/// This end's PINGs that have not been answered: at most one for each reason.
#[derive(Debug, Default)]
pub(super) struct Pings {
    sent: u32,
    outstanding: VecDeque<(u32, Why)>,
}

impl<F: Framing> Streams<F> {
    pub(super) fn ping(&mut self) {
        if !self.pings.outstanding.iter().any(|(_, why)| *why == Why::TheProgram) {
            self.send_ping(Why::TheProgram);
        }
    }

    fn send_ping(&mut self, why: Why) {
        if self.over.is_some() {
            return;
        }
        self.pings.sent += 1;
        let number = self.pings.sent;
        self.pings.outstanding.push_back((number, why));
        let frame = self.framing.ping(number);
        self.answers.push(Chunk::Bytes(frame));
    }

    /// An answer that was asked for, or perhaps was not.
    pub(super) fn handle_pong(&mut self, number: u32) {
        let Some(at) = self.pings.outstanding.iter().position(|(sent, _)| *sent == number) else { return };
        match self.pings.outstanding.remove(at) {
            Some((_, Why::TheProgram)) => self.events.push_back(Event::Pong),
            Some((_, Why::Leaving)) => self.send_goaway(),
            None => {}
        }
    }

    pub(super) fn shut_down(&mut self) {
        if self.over.is_some() || self.shutdown != Shutdown::Staying {
            return;
        }
        match (self.role, self.framing.farewell()) {
            (Perspective::Server, GoAwayMode::Twice) => {
                self.shutdown = Shutdown::Announced;
                let frame = self.framing.go_away(LAST_STREAM, None);
                self.answers.push(Chunk::Bytes(frame));
                self.send_ping(Why::Leaving);
            }
            (Perspective::Server, GoAwayMode::Last) => {
                self.shutdown = Shutdown::AtTheEnd;
                self.send_goaway_if_idle();
            }
            (Perspective::Client, _) | (Perspective::Server, GoAwayMode::Once) => self.send_goaway(),
        }
    }

    /// Says which streams of the peer's were taken, and takes no more.
    fn send_goaway(&mut self) {
        self.shutdown = Shutdown::Gone;
        let frame = self.framing.go_away(self.last_theirs, None);
        self.answers.push(Chunk::Bytes(frame));
    }

    /// A stream has ended.
    pub(super) fn send_goaway_if_idle(&mut self) {
        if self.shutdown == Shutdown::AtTheEnd && self.open.is_empty() {
            self.send_goaway();
        }
    }

    /// Whether new streams of the peer's are passed over: it has been told, and opened them before it knew.
    pub(super) fn is_gone(&self) -> bool {
        self.shutdown == Shutdown::Gone
    }

    pub(super) fn is_over(&self) -> bool {
        let is_leaving = self.is_gone() || self.is_going_away;
        let has_promises = self.early.iter().any(|early| matches!(early, Early::Promise(_)));
        self.over.is_some() || (is_leaving && self.open.is_empty() && !has_promises)
    }
}
