//! The text of a document: at which byte of it a line and column is, its start tags, and which of them name a URL.

/// A document's text, with the places where its lines begin, and those of its start tags.
#[derive(Debug)]
pub(super) struct Markup {
    text: String,
    lines: Vec<usize>,
    /// From and until which byte.
    tags: Vec<(usize, usize)>,
}

/// Elements whose content is no markup, or of which nothing is fetched while scripts may run (HTML, sections 13.2.5
/// and 4.12.3).
const RAW: [&str; 10] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript", "template"];
/// Attributes that name one URL.
const LINKS: [&str; 5] = ["src", "href", "data", "poster", "background"];

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
        let tags = start_tags(&text);
        Markup { text, lines, tags }
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
        self.elements().find(|(_, tag)| tag.is("body")).map(|(end, _)| end)
    }

    /// The tag that ends at a byte.
    pub(super) fn tag(&self, end: usize) -> Option<Tag<'_>> {
        let at = self.tags.binary_search_by_key(&end, |(_, end)| *end).ok()?;
        Some(self.at(self.tags[at]))
    }

    /// All start tags whose elements are there when the document is parsed, and where each ends.
    pub(super) fn elements(&self) -> impl Iterator<Item = (usize, Tag<'_>)> {
        self.tags.iter().map(|tag| (tag.1, self.at(*tag)))
    }

    fn at(&self, (begins, ends): (usize, usize)) -> Tag<'_> {
        Tag { text: &self.text[begins + 1..ends - 1] }
    }

    /// The elements that name a URL, and where their tags end. What a source of a picture names is fetched at its image.
    pub(super) fn naming(&self, url: &str) -> impl Iterator<Item = (usize, Tag<'_>)> {
        let all: Vec<_> = self.elements().collect();
        let image = |at: usize| all[at..].iter().find(|(_, tag)| tag.is("img")).copied();
        let found = |at: usize| if all[at].1.is("source") { image(at) } else { Some(all[at]) };
        let found: Vec<_> = (0..all.len()).filter(|at| all[*at].1.names(url)).filter_map(found).collect();
        found.into_iter()
    }

    /// The element that names a URL and is no mere hint, and where its tag ends.
    pub(super) fn used(&self, url: &str) -> Option<(usize, Tag<'_>)> {
        self.naming(url).find(|(_, tag)| !tag.is_hint())
    }

    /// How many of so many bytes on the wire have to be there for a byte of the text to be. A coding is taken to be even
    /// over the document.
    pub(super) fn wire(&self, offset: usize, bytes: u64) -> u64 {
        if offset >= self.len() {
            return bytes;
        }
        ((offset as f64 * bytes as f64 / self.len() as f64).ceil() as u64).clamp(1, bytes.max(1))
    }

    /// Where the tag ends that names a URL and that the parser has come to by a byte; where a tag ends there, that one.
    pub(super) fn found(&self, url: &str, by: usize) -> Option<usize> {
        if self.tag(by).is_some() {
            return Some(by);
        }
        self.naming(url).map(|(end, _)| end).take_while(|end| *end <= by).last()
    }

    /// Where the tag ends after which the first text of the body stands.
    pub(super) fn first_text(&self) -> Option<usize> {
        let body = self.body()?;
        let ends = self.tags.iter().map(|(_, end)| *end).filter(|end| *end >= body);
        let is_text = |end: &usize| {
            let text = self.text[*end..].split('<').next().unwrap_or_default();
            !text.trim().is_empty() && self.tag(*end).is_none_or(|tag| !RAW.iter().any(|name| tag.is(name)))
        };
        ends.into_iter().find(is_text)
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Where start tags begin and end (HTML, section 13.2.5).
fn start_tags(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(begins) = bytes[at..].iter().position(|byte| *byte == b'<').map(|more| at + more) {
        let rest = &text[begins..];
        let next = bytes.get(begins + 1).copied().unwrap_or_default();
        if rest.starts_with("<!--") {
            at = rest.find("-->").map_or(text.len(), |more| begins + more + 3);
        } else if next.is_ascii_alphabetic() {
            let Some(ends) = tag_end(bytes, begins) else { break };
            tags.push((begins, ends));
            let name = Tag { text: &text[begins + 1..ends - 1] }.name().to_ascii_lowercase();
            at = if RAW.contains(&name.as_str()) { end_tag(bytes, ends, &name) } else { ends };
        } else if matches!(next, b'/' | b'!' | b'?') {
            at = rest.find('>').map_or(text.len(), |more| begins + more + 1);
        } else {
            at = begins + 1;
        }
    }
    tags
}

/// Where a tag ends that begins at a byte: at the first bracket outside the values of its attributes.
fn tag_end(bytes: &[u8], begins: usize) -> Option<usize> {
    let (mut quote, mut is_value) = (None, false);
    for (at, byte) in bytes.iter().enumerate().skip(begins) {
        match (quote, byte) {
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') if is_value => quote = Some(*byte),
            (None, _) => {}
        }
        if !byte.is_ascii_whitespace() {
            is_value = *byte == b'=' && quote.is_none();
        }
    }
    None
}

/// Where the end tag of an element begins.
fn end_tag(bytes: &[u8], from: usize, name: &str) -> usize {
    let is_it = |at: &usize| {
        let rest = &bytes[*at..];
        rest.starts_with(b"</") && rest.get(2..2 + name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()))
    };
    (from..bytes.len()).find(is_it).unwrap_or(bytes.len())
}

