//! What becomes of requests of HTTP/1.1 that are pipelined: a relay may be as faulty there as proxies have been
//! (`yahoo` 4.3), to see what that does to a load.

use super::{Relay, StreamRef};
use loadstone_http::RequestHead;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a relay makes of a request of HTTP/1.1 that comes while another one of its connection is unanswered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipelined {
    /// It is answered after those before it (RFC 9112, section 9.3.2).
    #[default]
    Answered,
    /// It is forgotten: no answer comes.
    Lost,
    /// The connection is closed after the answers before it.
    Closed,
    /// It gets the answer of the one before it once more.
    Mistaken,
}

impl Pipelined {
    /// Whether it is what is taken where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == Pipelined::default()
    }
}

impl Relay {
    /// What a new request is taken to be, if it is taken at all.
    pub(super) fn taken<'h>(
        &mut self,
        (conn, stream): StreamRef,
        head: &'h RequestHead,
    ) -> Option<Cow<'h, RequestHead>> {
        let fault = self.config.pipelined;
        let half = self.link(conn).as_front().filter(|half| !half.client.protocol.is_multiplexed());
        let before = half.and_then(|half| half.exchanges.range(..stream).next_back());
        let Some((_, before)) = before else { return Some(Cow::Borrowed(head)) };
        match fault {
            Pipelined::Answered => Some(Cow::Borrowed(head)),
            Pipelined::Lost => None,
            Pipelined::Closed => {
                self.link(conn).session().cancel(stream);
                None
            }
            Pipelined::Mistaken => {
                let RequestHead { authority, path, .. } = &*before.request;
                let own = RequestHead::new(head.method.clone(), authority.clone(), path.clone(), head.fields.clone());
                Some(Cow::Owned(own.over(head.scheme)))
            }
        }
    }
}
