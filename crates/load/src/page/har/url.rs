//! URLs as HAR files have them: with spaces, fragments, other schemes, and of any length.

use crate::page::build::Url;

/// The longest URL that is kept; longer ones are cut, which keeps them one request of about their
/// size.
const MAX_URL: usize = 8 * 1024;

/// A URL that a page file takes, and whether it had to be cut. `None` if it names no web server.
pub(super) fn cleaned(url: &str) -> Option<(String, bool)> {
    let url = without_fragment(url.trim());
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let mut clean = String::with_capacity(url.len());
    clean.push_str(&scheme);
    clean.push_str("://");
    let mut cut = false;
    for byte in rest.bytes() {
        if clean.len() + 3 > MAX_URL {
            cut = true;
            break;
        }
        if byte.is_ascii_graphic() {
            clean.push(byte as char);
        } else {
            const HEX: &[u8; 16] = b"0123456789ABCDEF";
            clean.extend(['%', HEX[usize::from(byte >> 4)] as char, HEX[usize::from(byte & 15)] as char]);
        }
    }
    Url::split(&clean)?;
    Some((clean, cut))
}

/// Host and request target of a cleaned URL; both are empty if it is none.
pub(in crate::page) fn parts(url: &str) -> (String, String) {
    let Some(url) = Url::split(url) else { return <(String, String)>::default() };
    let target = if url.path.starts_with('/') { url.path.to_owned() } else { format!("/{}", url.path) };
    (url.authority.to_ascii_lowercase(), target)
}

/// The part before the fragment, which no request contains.
pub(super) fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// What two references to one thing have in common.
pub(super) fn key(url: &str) -> &str {
    let url = without_fragment(url);
    // `https://host` and `https://host/` ask for the same.
    match url.strip_suffix('/') {
        Some(bare) if bare.bytes().filter(|byte| *byte == b'/').count() == 2 => bare,
        _ => url,
    }
}

/// A reference such as the `Location` of a redirect, seen from the URL `base` (RFC 3986, section
/// 5.2, without dot segments).
pub(super) fn resolved(base: &str, reference: &str) -> Option<String> {
    let reference = without_fragment(reference.trim());
    if reference.is_empty() {
        return None;
    }
    if reference.contains("://") {
        return Some(reference.to_owned());
    }
    let base = without_fragment(base);
    let (scheme, rest) = base.split_once("://")?;
    if let Some(network) = reference.strip_prefix("//") {
        return Some(format!("{scheme}://{network}"));
    }
    let host_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_end);
    let path = path.split('?').next().unwrap_or_default();
    let folder = &path[..path.rfind('/').map_or(0, |slash| slash + 1)];
    Some(match reference.as_bytes()[0] {
        b'/' => format!("{scheme}://{host}{reference}"),
        b'?' => format!("{scheme}://{host}{path}{reference}"),
        _ if folder.is_empty() => format!("{scheme}://{host}/{reference}"),
        _ => format!("{scheme}://{host}{folder}{reference}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_request_line_can_hold_is_encoded_or_cut() {
        let clean = |url: &str| cleaned(url).map(|(url, _)| url);
        assert_eq!(clean("HTTPS://a.test/x y\u{1}é#part").as_deref(), Some("https://a.test/x%20y%01%C3%A9"));
        let (long, cut) = cleaned(&format!("https://a.test/{}", "x".repeat(100_000))).unwrap();
        assert!(cut && long.len() <= MAX_URL);
        for none in ["", "about:blank", "data:text/css,x", "https://", "https:///x", "ws://a.test/", "//a.test/"] {
            assert_eq!(clean(none), None, "{none}");
        }
    }

    #[test]
    fn references_are_resolved_against_their_base() {
        let from = |reference| resolved("https://a.test/b/c?d", reference).unwrap();
        assert_eq!(from("http://b.test/"), "http://b.test/");
        assert_eq!(from("//b.test/x"), "https://b.test/x");
        assert_eq!(from("/x"), "https://a.test/x");
        assert_eq!(from("x#y"), "https://a.test/b/x");
        assert_eq!(from("?x"), "https://a.test/b/c?x");
        assert_eq!(resolved("https://a.test", "x").as_deref(), Some("https://a.test/x"));
        assert_eq!(resolved("https://a.test", ""), None);
        assert_eq!(key("https://a.test/"), key("https://a.test#x"));
    }
}
