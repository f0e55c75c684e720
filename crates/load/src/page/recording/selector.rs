//! Which elements a style sheet gives a picture: of each selector only its last part is looked at, and of that only the
//! name, the classes and the id. So no element is missed that has it, where the first of all is looked for.

use crate::page::markup::{Markup, Tag};

/// The last part of a selector.
#[derive(Debug, Default, PartialEq)]
struct Compound<'s> {
    name: Option<&'s str>,
    classes: Vec<&'s str>,
    id: Option<&'s str>,
}

/// The first element to which a style sheet gives a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Element {
    /// In the markup, where its tag ends.
    Written(usize),
    /// None of the markup: a script has made or changed it.
    Made,
    /// The style sheet does not say.
    Unknown,
}

/// The first element of a document to which a style sheet gives what a URL names.
pub(super) fn first_element(sheet: &str, url: &str, markup: &Markup) -> Element {
    let all: Vec<&str> = selectors(sheet, url).flat_map(|selector| selector.split(',')).collect();
    let compounds: Vec<Compound<'_>> = all.iter().filter_map(|selector| Compound::last_of(selector)).collect();
    let first = markup.elements().find(|(_, tag)| compounds.iter().any(|one| one.matches(*tag)));
    match first {
        Some((end, _)) => Element::Written(end),
        None if !compounds.is_empty() && compounds.len() == all.len() => Element::Made,
        None => Element::Unknown,
    }
}

/// The selectors of the rules in which a URL is named.
fn selectors<'s>(sheet: &'s str, url: &str) -> impl Iterator<Item = &'s str> {
    let file = url.rsplit('/').next().unwrap_or_default().to_owned();
    let places: Vec<usize> =
        if file.is_empty() { Vec::new() } else { sheet.match_indices(&file).map(|(at, _)| at).collect() };
    places.into_iter().filter_map(|at| {
        let before = &sheet[..at];
        let open = before.rfind('{')?;
        if before[open..].contains('}') {
            return None;
        }
        let begins = before[..open].rfind(['{', '}', ';', '/']).map_or(0, |at| at + 1);
        let selector = before[begins..open].trim();
        (!selector.is_empty() && !selector.starts_with('@')).then_some(selector)
    })
}

impl<'s> Compound<'s> {
    fn last_of(selector: &'s str) -> Option<Compound<'s>> {
        Compound::of(selector.trim().split([' ', '\t', '\n', '\r', '>', '+', '~']).next_back()?)
    }

    /// `None` where nothing is said of the element.
    fn of(text: &'s str) -> Option<Compound<'s>> {
        let text = text.split([':', '[']).next().unwrap_or_default();
        let mut compound = Compound::default();
        let mut rest = text;
        while !rest.is_empty() {
            let more = rest[1..].find(['.', '#']).map_or(rest.len(), |at| at + 1);
            let (part, after) = rest.split_at_checked(more)?;
            match part.as_bytes()[0] {
                b'.' => compound.classes.push(&part[1..]),
                b'#' => compound.id = Some(&part[1..]),
                b'*' => {}
                _ => compound.name = Some(part),
            }
            rest = after;
        }
        (compound != Compound::default()).then_some(compound)
    }

    fn matches(&self, tag: Tag<'_>) -> bool {
        let classes = tag.attribute("class").unwrap_or_default();
        self.name.is_none_or(|name| tag.is(name))
            && self.id.is_none_or(|id| tag.attribute("id") == Some(id))
            && self.classes.iter().all(|class| classes.split_ascii_whitespace().any(|one| one == *class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_element_that_may_have_a_picture() {
        let text = "<body><p class='a b'><div id=x class=b><i class=used>";
        let markup = Markup::new(text.as_bytes());
        let end = |tag: &str| Element::Written(text.find(tag).unwrap() + tag.len());
        let first = |sheet: &str| first_element(sheet, "https://a.test/p/i.svg", &markup);
        assert_eq!(first("i.used { background: url(i.svg) }"), end("<i class=used>"));
        assert_eq!(first("/* x */ main>.b.a:hover,#y{color:red;background:url(\"i.svg\")}"), end("<p class='a b'>"));
        assert_eq!(first("@media (x) { #x { background: url(/p/i.svg) } }"), end("<div id=x class=b>"));
        assert_eq!(first(".c { a: url(i.svg) }"), Element::Made);
        let unknown =
            ["* { background: url(i.svg) }", "@font-face { src: url(i.svg) }", "i.svg", ".c, * { a: url(i.svg) }"];
        for sheet in unknown {
            assert_eq!(first(sheet), Element::Unknown, "{sheet}");
        }
        // No panic.
        first(".é,.{i.svg");
    }
}
