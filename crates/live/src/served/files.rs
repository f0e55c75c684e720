//! The files of a directory.

use super::body_store::{self, BodyStore, StoredBody};
use super::open_files::{Exhausted, OpenFile, OpenFiles};
use super::reply;
use crate::Clock;
use loadstone_http::{Body, RequestHead, ResponseHead};
use loadstone_load::Answer;
use loadstone_units::Time;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use percent_encoding::percent_decode;
use schemars::JsonSchema;
use serde::Deserialize;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// RFC 9110, section 5.6.7.
const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// What stands for a directory.
const INDEX: &str = "index.html";

/// How often to try a path that is renamed during the look-up (EAGAIN of openat2).
const TRIES: u32 = 8;

/// How long a file is taken to be unchanged, so that frequent requests look it up once.
const FRESH: Duration = Duration::from_secs(1);

/// How many files are known at a time. Each is open, or in memory.
const MAX_KNOWN: usize = 100;

/// The longest file that is kept in memory as long as it is known, in bytes: so it is read once.
const MAX_KEPT_FILE: u64 = 1024 * 1024;

/// Bytes of all that is kept, with what answers under way hold that is not known any more.
const MAX_KEPT_TOTAL: u64 = 64 * 1024 * 1024;

/// What may be served although it begins with a dot: the top directory of RFC 8615.
const WELL_KNOWN: &[u8] = b".well-known";

/// What happens to files whose name, or a directory's on the way to them, begins with a dot. Such files are seldom
/// meant for others: passwords, the history of a repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Dotfiles {
    /// They are not found, except below `/.well-known/`.
    #[default]
    Hidden,
    /// They are files like others.
    Served,
}

/// Serves the files of a directory, and nothing outside it.
#[derive(Debug)]
pub(super) struct Files {
    root: File,
    dotfiles: Dotfiles,
    bodies: BodyStore,
    clock: Clock,
    /// Files that were found lately, by the only spelling of their path.
    known: RefCell<BTreeMap<Vec<u8>, KnownFile>>,
    /// Those that are open, whether known or not.
    open: RefCell<OpenFiles>,
    /// Bytes of files that are kept in memory.
    kept: Rc<Cell<u64>>,
}

/// A file and how it is given.
#[derive(Clone, Debug)]
struct KnownFile {
    source: Source,
    len: u64,
    head: Arc<ResponseHead>,
    /// When to look for it again.
    until: Time,
}

/// Where the bytes of a file come from.
#[derive(Clone, Debug)]
enum Source {
    File(Rc<OpenFile>),
    Memory(Rc<Kept>),
}

/// A file in memory.
#[derive(Debug)]
struct Kept {
    bytes: Vec<u8>,
    /// What is kept in all.
    all: Rc<Cell<u64>>,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.bytes.len() as u64);
    }
}

/// What answers hold of a file in memory.
struct HeldFile(Rc<Kept>);

impl AsRef<[u8]> for HeldFile {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().as_ref()
    }
}

impl Source {
    /// A short file is read at once, unless it is another by then; its reader then finds out.
    fn of(file: &File, len: u64, all: &Rc<Cell<u64>>) -> Option<Source> {
        if len > MAX_KEPT_FILE || all.get() + len > MAX_KEPT_TOTAL {
            return None;
        }
        let mut bytes = Vec::new();
        body_store::read(file, 0, len as usize, &mut bytes);
        if bytes.len() as u64 != len {
            return None;
        }
        all.set(all.get() + len);
        Some(Source::Memory(Rc::new(Kept { bytes, all: all.clone() })))
    }
}

/// What a path leads to.
enum FoundFile {
    File(File, Metadata),
    Directory,
}

impl Files {
    /// # Errors
    /// If `root` is no directory that can be read.
    pub(super) fn new(root: &Path, dotfiles: Dotfiles, bodies: BodyStore, open: OpenFiles) -> io::Result<Files> {
        let root = File::options().read(true).open(root)?;
        if !root.metadata()?.is_dir() {
            return Err(Errno::ENOTDIR.into());
        }
        let (open, clock) = (RefCell::new(open), Clock::start());
        Ok(Files { root, dotfiles, bodies, clock, known: RefCell::default(), open, kept: Rc::default() })
    }

    /// The answer to a request of `client`: a file, or why there is none.
    pub(super) fn answer(&self, request: &RequestHead, client: IpAddr) -> Answer {
        if !reply::is_to_get(request) {
            return reply::not_allowed();
        }
        let asked = reply::path(request);
        let Some(path) = canonical(asked) else { return reply::bare(404, &[]) };
        let now = self.clock.now();
        if let Some(known) = self.known.borrow().get(&*path).filter(|known| known.until > now) {
            return self.give(request, known, client);
        }
        if self.dotfiles == Dotfiles::Hidden && has_dotfile(&path) {
            return reply::bare(404, &[]);
        }
        match self.find(&path, now) {
            Ok(Some(known)) => {
                let answer = self.give(request, &known, client);
                self.remember(&path, known);
                answer
            }
            Ok(None) => moved(asked),
            Err(why) => refused(why),
        }
    }

    fn give(&self, request: &RequestHead, known: &KnownFile, client: IpAddr) -> Answer {
        let body = if reply::is_head(request) || known.len == 0 {
            Body::EMPTY
        } else {
            let content = match &known.source {
                Source::Memory(kept) => StoredBody::Memory(Box::new(HeldFile(kept.clone()))),
                Source::File(file) => match self.open.borrow().lend(file, client) {
                    Ok(loan) => StoredBody::File(loan),
                    Err(Exhausted) => return unavailable(),
                },
            };
            Body { id: self.bodies.put(content), len: known.len }
        };
        Answer::new(known.head.clone(), body)
    }

