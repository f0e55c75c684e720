//! How the URL of an object looks where times, random numbers and ids in it differ from load to load.

use crate::page::ObjectSpec;
use crate::page::build::Url;

/// How alike the URLs of two loads have to be for them to be one object's, from strict to loose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Likeness {
    /// The same URL.
    Same,
    /// Words of the path may differ that look like ids, and values of the query with a digit.
    Ids,
    /// All values of the query may differ, too.
    Values,
}

impl Likeness {
    /// In the order in which partners are looked for.
    pub(super) const ALL: [Likeness; 3] = [Likeness::Same, Likeness::Ids, Likeness::Values];
}

/// What objects have in common that are so much alike: method, host and path, and the names in the query.
pub(super) fn shape(object: &ObjectSpec, likeness: Likeness) -> String {
    let method = object.method.as_deref().unwrap_or("GET");
    let url = Url::split(&object.url).filter(|_| likeness != Likeness::Same);
    let Some(url) = url else { return format!("{method} {}", object.url) };
    let (path, query) = url.path.split_once('?').unwrap_or((url.path, ""));
    let parts: Vec<String> = query.split('&').map(|part| query_part(part, likeness)).collect();
    let (secure, kind) = (url.secure, object.kind.as_deref().unwrap_or_default());
    format!("{method} {kind} {secure} {}{}?{}", url.authority.to_ascii_lowercase(), without_ids(path), parts.join("&"))
}

fn query_part(part: &str, likeness: Likeness) -> String {
    let (name, value) = part.split_once('=').map_or(("", part), |(name, value)| (name, value));
    let may_differ = likeness == Likeness::Values || value.bytes().any(|byte| byte.is_ascii_digit());
    format!("{name}={}", if may_differ { "*" } else { value })
}

/// A path with a star for each word that looks like an id.
fn without_ids(path: &str) -> String {
    let mut shape = String::with_capacity(path.len());
    for part in path.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        shape.push_str(if is_id(word) { "*" } else { word });
        shape.push_str(&part[word.len()..]);
    }
    shape
}

/// Whether a word looks like a number, a hash or an id, and not like a name with a number, as in `photo12`: it has a
/// digit, and it has 4 or more hexadecimal digits and nothing else, or 8 or more letters and digits.
fn is_id(word: &str) -> bool {
    let is_hex = word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    word.bytes().any(|byte| byte.is_ascii_digit()) && (is_hex || word.len() >= 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_alike(one: &str, other: &str) -> Option<Likeness> {
        let of = |url: &str| ObjectSpec { url: format!("https://a.test/{url}"), ..ObjectSpec::default() };
        Likeness::ALL.into_iter().find(|likeness| shape(&of(one), *likeness) == shape(&of(other), *likeness))
    }

    #[test]
    fn urls_are_alike_as_far_as_what_differs_looks_made_for_one_load() {
        let table = [
            ("a.png", "a.png", Some(Likeness::Same)),
            ("a.png", "b.png", None),
            ("p/20.jpg", "p/24.jpg", None),
            ("b?t=1700000000001", "b?t=1700000000777", Some(Likeness::Ids)),
            ("b?place=top&t=1", "b?place=top&t=2", Some(Likeness::Ids)),
            ("b?place=top&t=1", "b?place=side&t=2", Some(Likeness::Values)),
            ("b?t=1", "b?t=1&u=2", None),
            ("b?t=1", "b?u=1", None),
            ("b?1700000000001", "b?1700000000777", Some(Likeness::Ids)),
            ("main.3f2a9c1b.js", "main.77ab01cd.js", Some(Likeness::Ids)),
            ("main.3f2a9c1b.js", "vendor.77ab01cd.js", None),
            ("user/1234/x", "user/9876/x", Some(Likeness::Ids)),
            ("user/123/x", "user/987/x", None),
            ("v/9e01216a-352e-3d3c/x", "v/0b29c3ac-77aa-1111/x", Some(Likeness::Ids)),
            ("photo12.jpg", "photo13.jpg", None),
            ("session12.js", "session13.js", Some(Likeness::Ids)),
        ];
        for (one, other, likeness) in table {
            assert_eq!(are_alike(one, other), likeness, "{one} {other}");
        }
    }

    #[test]
    fn another_method_or_host_is_another_object() {
        let get = ObjectSpec { url: "https://a.test/b?t=1".to_owned(), ..ObjectSpec::default() };
        let post = ObjectSpec { method: Some("POST".to_owned()), ..get.clone() };
        let elsewhere = ObjectSpec { url: "https://b.test/b?t=1".to_owned(), ..get.clone() };
        for likeness in Likeness::ALL {
            assert_ne!(shape(&get, likeness), shape(&post, likeness));
            assert_ne!(shape(&get, likeness), shape(&elsewhere, likeness));
        }
    }
}
