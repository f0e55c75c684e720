//! Secrets of a recording, replaced by text that is as long and as hard to compress.
//!
//! Secret are the values of all header fields but those that are known to be public, the values in the queries, fragments
//! and path parameters of URLs, and the names and passwords in them. Names, punctuation and all other text stay, and so
//! do attributes of cookies and schemes of credentials.
//!
//! A letter or digit is replaced by another one of its class, which HPACK writes with as many bits. Which one follows, by
//! SHA-256, from all of the recording and from the part of its word before it. So equal words become equal ones, and words
//! begin alike as far as they did: compressors find the same repetitions. Within one recording the replacement of
//! different values is different, so objects stay distinct. Who does not have the recording cannot compute it backwards:
//! the key is in it, with everything that is secret. What remains known of a word is its length, its classes, and which
//! words of the recording begin alike.

use loadstone_http::h1::MAX_HEAD;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What becomes of the secrets in a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Secrets {
    /// They are replaced.
    Replaced,
    /// They stay as they are.
    Kept,
}

/// Letters and digits by the length of their Huffman code in HPACK (RFC 7541, appendix B); those of hexadecimal numbers
/// by themselves. A is a bit shorter than the others of its class, X and Z are a bit longer: alone they would not change.
const CLASSES: [&[u8]; 9] =
    [b"012", b"3456789", b"ace", b"bdf", b"iost", b"ghlmnpru", b"jkqvwxyz", b"ABCDEF", b"GHIJKLMNOPQRSTUVWXYZ"];

/// Fields whose values are public: those that standards give to everybody, and what caches and servers say of
/// themselves and by what they number requests. So are those that begin with one of [`PUBLIC_PREFIXES`].
const PUBLIC: [&str; 117] = [
    "accept",
    "accept-ch",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-patch",
    "accept-post",
    "accept-ranges",
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-expose-headers",
    "access-control-max-age",
    "access-control-request-headers",
    "access-control-request-method",
    "age",
    "allow",
    "alt-svc",
    "cache-control",
    "cf-bgj",
    "cf-cache-status",
    "cf-polished",
    "cf-ray",
    "cf-request-id",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "critical-ch",
    "cross-origin-embedder-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "date",
    "device-memory",
    "dnt",
    "downlink",
    "dpr",
    "ect",
    "etag",
    "expect",
    "expires",
    "feature-policy",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "last-modified",
    "max-forwards",
    "nginx-cache",
    "origin-agent-cluster",
    "p3p",
    "permissions-policy",
    "pragma",
    "priority",
    "proxy-connection",
    "public-key-pins",
    "range",
    "referrer-policy",
    "request-id",
    "retry-after",
    "rtt",
    "save-data",
    "sec-gpc",
    "server",
    "server-timing",
    "service-worker",
    "status",
    "strict-transport-security",
    "surrogate-control",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "vary",
    "via",
    "viewport-width",
    "warning",
    "width",
    "x-akamai-transformed",
    "x-amz-cf-id",
    "x-amz-cf-pop",
    "x-amz-id-2",
    "x-amz-request-id",
    "x-amz-version-id",
    "x-aspnet-version",
    "x-cache",
    "x-cache-hits",
    "x-cache-status",
    "x-cacheable",
    "x-cdn",
    "x-content-type-options",
    "x-dns-prefetch-control",
    "x-download-options",
    "x-fastly-request-id",
    "x-frame-options",
    "x-github-request-id",
    "x-hw",
    "x-iinfo",
    "x-msedge-ref",
    "x-permitted-cross-domain-policies",
    "x-powered-by",
    "x-request-id",
    "x-requested-with",
    "x-robots-tag",
    "x-served-by",
    "x-timer",
    "x-timestamp",
    "x-trans-id",
    "x-ua-compatible",
    "x-varnish",
];
const PUBLIC_PREFIXES: [&str; 2] = ["sec-ch-", "sec-fetch-"];

/// Fields whose value is a URL.
const URL: [&str; 6] = ["content-location", "location", "origin", "referer", "sourcemap", "x-sourcemap"];
/// Fields that are public but for the URLs in them.
const WITH_URLS: [&str; 13] = [
    "access-control-allow-origin",
    "content-security-policy",
    "content-security-policy-report-only",
    "expect-ct",
    "link",
    "nel",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "timing-allow-origin",
    "x-associated-content",
    "x-subresource",
    "x-xss-protection",
];

/// Schemes of credentials, which stay.
const SCHEMES: [&str; 6] = ["basic", "bearer", "digest", "negotiate", "ntlm", "token"];
/// Words in the dates of cookies, beside numbers.
const DATE_WORDS: [&str; 21] = [
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec", "gmt", "utc",
];

