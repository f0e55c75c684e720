//! What a page is, in numbers.

/// What `loadstone page` shows of a page.
pub struct Summary;
