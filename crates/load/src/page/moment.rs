//! Moments of a load that a page may know: nodes of these names.

/// What the node is called in which what listens to the load event runs.
pub(crate) const LOAD_EVENT: &str = "load event";

/// A moment of a load as its visitor sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The document is parsed, and the scripts that run in order then have run (HTML, "the end").
    ContentLoaded,
    /// The first text or image is painted (Paint Timing).
    FirstPaint,
    /// The largest one is (Largest Contentful Paint).
    LargestPaint,
}

impl Moment {
    /// All, in the order in which they mostly come.
    pub const ALL: [Moment; 3] = [Moment::ContentLoaded, Moment::FirstPaint, Moment::LargestPaint];

    /// The name of its compute node.
    pub const fn name(self) -> &'static str {
        match self {
            Moment::ContentLoaded => "DOMContentLoaded",
            Moment::FirstPaint => "first contentful paint",
            Moment::LargestPaint => "largest contentful paint",
        }
    }
}
