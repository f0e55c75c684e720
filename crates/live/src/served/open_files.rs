//! The files that are open: each of them once, and no more than may be.

use crate::descriptors::DescriptorShares;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::rc::{Rc, Weak};

/// A file as stat(2) tells it from others. One that has changed is another one.
type FileVersion = (u64, u64, u64, i64, i64);

fn version(metadata: &Metadata) -> FileVersion {
    (metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// The files that are open, however many look-ups and answers use each.
#[derive(Debug)]
pub(super) struct OpenFiles {
    shares: DescriptorShares,
    files: BTreeMap<FileVersion, Weak<OpenFile>>,
    loans: Loans,
}

/// How many answers to a client use a file.
type Loans = Rc<RefCell<BTreeMap<(IpAddr, FileVersion), u32>>>;

/// A file that is open.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    version: FileVersion,
}

/// A file that an answer uses, and as long as it does.
#[derive(Debug)]
pub(super) struct Loan {
    file: Rc<OpenFile>,
    client: IpAddr,
    loans: Loans,
}

/// The answers to a client hold as many files as they may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exhausted;

impl OpenFiles {
    pub(super) fn new(shares: DescriptorShares) -> OpenFiles {
        OpenFiles { shares, files: BTreeMap::new(), loans: Loans::default() }
    }

    /// The file, by the descriptor that it has already, or else by this one.
    ///
    /// # Errors
    /// If there are as many open as may be; this one comes back.
    pub(super) fn add(&mut self, file: File, metadata: &Metadata) -> Result<Rc<OpenFile>, File> {
        let version = version(metadata);
        if let Some(open) = self.files.get(&version).and_then(Weak::upgrade) {
            return Ok(open);
        }
        if self.files.len() >= self.shares.files {
            self.files.retain(|_, file| file.strong_count() > 0);
        }
        if self.files.len() >= self.shares.files {
            return Err(file);
        }
        let open = Rc::new(OpenFile { file, version });
        self.files.insert(version, Rc::downgrade(&open));
        Ok(open)
    }

    /// Lends a file to an answer to `client`.
    ///
    /// # Errors
    /// If the answers to that client hold as many as they may.
    pub(super) fn lend(&self, file: &Rc<OpenFile>, client: IpAddr) -> Result<Loan, Exhausted> {
        let mut loans = self.loans.borrow_mut();
        let first = (client, (0, 0, 0, i64::MIN, i64::MIN));
        let held = || loans.range(first..).take_while(|((holder, _), _)| *holder == client).count();
        if !loans.contains_key(&(client, file.version)) && held() >= self.shares.files_of_client {
            return Err(Exhausted);
        }
        *loans.entry((client, file.version)).or_default() += 1;
        Ok(Loan { file: file.clone(), client, loans: self.loans.clone() })
    }
}

impl Loan {
    /// A file by itself, for tests.
    #[cfg(test)]
    pub(super) fn of(file: File) -> Loan {
        let version = version(&file.metadata().unwrap());
        Loan {
            file: Rc::new(OpenFile { file, version }),
            client: std::net::Ipv4Addr::LOCALHOST.into(),
            loans: Loans::default(),
        }
    }

    pub(super) fn file(&self) -> &File {
        &self.file.file
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let (mut loans, loan) = (self.loans.borrow_mut(), (self.client, self.file.version));
        if let Some(count) = loans.get_mut(&loan) {
            *count -= 1;
            if *count == 0 {
                loans.remove(&loan);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const SHARES: DescriptorShares = DescriptorShares { files: 3, files_of_client: 2, connections: 1 };

    /// A file without a name.
    fn file(number: u32) -> (File, Metadata) {
        let path = std::env::temp_dir().join(format!("loadstone-open-{}-{number}", std::process::id()));
        let file = File::options().write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let metadata = file.metadata().unwrap();
        (file, metadata)
    }

    #[test]
    fn a_file_is_open_once_and_no_more_are_than_may_be() {
        let mut files = OpenFiles::new(SHARES);
        let given: Vec<(File, Metadata)> = (0..4).map(file).collect();
        let mut add = |at: usize| {
            let (file, metadata) = &given[at];
            files.add(file.try_clone().unwrap(), metadata)
        };
        let mut open: Vec<Rc<OpenFile>> = (0..3).map(|at| add(at).unwrap()).collect();
        assert!((0..3).all(|at| Rc::ptr_eq(&add(at).unwrap(), &open[at])), "what is open is not opened again");
        assert!(add(3).is_err());
        open.pop();
        assert!(add(3).is_ok(), "one has been closed");
    }

    #[test]
    fn the_answers_to_a_client_hold_no_more_than_its_share() {
        let mut files = OpenFiles::new(SHARES);
        let open: Vec<Rc<OpenFile>> = (10..13)
            .map(|number| {
                let (file, metadata) = file(number);
                files.add(file, &metadata).unwrap()
            })
            .collect();
        let lend = |at: usize, last| files.lend(&open[at], Ipv4Addr::new(192, 0, 2, last).into());
        let mut loans: Vec<Loan> = [lend(0, 1), lend(1, 1), lend(1, 1)].map(Result::unwrap).into();
        assert!(lend(2, 1).is_err() && lend(2, 2).is_ok(), "another has a share of its own");
        loans.pop();
        assert!(lend(2, 1).is_err(), "an answer still uses it");
        loans.pop();
        assert!(lend(2, 1).is_ok());
    }
}
