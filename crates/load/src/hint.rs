//! Fields of responses that tell a client what to fetch by itself: Link with the relation `preload` (RFC 8288 and
//! the Preload specification), and X-Subresource, SPDY's server hint.

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
    pub fn links(hints: &[Hint]) -> String {
        let link = |Hint { url, destination, is_cors, .. }: &Hint| {
            let purpose = destination.map_or(String::new(), |destination| format!("; as={}", destination.name()));
            format!("<{url}>; rel=preload{purpose}{}", if *is_cors { "; crossorigin" } else { "" })
        };
        hints.iter().map(link).collect::<Vec<_>>().join(", ")
    }

    /// An interim response that has it (RFC 8297).
    pub fn early(hints: &[Hint]) -> ResponseHead {
        ResponseHead::new(103, Fields::from_pairs([("link", Hint::links(hints))]))
    }

    /// The value of X-Subresource: types and URLs in turn.
    pub fn subresources(hints: &[Hint]) -> String {
        let subresource = |Hint { url, media_type, .. }: &Hint| format!("{media_type}; {url}");
        hints.iter().map(subresource).collect::<Vec<_>>().join("; ")
    }
}

/// The paths and URLs that a response's head tells to fetch: of Link with `rel=preload` (RFC 8288), or of
/// X-Subresource. What cannot be understood is passed over.
pub(crate) fn hinted(head: &ResponseHead) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    for (name, value) in head.fields.iter() {
        if name.eq_ignore_ascii_case(b"link") {
            for link in split_links(value) {
                let Some(end) = link.iter().position(|byte| *byte == b'>').filter(|_| link.starts_with(b"<")) else {
                    continue;
                };
                let is_preload = link[end + 1..].split(|byte| *byte == b';').any(|parameter| {
                    let parameter = parameter.trim_ascii();
                    parameter.eq_ignore_ascii_case(b"rel=preload") || parameter.eq_ignore_ascii_case(b"rel=\"preload\"")
                });
                if is_preload {
                    paths.push(link[1..end].to_vec());
                }
            }
        } else if name.eq_ignore_ascii_case(b"x-subresource") {
            let mut parts = value.split(|byte| *byte == b';');
            while let (Some(_), Some(path)) = (parts.next(), parts.next()) {
                paths.push(path.trim_ascii().to_vec());
            }
        }
    }
    paths
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
