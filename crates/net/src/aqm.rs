//! Active queue management: queues that drop before they are full.

use std::fmt;
use std::str::FromStr;

/// How a link manages its queue.
///
/// Both drop packets whose queue has stood for too long when they leave it, not when they come. ECN is not modelled:
/// they drop where they would mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aqm {
    /// One queue under Controlled Delay (RFC 8289), with a target of 5 ms and an interval of 100 ms.
    Codel,
    /// A queue for each flow, each under CoDel, served in turns of 1,514 bytes, new flows first (RFC 8290).
    FqCodel,
}

/// A word that names no queue management.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("'{0}' is no queue management: write aqm=codel or aqm=fq_codel")]
pub struct UnknownAqm(String);

impl FromStr for Aqm {
    type Err = UnknownAqm;

    fn from_str(text: &str) -> Result<Aqm, UnknownAqm> {
        let named = [Aqm::Codel, Aqm::FqCodel].into_iter().find(|aqm| text.eq_ignore_ascii_case(aqm.name()));
        named.ok_or_else(|| UnknownAqm(text.to_owned()))
    }
}

impl Aqm {
    /// The name of Linux's queue discipline.
    fn name(self) -> &'static str {
        match self {
            Aqm::Codel => "codel",
            Aqm::FqCodel => "fq_codel",
        }
    }
}

impl fmt::Display for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
