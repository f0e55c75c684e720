//! Fields of responses that tell a client what to do by itself: Link (RFC 8288) with the relations `preload`, to fetch
//! something, and `preconnect`, to open a connection (HTML, sections 4.6.7.15 and 4.6.7.12), and X-Subresource, SPDY's
//! server hint.

use crate::page::Preconnect;
use loadstone_http::{Fields, ResponseHead};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What something is fetched for (Fetch, section 2.2.5, destination): a browser preloads nothing without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// A style sheet.
    Style,
    /// A script.
    Script,
    /// An image.
    Image,
    /// A font.
    Font,
    /// What a script asks for.
    Fetch,
}

impl Destination {
    /// Its name, as `as` of a link has it.
    fn name(self) -> &'static str {
        match self {
            Destination::Style => "style",
            Destination::Script => "script",
            Destination::Image => "image",
            Destination::Font => "font",
            Destination::Fetch => "fetch",
        }
    }

    /// How urgent it is to Chromium where Early Hints tell of it, before any page asks.
    pub(crate) fn urgency(self) -> u8 {
        match self {
            Destination::Style => 0,
            Destination::Script | Destination::Font => 1,
            Destination::Image | Destination::Fetch => 3,
        }
    }

    /// Whether such things are always fetched by CORS, if nobody says otherwise: fonts, and what scripts ask for.
    pub fn is_cors(self) -> bool {
        matches!(self, Destination::Font | Destination::Fetch)
    }
}

/// Something that a client is told to fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// Where it is, by path or whole.
    pub url: String,
    /// What it is fetched for, if that is known.
    pub destination: Option<Destination>,
    /// Whether it is fetched by CORS (`crossorigin`): a preload that says otherwise is of no use, and it is fetched twice.
    pub is_cors: bool,
    /// Its media type, which may be a range.
    pub media_type: String,
}

impl Hint {
    /// The value of Link.
    fn links(hints: &[Hint]) -> String {
        let link = |Hint { url, destination, is_cors, .. }: &Hint| {
            let purpose = destination.map_or(String::new(), |destination| format!("; as={}", destination.name()));
            format!("<{url}>; rel=preload{purpose}{}", if *is_cors { "; crossorigin" } else { "" })
        };
        hints.iter().map(link).collect::<Vec<_>>().join(", ")
    }

    /// An interim response (RFC 8297) that tells of them, and of connections to open.
    pub fn early(hints: &[Hint], connections: &[Preconnect]) -> ResponseHead {
        ResponseHead::new(103, Fields::from_pairs(Hint::link_fields(hints, connections)))
    }

    /// The fields that tell of them, and of connections to open: those that say anything.
    pub(crate) fn link_fields(hints: &[Hint], connections: &[Preconnect]) -> Vec<(&'static str, String)> {
        let mut fields = vec![("link", Hint::links(hints)), ("link", preconnect_links(connections))];
        fields.retain(|(_, value)| !value.is_empty());
        fields
    }

    /// The value of X-Subresource: types and URLs in turn.
    pub fn subresources(hints: &[Hint]) -> String {
        let subresource = |Hint { url, media_type, .. }: &Hint| format!("{media_type}; {url}");
        hints.iter().map(subresource).collect::<Vec<_>>().join("; ")
    }
}

/// The value of Link that tells to open connections.
fn preconnect_links(connections: &[Preconnect]) -> String {
    let link = |Preconnect { url, anonymous }: &Preconnect| {
        format!("<{url}>; rel=preconnect{}", if *anonymous { "; crossorigin" } else { "" })
    };
    connections.iter().map(link).collect::<Vec<_>>().join(", ")
}

