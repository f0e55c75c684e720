//! One connection of a server: its session, and the exchanges that are not over.

use crate::shut::{Responses, Shut};
use crate::site::Answer;
use crate::{Action, ConnId, Opened};
use core::net::IpAddr;
use loadstone_http::{Body, Protocol, RequestHead, RequestId, ServerSession, TransportStream};
use loadstone_units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One connection.
#[derive(Debug)]
pub(super) struct OriginSession<A> {
    pub(super) engine: Box<dyn ServerSession>,
    /// The address of the client.
    pub(super) client: IpAddr,
    pub(super) protocol: Protocol,
    /// Requests so far.
    pub(super) asked: u32,
    exchanges: BTreeMap<RequestId, UnderWay<A>>,
    /// How many of them have a response: with thousands of streams, none is looked for.
    responses: usize,
    /// When the last exchange began or ended.
    pub(super) stirred: Time,
    /// There is a response, and room, and the client lets nothing of it out, or too little.
    pub(super) shut: Option<Shut>,
    /// The client has been told that nothing new is taken.
    pub(super) is_drained: bool,
    /// Its input is no longer read; what is still to be sent goes out first.
    pub(super) is_closing: bool,
    /// Bytes that have arrived.
    pub(super) received: u64,
    /// The client sends no more.
    pub(super) has_fin: bool,
    /// Nothing is read from the transport: the session takes no input.
    pub(super) is_paused: bool,
    /// Bytes that are kept of the heads of its requests.
    pub(super) kept: usize,
}

/// An exchange that is not over.
#[derive(Debug)]
pub(super) struct UnderWay<A> {
    pub(super) request: Arc<RequestHead>,
    pub(super) began: Time,
    /// What the site keeps of it as long as it is arriving.
    pub(super) asked: Option<A>,
    /// What is going to be said: apart, since there may be many exchanges and few answers that wait.
    pub(super) answer: Option<Box<Answer>>,
    response: Option<(u16, Body)>,
    /// Its place in the list of services.
    pub(super) service: Option<usize>,
    /// Bytes that are kept of the request's head.
    pub(super) kept: usize,
}

impl<A> UnderWay<A> {
    pub(super) fn new(request: Arc<RequestHead>, began: Time) -> UnderWay<A> {
        UnderWay { request, began, asked: None, answer: None, response: None, service: None, kept: 0 }
    }

    /// A request that arrives, and of whose head `kept` bytes are kept.
    pub(super) fn arriving(request: Arc<RequestHead>, began: Time, asked: A, kept: usize) -> UnderWay<A> {
        UnderWay { asked: Some(asked), kept, ..UnderWay::new(request, began) }
    }

    /// The status of the response and its body, if there is one.
    pub(super) fn response(&self) -> Option<(u16, Body)> {
        self.response
    }
}

impl<A> OriginSession<A> {
    /// A connection on which nothing has arrived.
    pub(super) fn new(engine: Box<dyn ServerSession>, opened: Opened, now: Time) -> OriginSession<A> {
        let Opened { protocol, peer: client, .. } = opened;
        OriginSession {
            engine,
            client,
            protocol,
            asked: 0,
            exchanges: BTreeMap::new(),
            responses: 0,
            stirred: now,
            shut: None,
            is_drained: false,
            is_closing: false,
            received: 0,
            has_fin: false,
            is_paused: false,
            kept: 0,
        }
    }

    /// Stops reading what the session leaves unread anyway, and goes on when it reads again.
    pub(super) fn pause_or_resume(&mut self, conn: ConnId, on: TransportStream) -> Option<Action> {
        if self.is_paused != self.engine.takes_input() {
            return None;
        }
        self.is_paused = !self.is_paused;
        let limit = if self.is_paused { self.received } else { u64::MAX };
        Some(Action::Receive { conn, on, limit })
    }

    /// Whether all that is left to send waits for windows that no longer open, since the client sends no more.
    pub(super) fn is_stuck(&self) -> bool {
        self.has_fin
            && self.protocol.is_multiplexed()
            && !self.engine.has_output()
            && self.responses == self.exchanges.len()
    }

    /// Notes whether the client lets nothing out, although there is something, or too little: asked for when there
    /// was room, and `let_out` bytes of content went.
    pub(super) fn note_shut(&mut self, now: Time, let_out: u64) {
        let responses = match (self.responses, self.engine.has_output()) {
            (0, _) => Responses::None,
            (_, true) => Responses::Going,
            (_, false) => Responses::Blocked,
        };
        self.shut = Shut::after(self.shut, now, responses, let_out);
    }

    /// The exchanges that are not over, in the order of their streams.
    pub(super) fn exchanges(&self) -> impl ExactSizeIterator<Item = &UnderWay<A>> {
        self.exchanges.values()
    }

    /// What the site keeps of requests that are arriving is made anew.
    pub(super) fn ask_again(&mut self, mut ask: impl FnMut(&Arc<RequestHead>) -> A) {
        for exchange in self.exchanges.values_mut().filter(|exchange| exchange.asked.is_some()) {
            exchange.asked = Some(ask(&exchange.request));
        }
    }

    pub(super) fn exchange(&mut self, stream: RequestId) -> Option<&mut UnderWay<A>> {
        self.exchanges.get_mut(&stream)
    }

    pub(super) fn begin(&mut self, stream: RequestId, exchange: UnderWay<A>) {
        self.kept += exchange.kept;
        self.exchanges.insert(stream, exchange);
    }

    /// An exchange has its response.
    pub(super) fn note_response(&mut self, stream: RequestId, status: u16, body: Body) {
        if let Some(exchange) = self.exchanges.get_mut(&stream) {
            self.responses += usize::from(exchange.response.replace((status, body)).is_none());
        }
    }

    /// An exchange is over.
    pub(super) fn end(&mut self, stream: RequestId) -> Option<UnderWay<A>> {
        let over = self.exchanges.remove(&stream)?;
        self.responses -= usize::from(over.response.is_some());
        self.kept -= over.kept;
        Some(over)
    }

    /// The connection is over, and its exchanges with it.
    pub(super) fn into_exchanges(self) -> impl Iterator<Item = UnderWay<A>> {
        self.exchanges.into_values()
    }
}
