//! A time that takes eight bytes also where it may be missing: there are many of them in each open connection.

use core::num::NonZeroU64;

/// When something was captured, in ns since 1970; kept as one more, so that none is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SeenAt(NonZeroU64);

impl SeenAt {
    pub(crate) fn new(ns: u64) -> SeenAt {
        SeenAt(NonZeroU64::MIN.saturating_add(ns))
    }

    /// In ns since 1970.
    pub(crate) fn ns(self) -> u64 {
        self.0.get() - 1
    }

    /// Since another, in ns; 0 if it was before that.
    pub(crate) fn since(self, other: SeenAt) -> u64 {
        self.ns().saturating_sub(other.ns())
    }
}
