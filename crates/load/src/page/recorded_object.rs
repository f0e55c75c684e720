//! What a recording says of an object, by which its trace is matched with its HAR.

/// What the graph has to know of an object besides what the page file says.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct RecordedObject {
    /// The browser's number of its request.
    pub(super) request: String,
    /// Its URL, as it was recorded.
    pub(super) url: String,
    /// Whether a redirect led there.
    pub(super) is_redirected: bool,
    /// Whether it is the document that is shown: the last of the redirects from the first.
    pub(super) is_root: bool,
    /// Whether it is a document.
    pub(super) is_document: bool,
    /// The URL of what is said to have asked for it.
    pub(super) initiator: String,
    /// The scripts that called for it, innermost first.
    pub(super) callers: Vec<String>,
    /// Line and column there, from 0.
    pub(super) place: Option<(u32, u32)>,
    /// Whether it was asked for without credentials.
    pub(super) is_anonymous: bool,
    /// Whether it is of a sort that holds up the load event.
    pub(super) delays_load_event: bool,
    /// Whether it opened a connection.
    pub(super) has_connected: bool,
    /// What the browser computed for the TLS handshake of its connection, if that was a new one, in ms.
    pub(super) handshake_ms: Option<f64>,
    /// Whether it failed since its host has no address.
    pub(super) is_name_error: bool,
    /// When it was found: in ms since 1970, then in microseconds of the trace.
    pub(super) began: f64,
    /// When it was complete, in microseconds of the trace, as far as that says so.
    pub(super) ended: f64,
    /// From its request in the renderer until the network service has it, in ms.
    pub(super) request_ms: f64,
}
