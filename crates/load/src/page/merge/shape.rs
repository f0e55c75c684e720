//! How the URL of an object looks where times, random numbers and ids in it differ from load to load.

use crate::page::build::Url;
use crate::page::{ObjectSpec, path_shape};

/// What of the URLs of two loads has to be the same for them to be one object's, from strict to loose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sameness {
    /// All of it.
    Whole,
    /// All but numbers, ids and hashes in the path, and values of the query with a digit.
    Words,
    /// Host, the path but for numbers, ids and hashes, and the names in the query.
    Names,
}

impl Sameness {
    /// In the order in which partners are looked for.
    pub(super) const ALL: [Sameness; 3] = [Sameness::Whole, Sameness::Words, Sameness::Names];
}

/// An object as far as it has to be the same; its method and kind always.
pub(super) fn shape(object: &ObjectSpec, sameness: Sameness) -> String {
    let method = object.method.as_deref().unwrap_or("GET");
    let url = Url::split(&object.url).filter(|_| sameness != Sameness::Whole);
    let Some(url) = url else { return format!("{method} {}", object.url) };
    let (path, query) = url.path.split_once('?').unwrap_or((url.path, ""));
    let parts: Vec<String> = query.split('&').map(|part| query_part(part, sameness)).collect();
    let (secure, kind) = (url.secure, object.kind.as_deref().unwrap_or_default());
    let (host, path) = (url.authority.to_ascii_lowercase(), path_shape(path.as_bytes()));
    format!("{method} {kind} {secure} {host}{}?{}", String::from_utf8_lossy(&path), parts.join("&"))
}

fn query_part(part: &str, sameness: Sameness) -> String {
    let (name, value) = part.split_once('=').map_or(("", part), |(name, value)| (name, value));
    let may_differ = sameness == Sameness::Names || value.bytes().any(|byte| byte.is_ascii_digit());
    format!("{name}={}", if may_differ { "*" } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_alike(one: &str, other: &str) -> Option<Sameness> {
        let of = |url: &str| ObjectSpec { url: format!("https://a.test/{url}"), ..ObjectSpec::default() };
        Sameness::ALL.into_iter().find(|sameness| shape(&of(one), *sameness) == shape(&of(other), *sameness))
    }

    #[test]
    fn urls_are_alike_as_far_as_what_differs_looks_made_for_one_load() {
        let table = [
            ("a.png", "a.png", Some(Sameness::Whole)),
            ("a.png", "b.png", None),
            ("p/20.jpg", "p/24.jpg", Some(Sameness::Words)),
            ("main.3f2a9c1b.js", "main.77ab01cd.js", Some(Sameness::Words)),
            ("main.3f2a9c1b.js", "vendor.77ab01cd.js", None),
            ("b?t=1700000000001", "b?t=1700000000777", Some(Sameness::Words)),
            ("b?place=top&t=1", "b?place=top&t=2", Some(Sameness::Words)),
            ("b?place=top&t=1", "b?place=side&t=2", Some(Sameness::Names)),
            ("b?t=1", "b?t=1&u=2", None),
            ("b?t=1", "b?u=1", None),
            ("b?t=1", "c?t=1", None),
            ("b?1700000000001", "b?1700000000777", Some(Sameness::Words)),
            ("b?abc", "b?abd", Some(Sameness::Names)),
            ("b", "b?", Some(Sameness::Words)),
        ];
        for (one, other, sameness) in table {
            assert_eq!(are_alike(one, other), sameness, "{one} {other}");
        }
    }

    #[test]
    fn another_method_or_host_is_another_object() {
        let get = ObjectSpec { url: "https://a.test/b?t=1".to_owned(), ..ObjectSpec::default() };
        let post = ObjectSpec { method: Some("POST".to_owned()), ..get.clone() };
        let elsewhere = ObjectSpec { url: "https://b.test/b?t=1".to_owned(), ..get.clone() };
        for sameness in Sameness::ALL {
            assert_ne!(shape(&get, sameness), shape(&post, sameness));
            assert_ne!(shape(&get, sameness), shape(&elsewhere, sameness));
        }
    }
}
