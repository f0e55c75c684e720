//! A frame of a page: its document, how far the parser has come in it, and which scripts and style sheets it has found.

use crate::page::markup::{Markup, Tag};

/// A document in a frame.
#[derive(Debug)]
pub(super) struct FrameDocument {
    /// Its place among the page's objects.
    pub(super) document: usize,
    /// Its text, where the recording has it.
    pub(super) markup: Option<Markup>,
    /// Whether it is the page's own.
    pub(super) is_root: bool,
    /// The node that put it in its frame.
    pub(super) commit: String,
    /// The node after which the parser goes on.
    pub(super) chain: String,
    /// How many pieces it has been parsed in.
    pub(super) pieces: usize,
    /// Processor time of parsing that no node has yet, in microseconds.
    pub(super) parsing: f64,
    /// Up to which byte it has been parsed.
    pub(super) reached: usize,
    /// The node with which all of it was parsed.
    pub(super) parsed: Option<String>,
    /// The node with which its body was there.
    pub(super) body: Option<String>,
    /// Where elements of frames stand that the parser has not come to, and the documents of these.
    pub(super) inner: Vec<(usize, usize)>,
    /// Style sheets that scripts after them wait for: where they stand in the document, and their objects.
    pub(super) sheets: Vec<(usize, usize)>,
    /// The node of the last script that runs in order after parsing.
    pub(super) in_order: Option<String>,
    /// What has been parsed, piece by piece.
    pub(super) marks: Vec<Mark>,
    /// Inline scripts that have run: from and until which byte, and their nodes.
    pub(super) inline: Vec<(usize, usize, String)>,
    /// Inline modules.
    pub(super) modules: Vec<InlineModule>,
}

/// A piece of a document that has been parsed.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) node: String,
}

/// A module that stands in a document.
#[derive(Debug)]
pub(super) struct InlineModule {
    pub(super) begins: usize,
    /// Where its end tag ends.
    pub(super) ends: usize,
    pub(super) is_async: bool,
    pub(super) has_run: bool,
    pub(super) imports: Vec<usize>,
}

/// When a script runs (HTML, section 4.12.1, "prepare the script element").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::page) enum ScriptKind {
    /// When the parser comes to it, which waits for it. It stands before this byte.
    Blocking(usize),
    /// After parsing, in order: with `defer`, and modules. It stands before this byte.
    InOrder(usize),
    /// When it is there, and the parser has come to its tag, that ends at this byte.
    Async(usize),
    /// When it is there.
    AsSoonAsPossible,
    /// When a module that imports it does.
    Imported,
}

impl ScriptKind {
    /// By the tag of a script whose end is at a byte.
    pub(in crate::page) fn of(tag: Tag<'_>, end: usize) -> Option<ScriptKind> {
        if !tag.name().eq_ignore_ascii_case("script") {
            return None;
        }
        let has = |name: &str| tag.attribute(name).is_some();
        let is_module = tag.attribute("type").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("module"));
        Some(match () {
            () if has("async") => ScriptKind::Async(end),
            () if has("defer") || is_module => ScriptKind::InOrder(end),
            () => ScriptKind::Blocking(end),
        })
    }
}

impl FrameDocument {
    /// A document that a node has put in its frame.
    pub(super) fn new(document: usize, markup: Option<Markup>, commit: String, is_root: bool) -> FrameDocument {
        FrameDocument {
            document,
            markup,
            is_root,
            chain: commit.clone(),
            commit,
            pieces: 0,
            parsing: 0.0,
            reached: 0,
            parsed: None,
            body: None,
            inner: Vec::new(),
            sheets: Vec::new(),
            in_order: None,
            marks: Vec::new(),
            inline: Vec::new(),
            modules: Vec::new(),
        }
    }

    /// The byte at a line and column.
    pub(super) fn offset(&self, place: Option<(u32, u32)>) -> Option<usize> {
        let (line, column) = place?;
        self.markup.as_ref()?.offset(line, column)
    }

    /// Where the tag ends at which the parser has found a URL when it was at a line and column.
    pub(super) fn found(&self, place: Option<(u32, u32)>, url: &str) -> Option<usize> {
        let (line, column) = place?;
        let markup = self.markup.as_ref()?;
        let by = markup.offset(line, column);
        // At its end the parser is behind the last byte.
        markup.found(url, by.unwrap_or(markup.len())).or(by)
    }

    /// The script of the markup, or the style sheet, picture and so on, that names a URL and is no mere hint.
    pub(super) fn used(&self, url: &str) -> Option<(usize, Tag<'_>)> {
        self.markup.as_ref()?.used(url)
    }

    /// Whether a byte is in an inline module: which.
    pub(super) fn module_at(&self, byte: usize) -> Option<usize> {
        self.modules.iter().position(|module| (module.begins..=module.ends).contains(&byte))
    }

    /// The tag that ends at a byte.
    pub(super) fn tag(&self, end: usize) -> Option<Tag<'_>> {
        self.markup.as_ref()?.tag(end)
    }

    /// How many of so many bytes on the wire have to be there for a byte of the text to be.
    pub(super) fn wire(&self, offset: usize, bytes: u64) -> u64 {
        self.markup.as_ref().map_or(bytes, |markup| markup.wire(offset, bytes))
    }

    /// Style sheets that a script waits for which stands before a byte.
    pub(super) fn sheets_before(&self, offset: usize) -> impl Iterator<Item = usize> + '_ {
        self.sheets.iter().filter(move |(at, _)| *at <= offset).map(|(_, object)| *object)
    }
}
