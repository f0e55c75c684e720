//! How a client's windows block the responses of a server or a relay, and for how long.

use loadstone_units::Time;

/// What a client has to let out of responses in [`crate::Timeouts::response`], in bytes of content, unless less is left.
pub(crate) const PROGRESS: u64 = 16 * 1024;

/// There is a response, and room, and the client lets nothing of it out, or too little.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shut {
    pub(crate) since: Time,
    /// Bytes of content that it has let out since then.
    pub(crate) let_out: u64,
}

/// Whether a session had anything that the client's windows let out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Responses {
    /// There are none.
    None,
    /// There are some, and more of them can go out.
    Going,
    /// There are some, and nothing of them can go out.
    Blocked,
}

impl Shut {
    /// What is so after the session was asked for output while there was room, and `let_out` bytes of content went.
    pub(crate) fn after(before: Option<Shut>, now: Time, responses: Responses, let_out: u64) -> Option<Shut> {
        let before = before.map(|shut| Shut { let_out: shut.let_out + let_out, ..shut });
        let before = before.filter(|shut| responses != Responses::None && shut.let_out < PROGRESS);
        before.or((responses == Responses::Blocked).then_some(Shut { since: now, let_out: 0 }))
    }
}
