//! In which text each object of a page stands: a document, a style sheet, a script.

use super::{ActivityId, Need, Page, PageFile, Task, Why};

/// For each object of `file` the one in which it stands; none for what waits for nothing. `page` is what
/// [`PageFile::build`] makes of it.
pub(super) fn texts(file: &PageFile, page: &Page) -> Vec<Option<ActivityId>> {
    let mut texts = Texts { levels: vec![0; page.objects], found_in: vec![None; page.objects], of: Vec::new() };
    texts.of = (0..page.activities.len()).map(|at| (at < page.objects).then_some(at)).collect();
    for at in page.order() {
        let reasons = Reasons::of(file, page, at);
        let is_object = at < page.objects;
        let text =
            reasons.best(is_object).and_then(|reason| texts.text(page, reason)).or_else(|| texts.deepest(&reasons));
        if !is_object {
            texts.of[at] = text;
        } else if let Some(text) = text {
            (texts.found_in[at], texts.levels[at]) = (Some(text), texts.levels[text] + 1);
        }
    }
    texts.found_in.into_iter().map(|text| text.map(|at| ActivityId(at as u32))).collect()
}

/// Which texts activities belong to.
struct Texts {
    /// By object.
    levels: Vec<usize>,
    /// By object: the text in which it stands.
    found_in: Vec<Option<usize>>,
    /// By activity: an object itself, or what computing was fetched as.
    of: Vec<Option<usize>>,
}

impl Texts {
    /// The text to which a reason leads. Who listens to an event of an object is whoever asked for that object; a
    /// document's own events are heard in it.
    fn text(&self, page: &Page, (on, why): (usize, Option<Why>)) -> Option<usize> {
        let text = self.of[on]?;
        let is_document = matches!(&page.activities[text].task, Task::Fetch(fetch) if fetch.kind == "html");
        if why == Some(Why::Event) && !is_document { self.found_in[text].or(Some(text)) } else { Some(text) }
    }

    /// The most deeply embedded text of all reasons: nothing is found before the last of what it waits for.
    fn deepest(&self, reasons: &Reasons) -> Option<usize> {
        let texts = reasons.0.iter().filter_map(|(on, _)| self.of[*on]);
        texts.max_by_key(|text| (self.levels[*text], *text))
    }
}

/// What an activity waits for, and why.
struct Reasons(Vec<(usize, Option<Why>)>);

impl Reasons {
    fn of(file: &PageFile, page: &Page, at: usize) -> Reasons {
        let stated: Option<&[Need]> = match at.checked_sub(page.objects) {
            None => file.objects[at].needs.as_deref(),
            Some(compute) => file.compute[compute].needs.as_deref(),
        };
        let why = |place: usize| stated.and_then(|needs| needs.get(place)).and_then(|need| need.why);
        let needs = page.activities[at].needs.iter().enumerate();
        Reasons(needs.map(|(place, need)| (need.on.0 as usize, why(place))).collect())
    }

    /// The reason that tells best in which text an object stands, or to which one computing belongs.
    fn best(&self, is_object: bool) -> Option<(usize, Option<Why>)> {
        let ranks: &[Why] = if is_object {
            &[Why::Redirect, Why::Style, Why::Import, Why::Script, Why::Markup, Why::Event]
        } else {
            &[Why::Fetched, Why::Markup, Why::Parser, Why::Timer, Why::Event]
        };
        let of = |wanted: &Why| self.0.iter().copied().find(|(_, why)| *why == Some(*wanted));
        ranks.iter().find_map(of)
    }
}
