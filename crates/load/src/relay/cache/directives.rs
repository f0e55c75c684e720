//! Cache directives: those of Cache-Control (RFC 9111, section 5.2), and those that an origin addresses to shared caches near
//! its clients (RFC 9213).

use super::of_name;
use loadstone_http::Fields;

/// Directives in their order: names in lower case, values without quotation marks.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Directives(Vec<(String, Option<String>)>);

impl Directives {
    /// Those of Cache-Control. What is no directive is left out.
    pub(super) fn of(fields: &Fields) -> Directives {
        let values = of_name(fields, b"cache-control").map(String::from_utf8_lossy);
        let mut all = Vec::new();
        for value in values {
            all.extend(parts(&value, ',').filter(|part| !part.is_empty()).map(directive));
        }
        Directives(all)
    }

    /// Those of CDN-Cache-Control, which come in place of Cache-Control and Expires. None where it is missing, empty, or not a
    /// dictionary (RFC 9213, section 2.1).
    pub(super) fn targeted(fields: &Fields) -> Option<Directives> {
        let values: Vec<_> = of_name(fields, b"cdn-cache-control").map(String::from_utf8_lossy).collect();
        let mut all: Vec<(String, Option<String>)> = Vec::new();
        for part in values.iter().flat_map(|value| parts(value, ',')) {
            let (name, value) = member(part)?;
            // Of members of one name the last counts (RFC 8941, section 3.2).
            all.retain(|(known, _)| *known != name);
            // A number in quotation marks is none, and its directive is ignored (RFC 9213, section 2.1).
            let is_text = value.as_ref().is_some_and(|value| value.starts_with('"'));
            if !is_text || matches!(&name[..], "private" | "no-cache") {
                all.push((name, value.filter(|_| !is_text)));
            }
        }
        Some(Directives(all)).filter(|all| !all.0.is_empty())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// The seconds that a directive says; the first of them, if there are several.
    pub(super) fn seconds(&self, name: &str) -> Option<u64> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        let digits = value.as_ref().filter(|value| !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit()))?;
        // RFC 9111, section 1.2.2: a number that is too large is the largest.
        Some(digits.parse().unwrap_or(u64::MAX))
    }

    /// As a field's value, without one of them.
    pub(super) fn to_value_without(&self, name: &str) -> String {
        let one = |(name, value): &(String, Option<String>)| match value {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        };
        self.0.iter().filter(|(known, _)| known != name).map(one).collect::<Vec<_>>().join(", ")
    }
}

/// What stands between separators that are not in quotation marks, without white space around it.
fn parts(value: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(move |mark| {
        let is_plain = !std::mem::take(&mut is_escaped);
        is_escaped = is_plain && is_quoted && mark == '\\';
        is_quoted ^= is_plain && mark == '"';
        mark == separator && !is_quoted
    });
    parts.map(str::trim)
}

fn directive(part: &str) -> (String, Option<String>) {
    let (name, value) = part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
    let value = value.map(|value| value.trim().trim_matches('"').replace(['"', ','], " "));
    (name.trim().to_ascii_lowercase(), value)
}

/// A member of a dictionary (RFC 8941, section 3.2) whose value is an integer, a token, a string or true.
fn member(part: &str) -> Option<(String, Option<String>)> {
    let item = parts(part, ';').next()?;
    let (name, value) = item.split_once('=').map_or((item, None), |(name, value)| (name, Some(value)));
    let is_first = |byte: u8| byte.is_ascii_lowercase() || byte == b'*';
    let is_key = |byte: u8| is_first(byte) || byte.is_ascii_digit() || b"_-.".contains(&byte);
    let is_name = name.bytes().next().is_some_and(is_first) && name.bytes().all(is_key);
    let is_value = value.is_none_or(|value| {
        let is_integer = value.len() <= 15 && !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let is_string = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
        let is_token = value.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && value.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"(),;<=>?@[\\]{}".contains(&byte));
        is_integer || is_string || is_token || value == "?1"
    });
    (is_name && is_value).then(|| (name.to_owned(), value.filter(|value| *value != "?1").map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Directives {
        Directives::of(&Fields::from_pairs([("cache-control", value)]))
    }

    fn targeted(value: &str) -> Option<Directives> {
        Directives::targeted(&Fields::from_pairs([("cdn-cache-control", value)]))
    }

    #[test]
    fn directives_are_read_in_any_case_with_quoted_values_and_without_what_is_none() {
        let read = of("MAX-age=\"60\", , no-cache=\"a, b\",Private , s-maxage = 5");
        assert_eq!((read.seconds("max-age"), read.seconds("s-maxage")), (Some(60), Some(5)));
        assert!(read.has("no-cache") && read.has("private") && !read.has("b"));
        for (value, seconds) in [
            ("max-age=99999999999999999999", Some(u64::MAX)),
            ("max-age=-1", None),
            ("max-age", None),
            ("max-age=1.5", None),
        ] {
            assert_eq!(of(value).seconds("max-age"), seconds, "{value}");
        }
    }

    #[test]
    fn what_is_for_shared_caches_is_a_dictionary_or_ignored_rfc9213_2_1() {
        let read = targeted("max-age=60;x=1, private, max-age=5").unwrap();
        assert_eq!((read.seconds("max-age"), read.has("private")), (Some(5), true));
        let texts = targeted("max-age=\"60\", private=\"x\"").unwrap();
        assert!(texts.has("private") && !texts.has("max-age"));
        for value in ["", "MAX-AGE=60", "max-age =60", "max-age=60, ,x", "max-age=1 2", "max-age="] {
            assert_eq!(targeted(value), None, "{value}");
        }
    }
}
