//! What requests and responses say in their heads, for those who want more than sizes and times.

use loadstone_http::decode::FrameLine;

/// Names and values of a head in its order, with pseudo-fields for what HTTP/1.1 says in the first line (RFC 9113,
/// section 8.3).
pub type HeadFields = Vec<(String, String)>;

/// What a field takes beside its text.
const FIELD_BYTES: usize = 2 * size_of::<String>();
/// How SPDY/2 calls what others have pseudo-fields for.
const OF_SPDY_2: [&str; 6] = ["method", "scheme", "url", "host", "version", "status"];

/// The heads of an exchange; without fields where they were not captured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExchangeHeads {
    /// What the request says.
    pub request: HeadFields,
    /// What the response says.
    pub response: HeadFields,
    /// Bytes of the request's head on the wire.
    pub request_head_bytes: u64,
    /// Bytes of the response's head on the wire.
    pub response_head_bytes: u64,
}

impl ExchangeHeads {
    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let fields = self.request.iter().chain(&self.response);
        fields.map(|(name, value)| name.len() + value.len() + FIELD_BYTES).sum()
    }
}

/// The fields of HTTP/1.1 as read, behind pseudo-fields for its first line.
pub(super) fn of_http1(first_line: &[(&str, &str)], fields: &[httparse::Header<'_>]) -> HeadFields {
    let pseudo = first_line.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let latin1 = |value: &[u8]| value.iter().map(|byte| char::from(*byte)).collect();
    let fields = fields.iter().map(|field| (field.name.to_ascii_lowercase(), latin1(field.value)));
    pseudo.chain(fields).collect()
}

/// The fields of a frame that begins a request or a response, by the names that HTTP/2 has for them.
pub(super) fn of_frame(line: &FrameLine) -> HeadFields {
    let fields = line.headers.as_deref().unwrap_or_default();
    let is_spdy_2 = fields.iter().any(|(name, _)| name == "method" || name == "status");
    let named = |name: &str| match name.trim_start_matches(':') {
        "host" if name.starts_with(':') || is_spdy_2 => ":authority".to_owned(),
        "url" if is_spdy_2 => ":path".to_owned(),
        plain if is_spdy_2 && OF_SPDY_2.contains(&plain) => format!(":{plain}"),
        _ => name.to_owned(),
    };
    fields.iter().map(|(name, value)| (named(name), value.replace('\0', ", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fields: &[(&str, &str)]) -> FrameLine {
        let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        FrameLine { headers: Some(headers.collect()), ..FrameLine::default() }
    }

    #[test]
    fn the_names_of_spdy_2_are_those_of_http_2() {
        let read = of_frame(&line(&[("method", "GET"), ("url", "/a"), ("host", "a.test"), ("accept", "a\0b")]));
        let names: Vec<&str> = read.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(names, [":method", ":path", ":authority", "accept"]);
        assert_eq!(read[3].1, "a, b");
    }

    #[test]
    fn a_field_called_host_is_no_pseudo_field_in_http_2() {
        let read = of_frame(&line(&[(":method", "GET"), ("host", "a.test"), ("version", "1")]));
        assert_eq!(read[1].0, "host");
        assert_eq!(read[2].0, "version");
        assert_eq!(of_frame(&line(&[(":host", "a.test")]))[0].0, ":authority");
    }
}
