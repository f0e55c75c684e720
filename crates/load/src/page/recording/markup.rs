//! The text of a document: at which byte of it a line and column is, and the tag that ends there.

/// A document's text, with the places where its lines begin.
#[derive(Debug)]
pub(super) struct Markup {
    text: String,
    lines: Vec<usize>,
}

impl Markup {
    /// The text of a document.
    pub(super) fn new(bytes: &[u8]) -> Markup {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines = vec![if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }];
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            // As the tokenizer counts (HTML, section 13.2.3.5): CR, LF and CR LF each end a line.
            if *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
                lines.push(at + 1);
            }
        }
        Markup { text, lines }
    }

    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The byte before which there are so many lines, and so many UTF-16 code units of this line.
    pub(super) fn offset(&self, line: u32, column: u32) -> Option<usize> {
        let start = *self.lines.get(line as usize)?;
        let mut units = column as usize;
        let mut at = start;
        for character in self.text[start..].chars() {
            if units == 0 {
                break;
            }
            units = units.saturating_sub(character.len_utf16());
            at += character.len_utf8();
        }
        (units == 0).then_some(at)
    }

    /// Where the inline script ends, with its end tag, whose text begins at a byte.
    pub(super) fn script_end(&self, from: usize) -> usize {
        const END: &[u8] = b"</script";
        let bytes = self.text.as_bytes();
        let rest = bytes.get(from..).unwrap_or_default();
        let found = rest.windows(END.len()).position(|window| window.eq_ignore_ascii_case(END));
        let Some(end) = found.map(|at| from + at) else { return self.len() };
        bytes[end..].iter().position(|byte| *byte == b'>').map_or(self.len(), |more| end + more + 1)
    }

    /// Where the tag of the body ends, if it is written.
    pub(super) fn body(&self) -> Option<usize> {
        const BODY: &[u8] = b"<body";
        let bytes = self.text.as_bytes();
        let is_tag = |at: &usize| {
            bytes[*at..at + BODY.len()].eq_ignore_ascii_case(BODY)
                && bytes.get(at + BODY.len()).is_none_or(|next| next.is_ascii_whitespace() || *next == b'>')
        };
        let begins = (0..bytes.len().saturating_sub(BODY.len() - 1)).find(is_tag)?;
        Some(bytes[begins..].iter().position(|byte| *byte == b'>').map_or(bytes.len(), |more| begins + more + 1))
    }

    /// The tag that ends at a byte.
    pub(super) fn tag(&self, end: usize) -> Option<Tag<'_>> {
        let before = self.text.get(..end)?.strip_suffix('>')?;
        let begins = before.rfind('<')?;
        Some(Tag { text: &before[begins + 1..] })
    }
}

/// A start tag, without its brackets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag<'m> {
    text: &'m str,
}

impl<'m> Tag<'m> {
    /// The name of the element.
    pub(super) fn name(self) -> &'m str {
        self.text.split(|c: char| c.is_ascii_whitespace() || c == '/').next().unwrap_or_default()
    }

    /// The value of an attribute; empty where it has none.
    pub(super) fn attribute(self, name: &str) -> Option<&'m str> {
        self.attributes().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Names and values (HTML, section 13.1.2.3).
    fn attributes(self) -> impl Iterator<Item = (&'m str, &'m str)> {
        let mut rest = self.text.get(self.name().len()..).unwrap_or_default();
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
            let end = rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/')).unwrap_or(rest.len());
            if end == 0 && !rest.starts_with('=') {
                return None;
            }
            let (name, more) = rest.split_at(end.max(usize::from(rest.starts_with('='))));
            let more = more.trim_start_matches(|c: char| c.is_ascii_whitespace());
            let Some(value) = more.strip_prefix('=') else {
                rest = more;
                return Some((name, ""));
            };
            let value = value.trim_start_matches(|c: char| c.is_ascii_whitespace());
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
            let (value, more) = match quote {
                Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
                None => value.split_at(value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len())),
            };
            rest = more;
            Some((name, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_a_column_are_a_byte() {
        let markup = Markup::new("<p>\r\néß😀<img>\rx\n\ny".as_bytes());
        assert_eq!(markup.offset(0, 3), Some(3));
        // Two letters of two bytes, one character of two code units and four bytes, and the tag.
        assert_eq!(markup.offset(1, 2 + 2 + 5), Some(5 + 4 + 4 + 5));
        assert_eq!((markup.offset(2, 1), markup.offset(3, 0), markup.offset(4, 1)), (Some(20), Some(21), Some(23)));
        assert_eq!((markup.offset(5, 0), markup.offset(4, 9)), (None, None));
        assert_eq!(
            Markup::new("\u{feff}<p>".as_bytes()).offset(0, 3),
            Some(6),
            "the mark of the encoding is no column"
        );
    }

    #[test]
    fn the_attributes_of_the_tag_that_ends_at_a_byte() {
        let text = r#"<p>a<script  src='a>.js' DEFER type = module data-x/></script>"#;
        let markup = Markup::new(text.as_bytes());
        let end = text.find("/></script>").unwrap() + 2;
        let tag = markup.tag(end).unwrap();
        assert_eq!(tag.name(), "script");
        let values = ["src", "defer", "type", "data-x", "async"].map(|name| tag.attribute(name));
        assert_eq!(values, [Some("a>.js"), Some(""), Some("module"), Some(""), None]);
        assert_eq!(markup.tag(2), None, "no tag ends there");
    }

    #[test]
    fn inline_scripts_end_with_their_end_tag_and_the_body_begins_with_its_tag() {
        let text = "<html><head><script>var a = 1;</SCRIPT ></head><bodyguard><body class=x>y";
        let markup = Markup::new(text.as_bytes());
        assert_eq!(markup.script_end(20), text.find("</head>").unwrap());
        assert_eq!(markup.body(), Some(text.len() - 1));
        assert_eq!((markup.script_end(1000), Markup::new(b"<p>").body()), (text.len(), None));
    }
}