/// Whether a recording's fields of this name are what was sent, also after their secrets were replaced, but for values in
/// URLs.
pub(super) fn is_as_recorded(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    is_public(&name) || URL.contains(&name.as_str()) || WITH_URLS.contains(&name.as_str())
}

/// Whether the values of fields of this name, in lower case, are public.
fn is_public(name: &str) -> bool {
    PUBLIC.contains(&name) || PUBLIC_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Replaces the secrets of one recording.
pub(super) struct Redactor {
    /// `None` where they are kept.
    key: Option<[u8; 32]>,
    /// The values that have been replaced, with what they became.
    replaced: BTreeMap<String, String>,
}

impl Redactor {
    /// For the recording with this content.
    pub(super) fn new(secrets: Secrets, recording: &[u8]) -> Redactor {
        // Not the digest that people publish to tell what file they mean.
        let key =
            || Sha256::new_with_prefix("the secrets of this recording: ").chain_update(recording).finalize().into();
        Redactor { key: (secrets == Secrets::Replaced).then(key), replaced: BTreeMap::new() }
    }

    /// The value of a header field.
    pub(super) fn field(&mut self, name: &str, value: &str) -> String {
        let name = name.to_ascii_lowercase();
        let is_in = |names: &[&str]| names.contains(&name.as_str());
        match name.as_str() {
            _ if self.key.is_none() || is_public(&name) => value.to_owned(),
            _ if is_in(&URL) => self.url(value),
            _ if is_in(&WITH_URLS) => pieces(value, &['<', '>', '"', ' ', '\t', '\n'], |word| {
                let is_url = word.starts_with('/') || word.contains("//") || word.contains(['?', '#']);
                if is_url { self.url(word) } else { word.to_owned() }
            }),
            "cookie" => self.pairs(value, &[';']),
            // Chrome joins the values of repeated fields with line breaks.
            "set-cookie" => pieces(value, &['\n'], |cookie| self.set_cookie(cookie)),
            "authorization" | "proxy-authorization" => self.credentials(value),
            _ => self.text(value),
        }
    }

    /// A URL, or a reference to one.
    pub(super) fn url(&mut self, url: &str) -> String {
        if self.key.is_none() {
            return url.to_owned();
        }
        let (place, query) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
        let mut before = None;
        let place = pieces(place, &['/'], |segment| {
            let follows_slashes = before.replace(segment.is_empty()) == Some(true);
            match segment.rfind('@').filter(|_| follows_slashes) {
                Some(at) => self.text(&segment[..at]) + &segment[at..],
                None => self.path_segment(segment),
            }
        });
        place + &self.pairs(query, &['?', '#', '&', ';'])
    }

    /// A segment of a path with its parameters: `cart;jsessionid=1F`.
    fn path_segment(&mut self, segment: &str) -> String {
        let mut is_parameter = false;
        pieces(segment, &[';'], |part| match std::mem::replace(&mut is_parameter, true) {
            true if part.contains('=') => self.pair(part),
            _ => part.to_owned(),
        })
    }

    /// Names with values, such as a query or a list of cookies.
    fn pairs(&mut self, text: &str, separators: &[char]) -> String {
        pieces(text, separators, |pair| self.pair(pair))
    }

    /// A name with its value; where there is no value, the name may be one.
    fn pair(&mut self, pair: &str) -> String {
        match pair.split_once('=').filter(|(_, value)| value.contains(is_replaced)) {
            Some((name, value)) => format!("{name}={}", self.text(value)),
            None => self.text(pair),
        }
    }

    /// A cookie as a server sets it.
    fn set_cookie(&mut self, cookie: &str) -> String {
        let mut is_first = true;
        pieces(cookie, &[';'], |part| match std::mem::replace(&mut is_first, false) {
            false if is_public_attribute(part) => part.to_owned(),
            is_first => pieces(part, &[','], |part| match is_first {
                // Some programs join several cookies with commas.
                false if is_public_attribute(part) => part.to_owned(),
                _ => self.pair(part),
            }),
        })
    }

    /// Credentials with their scheme.
    fn credentials(&mut self, value: &str) -> String {
        match value.split_once(' ').filter(|(scheme, _)| SCHEMES.contains(&scheme.to_ascii_lowercase().as_str())) {
            Some((scheme, rest)) => format!("{scheme} {}", self.text(rest)),
            None => self.text(value),
        }
    }

    /// A text of which every word is secret.
    fn text(&mut self, text: &str) -> String {
        let Some(key) = &self.key else { return text.to_owned() };
        // No head has room for it.
        if text.len() > MAX_HEAD {
            return "x".repeat(text.len());
        }
        if let Some(known) = self.replaced.get(text) {
            return known.clone();
        }
        let replacement = replaced(key, text);
        self.replaced.insert(text.to_owned(), replacement.clone());
        replacement
    }
}

/// A text whose pieces between separators are replaced each by itself.
fn pieces(text: &str, separators: &[char], mut replace: impl FnMut(&str) -> String) -> String {
    let mut whole = String::with_capacity(text.len());
    for piece in text.split_inclusive(separators) {
        let inside = piece.strip_suffix(separators).unwrap_or(piece);
        whole.push_str(&replace(inside));
        whole.push_str(&piece[inside.len()..]);
    }
    whole
}

/// Whether this part of a `Set-Cookie` is an attribute with a value as it should be (RFC 6265, section 4.1.1).
fn is_public_attribute(part: &str) -> bool {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    let value = value.trim().to_ascii_lowercase();
    let digits = |text: &str, most: usize| text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.trim().to_ascii_lowercase().as_str() {
        "expires" => value
            .split(|letter: char| !letter.is_alphanumeric())
            .all(|word| digits(word, 4) || DATE_WORDS.contains(&word)),
        "max-age" => digits(value.trim_start_matches('-'), 10),
        "domain" => value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte)),
        "path" => value.starts_with('/') && !value.contains([',', '=', '?', '#']),
        "samesite" => ["lax", "strict", "none"].contains(&value.as_str()),
        "priority" => ["low", "medium", "high"].contains(&value.as_str()),
        "secure" | "httponly" | "partitioned" => value.is_empty(),
        _ => part.trim().is_empty(),
    }
}

