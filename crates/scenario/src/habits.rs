//! How browsers of a time behave, as one setting.

use crate::{Connections, Requests, Variant};
use loadstone_load::Joining;
use loadstone_load::page::{PageFile, RequestScheduling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the browser behaves where nothing else is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Habits {
    /// As the page was recorded: Chromium of today, if that is known.
    #[default]
    Recorded,
    /// As Firefox of 2012: requests in page order, of which none is held back, at most 30 connections in all, and
    /// pipelines of at most two requests (`yahoo` 4.3).
    #[serde(rename = "2012")]
    Of2012,
    /// The same on a phone: at most four connections to a host.
    #[serde(rename = "phone-2012")]
    Phone2012,
}

/// How the browser finds out whether pipelines come through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Probing {
    /// It takes it that they do.
    #[default]
    Nothing,
    /// When it starts it sends one to `pipelining.test`, and the first to other hosts when all of that is answered (`yahoo` 4.3).
    AtStart,
}

impl Probing {
    /// Whether it is what is taken where nothing else is said.
    pub(crate) fn is_default(&self) -> bool {
        *self == Probing::default()
    }
}

impl Habits {
    /// Whether it is what is taken where nothing else is said.
    pub(crate) fn is_default(&self) -> bool {
        *self == Habits::default()
    }

    /// The same variant with everything stated that follows from the habits.
    pub(crate) fn stated(self, mut variant: Variant) -> Variant {
        if self == Habits::Recorded {
            return variant;
        }
        variant.connections_in_all = variant.connections_in_all.or(Connections::try_from(30).ok());
        variant.pipelined_requests = variant.pipelined_requests.or(Requests::try_from(2).ok());
        variant.joining.get_or_insert(Joining::Together);
        let few = Connections::try_from(4).ok().filter(|few| few.get() < variant.connections.get());
        if let Some(few) = few.filter(|_| self == Habits::Phone2012) {
            variant.connections = few;
        }
        variant
    }

    /// The page as such a browser asks for it.
    pub(crate) fn schedule(self, page: &mut PageFile) {
        if self != Habits::Recorded {
            page.scheduling = RequestScheduling::PageOrder;
        }
    }
}
