//! The seam between a server and what it has to offer: which answer belongs to which request.

use crate::page::ActivityId;
use crate::{CacheOutcome, ConnId, Rejection};
use core::net::IpAddr;
use loadstone_http::{Body, Chunk, Priority, Protocol, RequestHead, RequestId, ResponseHead};
use loadstone_units::Time;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a server has to offer: a page's objects, files, whatever it makes up.
pub trait Site {
    /// What it keeps of a request that is arriving.
    type Asked: fmt::Debug;

    /// What is kept of a request's head until its exchange is over. A site that serves strangers keeps no more than it
    /// reads.
    fn keep(&self, head: Arc<RequestHead>) -> Arc<RequestHead> {
        head
    }

    /// A request's head has come: what was kept of it.
    fn ask(&mut self, head: &Arc<RequestHead>) -> Self::Asked;

    /// Content of the request has come.
    fn take(&mut self, asked: &mut Self::Asked, content: Chunk);

    /// The request is complete. What is said to it; or nothing yet, and [`Site::poll_answer`] says it later.
    fn answer(&mut self, asked: Self::Asked, ticket: Ticket) -> Option<Answer>;

    /// An answer that has come later, until `None`. One to a request that is over by then goes nowhere.
    fn poll_answer(&mut self, _now: Time) -> Option<(Ticket, Answer)> {
        None
    }

    /// When [`Site::poll_answer`] is to be asked next, if at all.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// An exchange is over: what was kept for it may go.
    fn done(&mut self, exchange: &Exchange);
}

/// A request that may be answered later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket {
    /// The connection it came on.
    pub conn: ConnId,
    /// Its stream.
    pub stream: RequestId,
    /// The address of the client.
    pub client: IpAddr,
}

/// What is said to a request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The head of the response.
    pub head: Arc<ResponseHead>,
    /// Its body.
    pub body: Body,
    /// How long the server thinks before it has them.
    pub think: Duration,
    /// By which factors know it ([`loadstone_units::Factors`]).
    pub key: u64,
    /// Which object of a page it is, if it is one whose times are wanted.
    pub object: Option<ActivityId>,
    /// What is said at once, where the protocol has interim responses (RFC 8297).
    pub hint: Option<Arc<ResponseHead>>,
    /// What is pushed with it, if the client takes pushes.
    pub pushes: Vec<Pushed>,
}

impl Answer {
    /// An answer without thinking, hints and pushes.
    pub fn new(head: Arc<ResponseHead>, body: Body) -> Answer {
        Answer { head, body, think: Duration::ZERO, key: 0, object: None, hint: None, pushes: Vec::new() }
    }
}

/// A request that the server makes in the client's place. When the client takes the push, the site is
/// asked like for any other; hints and pushes of that answer count for nothing.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// The request.
    pub request: Arc<RequestHead>,
    /// How urgent the server takes it to be.
    pub priority: Priority,
}

/// A request and what became of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The connection it came on.
    pub conn: ConnId,
    /// What that speaks.
    pub protocol: Protocol,
    /// What was kept of the request, or the request that was made in the client's place.
    pub request: Arc<RequestHead>,
    /// The status and the body of the response, if it came to that.
    pub response: Option<(u16, Body)>,
    /// When the request's head came.
    pub began: Time,
    /// When the head of the response was made, if that is noted.
    pub answered: Option<Time>,
    /// When it was over.
    pub ended: Time,
    /// How.
    pub end: Ending,
    /// What a cache had to do with it, if there is one.
    pub cache: Option<CacheOutcome>,
    /// Why a relay has answered in the server's place, or could not finish the response.
    pub rejected: Option<Rejection>,
}

/// How an exchange ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The last byte of the response has been put on the wire.
    Complete,
    /// The client, or the connection, did not let it come to that.
    CutShort,
}
