//! What servers of an earlier page tell of the next one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What servers of the pages before hint at for the page after, as `Link: rel=prefetch`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Prefetch {
    /// Nothing.
    #[default]
    Nothing,
    /// All that the next page has.
    Next,
}

impl Prefetch {
    /// Whether it is what is taken where nothing else is said.
    pub(crate) fn is_default(&self) -> bool {
        *self == Prefetch::default()
    }
}
