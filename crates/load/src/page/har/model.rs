//! The parts of a HAR file that a page is made from. What is not named here is skipped without being kept. The texts of
//! responses are read where they are of interest.

use crate::page::loose::{List, Maybe, Scalar, Texts, record};
use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

record! {
    /// The file.
    File {
        log: Maybe<Log<'a>> = "log",
    }
}

record! {
    /// All of its pages and entries.
    Log {
        pages: List<PageRecord<'a>> = "pages",
        entries: List<Entry<'a>> = "entries",
    }
}

record! {
    /// One view of a page.
    PageRecord {
        id: Scalar<'a> = "id",
        started: Scalar<'a> = "startedDateTime",
        timings: Maybe<PageTimings<'a>> = "pageTimings",
        first_paint: Scalar<'a> = "_firstContentfulPaint",
        largest_paint: Scalar<'a> = "_chromeUserTiming.LargestContentfulPaint",
        largest_image: Scalar<'a> = "_LargestContentfulPaintImageURL",
        view_pixels: Scalar<'a> = "_viewPixels",
        view_steps: List<ViewStepRecord<'a>> = "_viewSteps",
    }
}

record! {
    /// A step in which the first view became complete.
    ViewStepRecord {
        ms: Scalar<'a> = "ms",
        share: Scalar<'a> = "share",
        of: Scalar<'a> = "of",
    }
}

record! {
    /// The page's own moments.
    PageTimings {
        on_load: Scalar<'a> = "onLoad",
        first_paint: Scalar<'a> = "_firstContentfulPaint",
        largest_paint: Scalar<'a> = "_largestContentfulPaint",
    }
}

record! {
    /// One request with its response. Names with an underscore are the exporters' own: Chrome's
    /// and its relatives' first, then WebPageTest's.
    Entry {
        pageref: Scalar<'a> = "pageref",
        started: Scalar<'a> = "startedDateTime",
        time: Scalar<'a> = "time",
        request: Maybe<Request<'a>> = "request",
        response: Maybe<Response<'a>> = "response",
        timings: Maybe<Timings<'a>> = "timings",
        connection: Scalar<'a> = "connection",
        server_address: Scalar<'a> = "serverIPAddress",
        security: Maybe<SecurityDetails<'a>> = "_securityDetails",
        initiator: Initiator<'a> = "_initiator",
        initiator_detail: Scalar<'a> = "_initiator_detail",
        initiator_type: Scalar<'a> = "_initiator_type",
        resource_type: Scalar<'a> = "_resourceType",
        priority: Scalar<'a> = "_priority",
        render_blocking: Scalar<'a> = "_renderBlocking",
        is_largest_paint: Scalar<'a> = "_isLCP",
        view_pixels: Scalar<'a> = "_viewPixels",
        from_cache: Scalar<'a> = "_fromCache",
        from_disk_cache: Scalar<'a> = "_fromDiskCache",
        from_memory_cache: Scalar<'a> = "_fromMemoryCache",
        served_from_cache: Scalar<'a> = "_served_from_cache",
        protocol: Scalar<'a> = "_protocol",
        request_id: Scalar<'a> = "_requestId",
        request_type: Scalar<'a> = "_request_type",
        load_start: Scalar<'a> = "_load_start",
        load_ms: Scalar<'a> = "_load_ms",
        created: Scalar<'a> = "_created",
        socket: Scalar<'a> = "_socket",
        http2_stream: Scalar<'a> = "_http2_stream_id",
        object_size: Scalar<'a> = "_objectSize",
        bytes_in: Scalar<'a> = "_bytesIn",
    }
}

record! {
    /// How a connection was secured, in the words of DevTools.
    SecurityDetails {
        alternative_names: Texts<'a> = "sanList",
    }
}

record! {
    /// A request.
    Request {
        method: Scalar<'a> = "method",
        url: Scalar<'a> = "url",
        http_version: Scalar<'a> = "httpVersion",
        headers: List<HeaderField<'a>> = "headers",
        headers_size: Scalar<'a> = "headersSize",
        body_size: Scalar<'a> = "bodySize",
        post_data: Maybe<PostData<'a>> = "postData",
    }
}

record! {
    /// The body of a request.
    PostData {
        text: Scalar<'a> = "text",
    }
}

