//! What servers of an earlier page give or name of the next one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What servers of the pages before give or name of the page after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Prefetch {
    /// Nothing.
    #[default]
    Nothing,
    /// They name all that the next page has, as `Link: rel=prefetch`.
    Next,
    /// The document's server pushes with it what the next page has there, where the protocol has pushes; all else is named.
    Pushed,
}

impl Prefetch {
    /// Whether it is what is taken where nothing else is said.
    pub(crate) fn is_default(&self) -> bool {
        *self == Prefetch::default()
    }
}
