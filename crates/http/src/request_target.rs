//! Request targets that name their server (RFC 9112, section 3.2.2).

use crate::Scheme;

/// A request target in absolute-form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AbsoluteForm<'t> {
    pub(crate) scheme: Scheme,
    pub(crate) authority: &'t [u8],
    /// Path and query as they stand there; the path may be missing.
    pub(crate) rest: &'t [u8],
}

impl AbsoluteForm<'_> {
    /// Reads a target; `None` if it has another form.
    pub(crate) fn read(target: &[u8]) -> Option<AbsoluteForm<'_>> {
        let colon = target.windows(3).position(|three| three == b"://")?;
        let scheme = Scheme::named(&target[..colon].to_ascii_lowercase())?;
        let rest = &target[colon + 3..];
        let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        Some(AbsoluteForm { scheme, authority, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_in_absolute_form_names_scheme_and_authority_rfc9112_3_2_2() {
        for (target, expected) in [
            ("http://a.test/x?y", Some((Scheme::Http, "a.test", "/x?y"))),
            ("HTTPS://a.test:8443", Some((Scheme::Https, "a.test:8443", ""))),
            ("http://a.test?http://b/", Some((Scheme::Http, "a.test", "?http://b/"))),
            ("http:///x", Some((Scheme::Http, "", "/x"))),
            ("/http://a.test/x", None),
            ("ftp://a.test/x", None),
            ("a.test:80", None),
            ("*", None),
        ] {
            let expected = expected.map(|(scheme, authority, rest)| AbsoluteForm {
                scheme,
                authority: authority.as_bytes(),
                rest: rest.as_bytes(),
            });
            assert_eq!(AbsoluteForm::read(target.as_bytes()), expected, "{target}");
        }
    }
}
