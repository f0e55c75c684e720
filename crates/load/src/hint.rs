//! Fields of responses that tell a client what to fetch by itself: Link with the relation `preload` (RFC 8288 and
//! the Preload specification), and X-Subresource, SPDY's server hint.

use loadstone_http::{Fields, ResponseHead};

/// Something that a client is told to fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// Where it is, by path or whole.
    pub url: String,
    /// What the Fetch standard calls its destination, if that is known: a browser leaves out what has none.
    pub destination: Option<&'static str>,
    /// Its media type, which may be a range.
    pub media_type: String,
}

impl Hint {
    /// The value of Link.
    pub fn links(hints: &[Hint]) -> String {
        let link = |Hint { url, destination, .. }: &Hint| match destination {
            Some(destination) => format!("<{url}>; rel=preload; as={destination}"),
            None => format!("<{url}>; rel=preload"),
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

/// The paths that a response's head tells to fetch: of Link with `rel=preload` (RFC 8288), or of
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
