//! Connections that a document asks for ahead: `<link rel=preconnect>` (HTML, section 4.6.7.12).

use super::{GraphBuilder, after};
use crate::page::build::Url;
use crate::page::file::{ComputeSpec, Preconnect};

impl GraphBuilder<'_> {
    /// A document is there, and the scanner reads it: each connection is opened when the tag that asks for it has come.
    pub(super) fn preconnect(&mut self, frame: &str) {
        let of = &self.frames[frame];
        let (document, commit) = (of.document, of.commit.clone());
        let links = of.markup.iter().flat_map(|markup| markup.elements()).filter(|(_, tag)| tag.is("link"));
        let asked = links.filter_map(|(end, tag)| {
            let rel = tag.attribute("rel")?;
            let asks = rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("preconnect"));
            let url = tag.attribute("href").filter(|_| asks)?.trim();
            let url = if url.starts_with("//") { format!("https:{url}") } else { url.to_owned() };
            let origin = Url::split(&url)?.origin();
            let mode = tag.attribute("crossorigin");
            let anonymous = mode.is_some_and(|mode| !mode.trim().eq_ignore_ascii_case("use-credentials"));
            Some((end, Preconnect { url: origin, anonymous }))
        });
        for (end, preconnect) in asked.collect::<Vec<_>>() {
            let whose = if preconnect.anonymous { " without credentials" } else { "" };
            let name = format!("preconnect to {}{whose}", preconnect.url);
            let is_known = self.file.compute.iter().any(|node| node.name == name);
            if is_known || self.connects_itself(&preconnect) {
                continue;
            }
            let needs = Some(vec![self.found(frame, document, end), after(&commit)]);
            self.file.compute.push(ComputeSpec { name, needs, preconnect: Some(preconnect), ..ComputeSpec::default() });
        }
    }

    /// Whether a request has had to open a connection to there: the browser that was recorded does not follow such links
    /// (Chromium 156 does not in contexts that DevTools has made).
    fn connects_itself(&self, Preconnect { url, anonymous }: &Preconnect) -> bool {
        let is_there = |other: &str| {
            Url::split(other).zip(Url::split(url)).is_some_and(|(other, url)| {
                other.secure == url.secure && other.authority.eq_ignore_ascii_case(url.authority)
            })
        };
        let mut objects = self.objects.iter();
        objects.any(|one| one.has_connected && one.is_anonymous == *anonymous && is_there(&one.url))
    }
}