/// Whether a character is replaced. ASCII's punctuation stays and ends words.
fn is_replaced(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || !letter.is_ascii()
}

/// The replacement of a text, word by word.
fn replaced(key: &[u8; 32], text: &str) -> String {
    let mut word = Word::new(key);
    let mut whole = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match encoded(letter, rest.as_str()) {
            // Of an encoded byte the second digit is replaced, which makes it another one.
            Some(byte) if is_replaced(byte as char) => {
                let digit = rest.next().unwrap_or_default();
                whole.extend([letter, digit]);
                word.advance(digit);
                whole.extend(rest.next().map(|digit| word.replace(digit)));
            }
            Some(_) => {
                whole.push(letter);
                whole.extend(rest.by_ref().take(2));
                word = Word::new(key);
            }
            None if is_replaced(letter) => whole.push(word.replace(letter)),
            None => {
                whole.push(letter);
                word = Word::new(key);
            }
        }
    }
    whole
}

/// The byte that stands percent-encoded here.
fn encoded(letter: char, rest: &str) -> Option<u8> {
    let digits = rest.get(..2).filter(|digits| letter == '%' && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// What decides how a word goes on: the key and what of the word has gone before.
struct Word([u8; 32]);

impl Word {
    fn new(key: &[u8; 32]) -> Word {
        Word(*key)
    }

    fn advance(&mut self, letter: char) {
        self.0 = Sha256::new_with_prefix(self.0).chain_update(u32::from(letter).to_le_bytes()).finalize().into();
    }

    /// The replacement of the next letter: always another one, and a different one for each of its class.
    fn replace(&mut self, letter: char) -> char {
        let replacement = self.other(letter);
        self.advance(letter);
        replacement
    }

    fn other(&self, letter: char) -> char {
        let step = |class: usize, size: u32| {
            let random = u32::from_le_bytes([self.0[2 * class], self.0[2 * class + 1], 0, 0]);
            1 + random % (size - 1)
        };
        let found = CLASSES.iter().enumerate().find_map(|(class, members)| {
            let place = members.iter().position(|member| char::from(*member) == letter)? as u32;
            let size = members.len() as u32;
            Some(char::from(members[((place + step(class, size)) % size) as usize]))
        });
        // Beyond ASCII a class is the 64 characters that differ in the last byte of their UTF-8.
        let beyond = || {
            let place = u32::from(letter) & 63;
            char::from_u32(u32::from(letter) - place + (place + step(CLASSES.len(), 64)) % 64)
        };
        found.or_else(beyond).unwrap_or(letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_letter_becomes_another_one_of_its_class_and_no_two_the_same() {
        let word = Word([7; 32]);
        let letters: Vec<char> = ('0'..='9').chain('a'..='z').chain('A'..='Z').chain('\u{400}'..'\u{480}').collect();
        let others: BTreeSet<char> = letters.iter().map(|letter| word.other(*letter)).collect();
        assert_eq!(others, letters.iter().copied().collect());
        assert!(letters.iter().all(|letter| word.other(*letter) != *letter));
        assert_eq!(CLASSES.concat().len(), 62);
    }

    #[test]
    fn a_value_that_no_head_has_room_for_costs_nothing() {
        let mut redactor = Redactor::new(Secrets::Replaced, b"");
        let long = "a1".repeat(50_000_000);
        assert_eq!(redactor.text(&long), "x".repeat(100_000_000));
        assert!(redactor.replaced.is_empty());
    }
}