    fn remember(&self, path: &[u8], known: KnownFile) {
        let mut all = self.known.borrow_mut();
        if all.len() >= MAX_KNOWN {
            all.clear();
        }
        all.insert(path.to_vec(), known);
    }

    /// The file that a canonical path names; none for a directory that was asked for like a file.
    fn find(&self, path: &[u8], now: Time) -> Result<Option<KnownFile>, Errno> {
        let is_directory = path.ends_with(b"/");
        let relative = Path::new(OsStr::from_bytes(path.strip_prefix(b"/").unwrap_or(path)));
        match self.open(relative)? {
            FoundFile::File(..) if is_directory => Err(Errno::ENOTDIR),
            FoundFile::File(file, metadata) => self.known(relative, file, &metadata, now).map(Some),
            FoundFile::Directory if !is_directory => Ok(None),
            FoundFile::Directory => {
                let index = relative.join(INDEX);
                match self.open(&index)? {
                    FoundFile::File(file, metadata) => self.known(&index, file, &metadata, now).map(Some),
                    FoundFile::Directory => Err(Errno::EISDIR),
                }
            }
        }
    }

    fn known(&self, path: &Path, file: File, metadata: &Metadata, now: Time) -> Result<KnownFile, Errno> {
        let modified = metadata.modified().map(http_date).unwrap_or_default();
        let more = [("last-modified", &modified[..])];
        let more = if modified.is_empty() { &[] } else { &more[..] };
        let len = metadata.len();
        let source = match Source::of(&file, len, &self.kept) {
            Some(source) => source,
            None => Source::File(self.add_open(file, metadata)?),
        };
        Ok(KnownFile { source, len, head: Arc::new(reply::head(&kind(path), len, more)), until: now + FRESH })
    }

    fn add_open(&self, file: File, metadata: &Metadata) -> Result<Rc<OpenFile>, Errno> {
        let open = &mut *self.open.borrow_mut();
        open.add(file, metadata).or_else(|file| {
            // What is only known need not be open.
            self.known.borrow_mut().clear();
            open.add(file, metadata).map_err(|_| Errno::EMFILE)
        })
    }

    /// Opens what is there, if the way to it does not leave the directory, not even by a link.
    fn open(&self, path: &Path) -> Result<FoundFile, Errno> {
        // Without O_NONBLOCK a pipe would be waited for.
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
        let how =
            OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let mut tries = 0;
        let file = loop {
            tries += 1;
            match openat2(&self.root, path, how) {
                Err(Errno::EAGAIN | Errno::EINTR) if tries < TRIES => {}
                opened => break File::from(opened?),
            }
        };
        let metadata = file.metadata().map_err(|_| Errno::EIO)?;
        match metadata.file_type() {
            kind if kind.is_file() => Ok(FoundFile::File(file, metadata)),
            kind if kind.is_dir() => Ok(FoundFile::Directory),
            _ => Err(Errno::ENOENT),
        }
    }
}

/// The only spelling of a path, whatever way a client has written it: decoded, and without empty segments but the one
/// that ends a directory's. None if it can be no file's.
fn canonical(path: &[u8]) -> Option<Cow<'_, [u8]>> {
    let segments = || path.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty());
    path.strip_prefix(b"/")?;
    if !path.contains(&b'%') && !path.windows(2).any(|two| two == b"//") {
        return segments().all(is_name).then_some(path.into());
    }
    let mut spelled = Vec::with_capacity(path.len());
    for segment in segments() {
        let name = percent_decode(segment).collect::<Vec<u8>>();
        if !is_name(&name) {
            return None;
        }
        spelled.push(b'/');
        spelled.extend(name);
    }
    if path.ends_with(b"/") {
        spelled.push(b'/');
    }
    Some(spelled.into())
}

/// Whether a segment of a path that is spelled as [`canonical`] does hides what it names.
fn has_dotfile(path: &[u8]) -> bool {
    let mut segments = path.split(|byte| *byte == b'/').skip(1);
    let is_hidden = |segment: &[u8]| segment.starts_with(b".");
    segments.next().is_some_and(|first| is_hidden(first) && first != WELL_KNOWN) || segments.any(is_hidden)
}

/// Whether a segment can be the name of a file.
fn is_name(segment: &[u8]) -> bool {
    !matches!(segment, b"." | b"..") && !segment.contains(&b'/') && !segment.contains(&0)
}

/// A directory that was asked for like a file: its relative links would be resolved against the parent.
fn moved(path: &[u8]) -> Answer {
    let segments = path.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty());
    // A path that began with two slashes would name a host.
    let location = segments.flat_map(|segment| [b"/", segment]).collect::<Vec<_>>().concat();
    reply::bare(301, &[("location", &format!("{}/", String::from_utf8_lossy(&location)))])
}

/// The answer where nothing can be opened.
fn refused(why: Errno) -> Answer {
    match why {
        Errno::EACCES | Errno::EPERM => reply::bare(403, &[]),
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM => unavailable(),
        Errno::EIO | Errno::EAGAIN | Errno::EINTR => reply::bare(500, &[]),
        _ => reply::bare(404, &[]),
    }
}

/// The answer where no more files can be open (RFC 9110, section 15.6.4).
fn unavailable() -> Answer {
    reply::bare(503, &[("retry-after", "1")])
}

/// The content type of a file, by its ending.
fn kind(path: &Path) -> String {
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    let is_text = kind.type_() == "text" && kind.get_param("charset").is_none();
    if is_text { format!("{kind}; charset=utf-8") } else { kind.to_string() }
}

fn http_date(at: SystemTime) -> String {
    OffsetDateTime::from(at).format(HTTP_DATE).unwrap_or_default()
}

#[cfg(test)]
mod tests;
