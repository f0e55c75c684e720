//! The bytes of the bodies that a server sends: the pattern, files, its own memory.

use super::open_files::Loan;
use crate::{Bodies, pattern};
use loadstone_http::BodyId;
use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Every body that is the pattern.
pub(super) const PATTERN: BodyId = BodyId(0);

/// The bodies that are under way. A server puts them there when it answers and takes them away when the
/// exchange is over; connections read them.
#[derive(Clone, Default, Debug)]
pub(crate) struct BodyStore(Rc<RefCell<BodySlots>>);

/// Something that has the bytes of one body.
pub(super) enum StoredBody {
    File(Loan),
    /// Whatever keeps them in memory.
    Memory(Box<dyn AsRef<[u8]>>),
}

#[derive(Default, Debug)]
struct BodySlots {
    /// By [`BodyId`], from 1 on.
    slots: Vec<Option<StoredBody>>,
    /// Those that are empty.
    free: Vec<BodyId>,
    /// Those that are no longer needed.
    finished: Vec<BodyId>,
}

impl BodyStore {
    /// Puts a body there.
    pub(super) fn put(&self, content: StoredBody) -> BodyId {
        self.clear();
        let BodySlots { slots: bays, free, .. } = &mut *self.0.borrow_mut();
        let id = free.pop().unwrap_or_else(|| {
            bays.push(None);
            BodyId(bays.len() as u32)
        });
        bays[id.0 as usize - 1] = Some(content);
        id
    }

    /// This body is no longer needed, once what is polled now has been written to a socket: an answer is over
    /// when its last piece is polled, and only then are its bytes read.
    pub(super) fn finish(&self, id: BodyId) {
        let BodySlots { slots: bays, finished, .. } = &mut *self.0.borrow_mut();
        if id != PATTERN && (1..=bays.len()).contains(&(id.0 as usize)) {
            finished.push(id);
        }
    }

    /// Takes away what is finished.
    pub(super) fn clear(&self) {
        let BodySlots { slots: bays, free, finished } = &mut *self.0.borrow_mut();
        for id in finished.drain(..) {
            bays[id.0 as usize - 1] = None;
            free.push(id);
        }
    }
}

impl Bodies for BodyStore {
    fn append(&self, body: BodyId, offset: u64, len: u64, out: &mut Vec<u8>) {
        if body == PATTERN {
            return pattern::append(offset, len, out);
        }
        let bays = self.0.borrow();
        let content = (body.0 as usize).checked_sub(1).and_then(|at| bays.slots.get(at)?.as_ref());
        match content {
            None => {}
            Some(StoredBody::File(loan)) => read(loan.file(), offset, len as usize, out),
            Some(StoredBody::Memory(bytes)) => {
                let bytes = (**bytes).as_ref();
                let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                out.extend_from_slice(&bytes[place(offset)..place(offset.saturating_add(len))]);
            }
        }
    }
}

/// Appends what a file has there, which is less where it has become shorter or cannot be read.
pub(super) fn read(file: &File, offset: u64, len: usize, out: &mut Vec<u8>) {
    let before = out.len();
    out.resize(before + len, 0);
    let mut read = 0;
    while read < len {
        match file.read_at(&mut out[before + read..], offset + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    out.truncate(before + read);
}

impl fmt::Debug for StoredBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredBody::File(loan) => write!(f, "{:?}", loan.file()),
            StoredBody::Memory(bytes) => write!(f, "{} bytes", (**bytes).as_ref().len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn given(bodies: &BodyStore, id: BodyId, offset: u64, len: u64) -> Vec<u8> {
        let mut out = b"ahead ".to_vec();
        bodies.append(id, offset, len, &mut out);
        out.split_off(6)
    }

    #[test]
    fn each_body_has_its_own_bytes_and_its_place_is_used_again_when_it_is_finished() {
        let bodies = BodyStore::default();
        let [one, other] = [b"first", b"other"].map(|text| bodies.put(StoredBody::Memory(Box::new(text.to_vec()))));
        assert_eq!((given(&bodies, one, 1, 3), given(&bodies, other, 0, 5)), (b"irs".to_vec(), b"other".to_vec()));
        bodies.finish(one);
        assert_eq!(given(&bodies, one, 0, 5), b"first", "its last piece is still on its way");
        let third = bodies.put(StoredBody::Memory(Box::new(b"third".to_vec())));
        assert_eq!((third, given(&bodies, third, 0, 5)), (one, b"third".to_vec()));
        bodies.finish(PATTERN);
        bodies.finish(BodyId(u32::MAX));
        bodies.clear();
        assert_eq!(given(&bodies, PATTERN, 0, 2), [13, 144]);
        assert!(given(&bodies, BodyId(77), 0, 5).is_empty());
    }

    #[test]
    fn a_file_that_became_shorter_gives_less_and_no_padding() {
        let mut file = tempfile();
        file.write_all(&[7; 1000]).unwrap();
        let bodies = BodyStore::default();
        let id = bodies.put(StoredBody::File(Loan::of(file.try_clone().unwrap())));
        assert_eq!(given(&bodies, id, 100, 900), [7; 900]);
        file.set_len(400).unwrap();
        assert_eq!(given(&bodies, id, 100, 900), [7; 300]);
        assert!(given(&bodies, id, 900, 100).is_empty());
    }

    /// A file without a name.
    fn tempfile() -> File {
        let path = std::env::temp_dir().join(format!("loadstone-bodies-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }
}
