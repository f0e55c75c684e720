//! A fetcher whose bodies are hashed as they come and, if wanted, written to files.

use loadstone_http::{Chunk, TransportStream, Wire};
use loadstone_load::{
    Action, BodyPiece, Closed, ConnId, Fetcher, Opened, Program, Tag, Transfer, TransferId, Unanswered, Use,
};
use loadstone_units::Time;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// The SHA-256 of a body.
pub type Digest = [u8; 32];

/// The most characters of a file's name that are the URL's.
const MAX_NAME: usize = 80;

/// Where bodies are written to, each to a file of its own: the transfer's number and, of its URL, what follows
/// the last slash. A file that is there already stays as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at this path, which is made if it is missing.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: PathBuf) -> io::Result<Folder> {
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    /// The name of the file for the body of a transfer for this path and query.
    pub fn name(transfer: TransferId, path: &[u8]) -> String {
        let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
        let last = path.rsplit(|byte| *byte == b'/').next().filter(|last| !last.is_empty()).unwrap_or(b"index");
        let harmless =
            |byte: &u8| if byte.is_ascii_alphanumeric() || b"-._".contains(byte) { *byte as char } else { '_' };
        let name: String = last.iter().take(MAX_NAME).map(harmless).collect();
        format!("{:05}-{name}", transfer.0)
    }
}

/// A [`Fetcher`], and what becomes of what it hands on.
#[derive(Debug)]
pub(crate) struct Saving {
    fetcher: Fetcher,
    folder: Option<Folder>,
    /// Bodies under way.
    bodies: BTreeMap<TransferId, SavedBody>,
    digests: Vec<Option<Digest>>,
    unwritten: BTreeMap<TransferId, io::Error>,
}

/// What came of a fetcher, in the order of its transfers and of its connections.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) uses: Vec<Use>,
    pub(crate) digests: Vec<Option<Digest>>,
    pub(crate) unwritten: BTreeMap<TransferId, io::Error>,
}

/// A body under way.
#[derive(Debug)]
struct SavedBody {
    hash: Sha256,
    /// None if it is not to be written, or could not be.
    file: Option<File>,
}

impl Saving {
    pub(crate) fn new(fetcher: Fetcher, folder: Option<Folder>) -> Saving {
        let (bodies, digests, unwritten) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Saving { fetcher, folder, bodies, digests, unwritten }
    }

    pub(crate) fn start(&mut self, addresses: &[u32]) {
        self.fetcher.start(addresses);
        self.save();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.fetcher.is_over()
    }

    /// What came of it; what is not settled is unanswered for the reason `else_why`.
    pub(crate) fn finish(self, else_why: Unanswered) -> Saved {
        let (transfers, uses) = self.fetcher.finish(else_why);
        let mut digests = self.digests;
        digests.resize(transfers.len(), None);
        Saved { transfers, uses, digests, unwritten: self.unwritten }
    }

    /// Takes what the fetcher hands on.
    fn save(&mut self) {
        while let Some(content) = self.fetcher.poll_content() {
            match content {
                BodyPiece::Piece { transfer, chunk: Chunk::Bytes(bytes) } => self.write(transfer, &bytes),
                // Who sends on sockets sends bytes.
                BodyPiece::Piece { chunk: Chunk::Run { .. }, .. } => {}
                BodyPiece::End { transfer } => {
                    // A body of no bytes is one, too.
                    self.write(transfer, &[]);
                    let at = transfer.0 as usize;
                    self.digests.resize(self.digests.len().max(at + 1), None);
                    self.digests[at] = self.bodies.remove(&transfer).map(|body| body.hash.finalize().into());
                }
                BodyPiece::Cut { transfer } => drop(self.bodies.remove(&transfer)),
            }
        }
    }

    fn write(&mut self, transfer: TransferId, bytes: &[u8]) {
        let (fetcher, folder, unwritten) = (&self.fetcher, &self.folder, &mut self.unwritten);
        let body = self.bodies.entry(transfer).or_insert_with(|| {
            let path = |folder: &Folder| folder.0.join(Folder::name(transfer, fetcher.path(transfer)));
            let file = folder.as_ref().map(|folder| File::create_new(path(folder))).transpose();
            let file = file.unwrap_or_else(|error| {
                unwritten.insert(transfer, error);
                None
            });
            SavedBody { hash: Sha256::new(), file }
        });
        body.hash.update(bytes);
        if let Some(Err(error)) = body.file.as_mut().map(|file| file.write_all(bytes)) {
            body.file = None;
            unwritten.insert(transfer, error);
        }
    }
}

impl Program for Saving {
    fn handle_opening(&mut self, now: Time, conn: ConnId, tag: Tag) {
        self.fetcher.handle_opening(now, conn, tag);
    }

    fn handle_open(&mut self, now: Time, conn: ConnId, opened: Opened) {
        self.fetcher.handle_open(now, conn, opened);
        self.save();
    }

    fn handle_input(&mut self, now: Time, conn: ConnId, on: TransportStream, input: &[Chunk]) {
        self.fetcher.handle_input(now, conn, on, input);
        self.save();
    }

    fn handle_close(&mut self, now: Time, conn: ConnId, how: Closed) {
        self.fetcher.handle_close(now, conn, how);
        self.save();
    }

    fn handle_timeout(&mut self, now: Time) {
        self.fetcher.handle_timeout(now);
        self.save();
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.fetcher.poll_action()
    }

    fn poll_transmit(&mut self, now: Time, conn: ConnId, on: TransportStream, room: usize, out: &mut Wire) {
        self.fetcher.poll_transmit(now, conn, on, room, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.fetcher.poll_timeout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_has_nothing_that_leads_elsewhere() {
        for (path, name) in [
            ("/", "00007-index"),
            ("/a/b.css?c=/d", "00007-b.css"),
            ("/..", "00007-.."),
            ("/%2e%2e%2f\\x y", "00007-_2e_2e_2f_x_y"),
        ] {
            assert_eq!(Folder::name(TransferId(7), path.as_bytes()), name);
        }
        assert_eq!(Folder::name(TransferId(0), &[b'x'; 300]).len(), 6 + MAX_NAME);
    }
}
