//! The disk of an edge's cache: a folder with a file for each thing that is stored.
//!
//! A file is written under another name, and gets its own when it is whole: a process that is killed leaves no part of one. What
//! a crash of the machine leaves is known by the sum in the file. What is removed is removed at once, in the edge's own thread.

use crate::server_error::{ServerError, SettingProblem};
use bytes::Bytes;
use loadstone_load::{AdoptedFile, CacheFile, FileNumber, KeptEntry};
use nix::fcntl::{Flock, FlockArg};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How much of each file is read at the start: keys are in the beginning.
const BEGINNING: u64 = 4096;
/// What the names of whole files, and of those that are being written, end with.
const WHOLE: &str = "stored";
const PART: &str = "part";

/// A folder in which an edge keeps what it has stored; no other edge uses it meanwhile.
#[derive(Debug)]
pub(crate) struct CacheFolder {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: Flock<File>,
    /// Files that are to be there once they are written.
    wanted: Mutex<BTreeSet<FileNumber>>,
}

impl CacheFolder {
    /// Opens a folder, makes it if it is not there, and says what is in it, by numbers.
    ///
    /// # Errors
    /// If it cannot be made or read, or another edge has it.
    pub(crate) fn open(path: &Path) -> Result<(CacheFolder, Vec<AdoptedFile>), ServerError> {
        let problem = |error: io::Error| SettingProblem::CacheFolder(format!("{}: {error}", path.display()));
        let at_fault = |problem| ServerError::setting("cache.disk", problem);
        let open = || {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
            OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"))
        };
        let lock = open().map_err(|error| at_fault(problem(error)))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock)
            .map_err(|_| at_fault(SettingProblem::CacheFolderInUse(path.display().to_string())))?;
        let files = known_files(path).map_err(|error| at_fault(problem(error)))?;
        Ok((CacheFolder { path: path.to_owned(), _lock: lock, wanted: Mutex::default() }, files))
    }

    fn file(&self, FileNumber(number): FileNumber, kind: &str) -> PathBuf {
        self.path.join(format!("{number:016x}.{kind}"))
    }

    /// A file is to be written.
    pub(crate) fn want(&self, number: FileNumber) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).insert(number);
    }

    /// Writes a file that is wanted. Whether it is there now.
    pub(crate) fn write(&self, number: FileNumber, file: &CacheFile) -> bool {
        let part = self.file(number, PART);
        let write = || -> io::Result<()> {
            let mut writer = File::create(&part)?;
            file.pieces().iter().try_for_each(|piece| writer.write_all(piece))
        };
        let is_whole = write().is_ok();
        // What is unwanted must not get its name after it was removed.
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = wanted.remove(&number);
        let is_written = is_whole && is_wanted && fs::rename(&part, self.file(number, WHOLE)).is_ok();
        drop(wanted);
        if !is_written {
            let _there_may_be_none = fs::remove_file(&part);
        }
        is_written
    }

    /// Reads a file; `None` if it is not there, or not whole.
    pub(crate) fn read(&self, number: FileNumber) -> Option<KeptEntry> {
        CacheFile::read(&Bytes::from(fs::read(self.file(number, WHOLE)).ok()?))
    }

    /// Removes a file, or does not write it. When it returns, no crash of the process brings it back.
    ///
    /// # Errors
    /// If it is there and cannot be removed.
    pub(crate) fn remove(&self, number: FileNumber) -> io::Result<()> {
        let was_waiting = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if was_waiting {
            return Ok(());
        }
        fs::remove_file(self.file(number, WHOLE)).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })
    }
}

/// What is in a folder, by numbers. What an edge was writing when it was killed, and what has no key, is removed.
fn known_files(folder: &Path) -> io::Result<Vec<AdoptedFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // Files with other names are not of a cache.
        let Some((number, kind)) = name_of(&path) else { continue };
        match (kind == WHOLE).then(|| known_file(&path, number)).flatten() {
            Some(file) => files.push(file),
            None => fs::remove_file(&path)?,
        }
    }
    files.sort_unstable_by_key(|file| file.number);
    Ok(files)
}

fn name_of(path: &Path) -> Option<(FileNumber, &str)> {
    let (number, kind) = path.file_name()?.to_str()?.split_once('.')?;
    let is_own = number.len() == 16 && (kind == WHOLE || kind == PART);
    let number = u64::from_str_radix(number, 16).ok().filter(|_| is_own)?;
    Some((FileNumber(number), kind))
}

fn known_file(path: &Path, number: FileNumber) -> Option<AdoptedFile> {
    let file = File::open(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning).ok()?;
    let key = CacheFile::key(&beginning).or_else(|| CacheFile::key(&fs::read(path).ok()?))?;
    Some(AdoptedFile { number, key, bytes })
}