record! {
    /// A response.
    Response {
        status: Scalar<'a> = "status",
        http_version: Scalar<'a> = "httpVersion",
        headers: List<HeaderField<'a>> = "headers",
        redirect_url: Scalar<'a> = "redirectURL",
        headers_size: Scalar<'a> = "headersSize",
        body_size: Scalar<'a> = "bodySize",
        transfer_size: Scalar<'a> = "_transferSize",
        error: Scalar<'a> = "_error",
        fetched_via_service_worker: Scalar<'a> = "_fetchedViaServiceWorker",
        content: Maybe<Content<'a>> = "content",
    }
}

record! {
    /// What is known of a response's body.
    Content {
        size: Scalar<'a> = "size",
        compression: Scalar<'a> = "compression",
        mime_type: Scalar<'a> = "mimeType",
        encoding: Scalar<'a> = "encoding",
        text: LazyText<'a> = "text",
    }
}

record! {
    /// A header field.
    HeaderField {
        name: Scalar<'a> = "name",
        value: Scalar<'a> = "value",
    }
}

record! {
    /// Where the time of an entry went, in ms; -1 where a part does not apply.
    Timings {
        dns: Scalar<'a> = "dns",
        connect: Scalar<'a> = "connect",
        blocked: Scalar<'a> = "blocked",
        send: Scalar<'a> = "send",
        wait: Scalar<'a> = "wait",
        receive: Scalar<'a> = "receive",
        ssl: Scalar<'a> = "ssl",
    }
}

/// Why an entry was fetched: a URL alone, or Chrome's object.
#[derive(Debug, Default)]
pub(super) struct Initiator<'a> {
    /// The URL alone.
    pub(super) plain: Scalar<'a>,
    /// Chrome's object.
    pub(super) object: Cause<'a>,
}

record! {
    /// Chrome's reason for a fetch.
    Cause {
        url: Scalar<'a> = "url",
        line: Scalar<'a> = "lineNumber",
        column: Scalar<'a> = "columnNumber",
        stack: Maybe<Stack<'a>> = "stack",
    }
}

record! {
    /// The calls that led to a fetch, innermost first.
    Stack {
        frames: List<Frame<'a>> = "callFrames",
        parent: Maybe<Box<Stack<'a>>> = "parent",
    }
}

record! {
    /// A call.
    Frame {
        url: Scalar<'a> = "url",
        line: Scalar<'a> = "lineNumber",
        column: Scalar<'a> = "columnNumber",
    }
}

impl<'a> crate::page::loose::Record<'a> for Box<Stack<'a>> {
    fn take<A: serde::de::MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        self.as_mut().take(name, map)
    }
}

impl<'de> Deserialize<'de> for Initiator<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Initiator<'de>, D::Error> {
        Ok(match crate::page::loose::Either::deserialize(deserializer)? {
            crate::page::loose::Either::Scalar(plain) => Initiator { plain, object: Cause::default() },
            crate::page::loose::Either::Record(object) => Initiator { plain: Scalar::Nothing, object },
        })
    }
}

impl Request<'_> {
    /// The method in capital letters.
    pub(super) fn method_name(&self) -> String {
        self.method.text().unwrap_or("GET").trim().to_ascii_uppercase()
    }
}

impl Response<'_> {
    /// The status; 0 where there is none.
    pub(super) fn status_code(&self) -> u16 {
        self.status.number().filter(|status| (0.0..1e4).contains(status)).map_or(0, |status| status as u16)
    }
}

/// A text that is read where it is of interest: bodies are long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LazyText<'a>(Option<&'a RawValue>);

impl<'de> Deserialize<'de> for LazyText<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LazyText<'de>, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| LazyText(Some(raw)))
    }
}

impl LazyText<'_> {
    /// The text, if it is one.
    pub(super) fn read(self) -> Option<String> {
        serde_json::from_str(self.0?.get()).ok()
    }
}

impl Cause<'_> {
    /// The innermost call: in which document or script, and its line and column there, from 0.
    pub(super) fn innermost(&self) -> Option<(&str, u32, u32)> {
        let frame = self.stack.0.as_ref()?.frames.iter().find(|frame| frame.url.filled().is_some())?;
        let number = |scalar: &Scalar<'_>| scalar.number().filter(|n| (0.0..4e9).contains(n)).map(|n| n as u32);
        Some((frame.url.filled()?, number(&frame.line)?, number(&frame.column)?))
    }

    /// The URLs that may have caused the fetch, the likeliest first.
    pub(super) fn urls(&self) -> Vec<&str> {
        let mut urls = Vec::new();
        let mut stack = self.stack.0.as_ref();
        while let Some(level) = stack {
            urls.extend(level.frames.iter().filter_map(|frame| frame.url.filled()));
            stack = level.parent.0.as_deref();
        }
        urls.extend(self.url.filled());
        urls
    }
}
