//! What a server's processor has to do.

use loadstone_units::Bounded;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a server's one processor has to do, one thing after the other, in microseconds: a response waits until
/// all that came before is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Work {
    /// For a response, at most a second.
    pub response_us: Bounded<0, 1_000_000>,
    /// For a million bytes of responses, at most a minute.
    pub megabyte_us: Bounded<0, 60_000_000>,
}

impl Default for Work {
    /// Nothing.
    fn default() -> Work {
        Work { response_us: Bounded::known(0), megabyte_us: Bounded::known(0) }
    }
}

impl Work {
    /// Whether it is what servers have where nothing else is said.
    pub fn is_default(&self) -> bool {
        *self == Work::default()
    }

    /// For a response with a body of `bytes` bytes.
    pub(crate) fn of_response(&self, bytes: u64) -> Duration {
        let body = u128::from(bytes) * u128::from(self.megabyte_us.get()) / 1_000_000;
        let body = u64::try_from(body).unwrap_or(u64::MAX / 2);
        Duration::from_micros(u64::from(self.response_us.get()) + body)
    }
}
