//! The files of a directory.

use super::reply;
use super::shelf::{Content, PATTERN, Shelf};
use loadstone_http::RequestHead;
use loadstone_load::Answer;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use percent_encoding::percent_decode;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// RFC 9110, section 5.6.7.
const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// What stands for a directory.
const INDEX: &str = "index.html";

/// How often a path is looked up that others move while it is looked up (EAGAIN of openat2).
const TRIES: u32 = 8;

/// Gives the files of a directory, and nothing beyond it.
#[derive(Debug)]
pub(super) struct Files {
    root: File,
    shelf: Shelf,
}

/// What a path leads to.
enum Found {
    File(File, Metadata),
    Directory,
}

impl Files {
    /// # Errors
    /// If `root` is no directory that can be read.
    pub(super) fn new(root: &Path, shelf: Shelf) -> io::Result<Files> {
        let root = File::options().read(true).open(root)?;
        if root.metadata()?.is_dir() { Ok(Files { root, shelf }) } else { Err(Errno::ENOTDIR.into()) }
    }

    /// The answer to a request: a file, or why there is none.
    pub(super) fn answer(&self, request: &RequestHead) -> Answer {
        if !reply::is_to_get(request) {
            return reply::not_allowed();
        }
        let path = reply::path(request);
        let Some(relative) = relative(path) else { return reply::bare(404, &[]) };
        let found = self.open(&relative).and_then(|found| match found {
            Found::File(..) if path.ends_with(b"/") => Err(Errno::ENOTDIR),
            Found::File(file, metadata) => Ok(self.file(request, &relative, file, &metadata)),
            Found::Directory if !path.ends_with(b"/") => Ok(moved(path)),
            Found::Directory => self.index(request, &relative.join(INDEX)),
        });
        found.unwrap_or_else(refused)
    }

    fn index(&self, request: &RequestHead, path: &Path) -> Result<Answer, Errno> {
        match self.open(path)? {
            Found::File(file, metadata) => Ok(self.file(request, path, file, &metadata)),
            Found::Directory => Err(Errno::EISDIR),
        }
    }

    fn file(&self, request: &RequestHead, path: &Path, file: File, metadata: &Metadata) -> Answer {
        let kind = kind(path);
        let modified = metadata.modified().map(http_date).unwrap_or_default();
        let more = [("last-modified", &modified[..])];
        let more = if modified.is_empty() { &[] } else { &more[..] };
        if reply::is_head(request) || metadata.len() == 0 {
            return reply::content(request, &kind, PATTERN, metadata.len(), more);
        }
        reply::content(request, &kind, self.shelf.put(Content::File(file)), metadata.len(), more)
    }

    /// Opens what is there, if the way to it does not leave the directory, not even by a link.
    fn open(&self, path: &Path) -> Result<Found, Errno> {
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
            kind if kind.is_file() => Ok(Found::File(file, metadata)),
            kind if kind.is_dir() => Ok(Found::Directory),
            _ => Err(Errno::ENOENT),
        }
    }
}

/// The file that a path names, from the directory on; none if it can be no file's.
fn relative(path: &[u8]) -> Option<PathBuf> {
    let mut relative = PathBuf::new();
    for segment in path.strip_prefix(b"/")?.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty()) {
        let name = percent_decode(segment).collect::<Vec<u8>>();
        if matches!(&name[..], b"." | b"..") || name.contains(&b'/') || name.contains(&0) {
            return None;
        }
        relative.push(OsStr::from_bytes(&name));
    }
    Some(relative)
}

/// A directory that was asked for like a file: what it refers to would be looked for beside it.
fn moved(path: &[u8]) -> Answer {
    let segments = path.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty());
    // A path that began with two slashes would name a host.
    let location = segments.flat_map(|segment| [b"/", segment]).collect::<Vec<_>>().concat();
    reply::bare(301, &[("location", &format!("{}/", String::from_utf8_lossy(&location)))])
}

/// What to say where nothing can be opened.
fn refused(why: Errno) -> Answer {
    match why {
        Errno::EACCES | Errno::EPERM => reply::bare(403, &[]),
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM => reply::bare(503, &[("retry-after", "1")]),
        Errno::EIO | Errno::EAGAIN | Errno::EINTR => reply::bare(500, &[]),
        _ => reply::bare(404, &[]),
    }
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