/// Whether a reference in a document or style sheet is to a URL, as far as it can be said without resolving it.
pub(super) fn refers(reference: &str, url: &str) -> bool {
    let reference = reference.trim().replace("&amp;", "&");
    let reference = reference.split('#').next().unwrap_or_default();
    if let Some((_, rest)) = reference.split_once("//").filter(|(scheme, _)| scheme.is_empty() || scheme.ends_with(':'))
    {
        return url.split_once("//").is_some_and(|(_, of)| of == rest);
    }
    let mut path = reference;
    while let Some(rest) = ["./", "../", "/"].iter().find_map(|prefix| path.strip_prefix(prefix)) {
        path = rest;
    }
    !path.is_empty() && url.strip_suffix(path).is_some_and(|before| before.ends_with('/'))
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

    /// How many bytes it has, without its brackets.
    pub(super) fn len(self) -> usize {
        self.text.len()
    }

    /// Whether it is of such an element.
    pub(super) fn is(self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name)
    }

    /// Whether it is a link that only asks for something ahead of time.
    pub(super) fn is_hint(self) -> bool {
        let rel = self.attribute("rel").unwrap_or_default().to_ascii_lowercase();
        self.is("link") && !rel.split_ascii_whitespace().any(|word| matches!(word, "stylesheet" | "icon"))
    }

    /// Whether what is in a script is code and not data (HTML, section 4.12.1).
    pub(super) fn is_code(self) -> bool {
        self.attribute("type").is_none_or(|kind| kind.trim().is_empty() || kind.contains("javascript"))
    }

    /// Whether it is fetched when it comes near the view.
    pub(super) fn is_lazy(self) -> bool {
        self.attribute("loading").is_some_and(|value| value.eq_ignore_ascii_case("lazy"))
    }

    /// Whether an attribute of it names a URL that it fetches.
    fn names(self, url: &str) -> bool {
        self.attributes().any(|(key, value)| match key.to_ascii_lowercase().as_str() {
            key if LINKS.contains(&key) => !self.is("a") && refers(value, url),
            "srcset" | "imagesrcset" => {
                value.split(',').filter_map(|one| one.split_ascii_whitespace().next()).any(|one| refers(one, url))
            }
            "style" => in_styles(value).any(|one| refers(one, url)),
            _ => false,
        })
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

/// What a style names with `url()`.
fn in_styles(style: &str) -> impl Iterator<Item = &str> {
    let inner = style.split("url(").skip(1).map(|rest| rest.split(')').next().unwrap_or_default());
    inner.map(|one| one.trim().trim_matches(|quote| matches!(quote, '"' | '\'')))
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