/// The connections that a response's head tells to open.
pub(crate) fn preconnects(head: &ResponseHead) -> Vec<Preconnect> {
    let links = head.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"link"));
    let links = links.flat_map(|(_, value)| split_links(value)).filter_map(LinkValue::split);
    let asked = links.filter(|link| link.has(b"rel=preconnect") || link.has(b"rel=\"preconnect\""));
    let anonymous = |link: &LinkValue<'_>| {
        let is_asked = |word: &[u8]| link.has(word);
        is_asked(b"crossorigin") || is_asked(b"crossorigin=anonymous") || is_asked(b"crossorigin=\"anonymous\"")
    };
    let url = |link: &LinkValue<'_>| String::from_utf8(link.url.to_vec()).ok();
    asked.filter_map(|link| Some(Preconnect { url: url(&link)?, anonymous: anonymous(&link) })).collect()
}

/// The paths and URLs that a response's head tells to fetch: of Link with `rel=preload` (RFC 8288), or of
/// X-Subresource. What cannot be understood is passed over.
pub(crate) fn hinted(head: &ResponseHead) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    for (name, value) in head.fields.iter() {
        if name.eq_ignore_ascii_case(b"link") {
            let links = split_links(value).into_iter().filter_map(LinkValue::split);
            let asked = links.filter(|link| link.has(b"rel=preload") || link.has(b"rel=\"preload\""));
            paths.extend(asked.map(|link| link.url.to_vec()));
        } else if name.eq_ignore_ascii_case(b"x-subresource") {
            let mut parts = value.split(|byte| *byte == b';');
            while let (Some(_), Some(path)) = (parts.next(), parts.next()) {
                paths.push(path.trim_ascii().to_vec());
            }
        }
    }
    paths
}

/// A link of a field.
struct LinkValue<'f> {
    url: &'f [u8],
    parameters: &'f [u8],
}

impl<'f> LinkValue<'f> {
    fn split(text: &'f [u8]) -> Option<LinkValue<'f>> {
        let end = text.iter().position(|byte| *byte == b'>').filter(|_| text.starts_with(b"<"))?;
        Some(LinkValue { url: &text[1..end], parameters: &text[end + 1..] })
    }

    fn has(&self, parameter: &[u8]) -> bool {
        self.parameters.split(|byte| *byte == b';').any(|one| one.trim_ascii().eq_ignore_ascii_case(parameter))
    }
}

/// The links of a field: commas within angle brackets belong to the URL.
fn split_links(value: &[u8]) -> Vec<&[u8]> {
    let mut within = 0;
    let is_between = |byte: &u8| {
        match byte {
            b'<' => within += 1,
            b'>' => within = 0,
            _ => {}
        }
        *byte == b',' && within == 0
    };
    value.split(is_between).map(<[u8]>::trim_ascii).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_asked_for_with_and_without_credentials() {
        let [own, bare] = [false, true].map(|anonymous| Preconnect { url: "https://a,b.test".to_owned(), anonymous });
        let both = [own.clone(), bare.clone()];
        let head = |value: &str| ResponseHead::new(103, Fields::from_pairs([("Link", value)]));
        assert_eq!(preconnects(&head(&preconnect_links(&both))), both);
        assert_eq!(hinted(&head(&preconnect_links(&both))), [] as [&[u8]; 0]);
        let written = "</x>; rel=preload, <https://a,b.test>;rel=\"Preconnect\" ; crossorigin=use-credentials";
        assert_eq!((preconnects(&head(written)), hinted(&head(written))), (vec![own], vec![b"/x".to_vec()]));
        assert_eq!(preconnects(&head("<https://a,b.test>; crossorigin=\"anonymous\"; rel=preconnect")), [bare]);
    }

    #[test]
    fn what_is_no_hint_is_passed_over() {
        for (name, value) in [
            ("link", "</a>; rel=next, b, <, >, </c"),
            ("link", ""),
            ("x-subresource", "text/css"),
            ("x-other", "</a>; rel=preload"),
        ] {
            assert_eq!(
                hinted(&ResponseHead::new(200, Fields::from_pairs([(name, value)]))),
                [] as [&[u8]; 0],
                "{value}"
            );
        }
    }
}
