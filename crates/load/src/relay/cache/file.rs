//! What is stored of a key, as a file: it outlives the edge that has written it.
//!
//! A file has the name of its form, a head (postcard: the key and what is known of it, times as nanoseconds since 1970), the
//! content, and the CRC-32 of all that. A file that a crash of the machine has left in part is so known from a whole one.

use super::body::CachedBody;
use super::freshness::Freshness;
use super::key::Varies;
use super::stored::{Stored, StoredResponse};
use bytes::Bytes;
use flate2::Crc;
use loadstone_http::{Chunk, Fields, ResponseHead};
use loadstone_units::Time;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes of the sum at the end.
const SUM: usize = 4;

/// A file to be written.
#[derive(Clone, Debug)]
pub struct CacheFile {
    head: Bytes,
    content: Vec<Bytes>,
}

/// What was read from a file.
#[derive(Debug)]
pub struct KeptEntry {
    pub(super) key: Bytes,
    /// Its times are counted from 1970.
    stored: Stored,
}

#[derive(Serialize, Deserialize)]
struct FileHead<'a> {
    key: &'a [u8],
    #[serde(borrow)]
    kept: KeptContent<'a>,
}

#[derive(Serialize, Deserialize)]
enum KeptContent<'a> {
    Response {
        status: u16,
        #[serde(borrow)]
        fields: Vec<(&'a [u8], &'a [u8])>,
        freshness: Freshness,
    },
    Varies(Varies),
}

impl CacheFile {
    /// What a file begins with. Files of another form have another name here, and are not read.
    pub const FORM: &[u8] = b"loadstone cache 1\n";

    /// What is stored of a key, where time is counted from `zero`. `None` for what no file can have: notes that soon mean nothing,
    /// and content that is only counted.
    pub(super) fn new(key: &[u8], stored: &Stored, zero: SystemTime) -> Option<CacheFile> {
        let (kept, content) = match stored {
            Stored::Response(response) => {
                let bytes = |piece: &Chunk| if let Chunk::Bytes(bytes) = piece { Some(bytes.clone()) } else { None };
                let content = response.body.pieces().iter().map(bytes).collect::<Option<Vec<Bytes>>>()?;
                let StoredResponse { head, freshness, .. } = &**response;
                let freshness = freshness.on_clock(zero, SystemTime::UNIX_EPOCH, Time::NEVER);
                (
                    KeptContent::Response { status: head.status, fields: head.fields.iter().collect(), freshness },
                    content,
                )
            }
            Stored::Varies(varies) => (KeptContent::Varies(varies.clone()), Vec::new()),
            Stored::Unstorable { .. } => return None,
        };
        let head = postcard::to_extend(&FileHead { key, kept }, Self::FORM.to_vec()).ok()?;
        Some(CacheFile { head: head.into(), content })
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        let content: usize = self.content.iter().map(Bytes::len).sum();
        (self.head.len() + content + SUM) as u64
    }

    /// Its bytes, in pieces. The sum is taken of all of them.
    pub fn pieces(&self) -> Vec<Bytes> {
        let mut pieces = vec![self.head.clone()];
        pieces.extend(self.content.iter().cloned());
        let mut sum = Crc::new();
        pieces.iter().for_each(|piece| sum.update(piece));
        pieces.push(Bytes::copy_from_slice(&sum.sum().to_le_bytes()));
        pieces
    }

    /// What a file says; `None` if it is not whole, or of another form.
    pub fn read(file: &Bytes) -> Option<KeptEntry> {
        let whole = file.len().checked_sub(SUM)?;
        let mut sum = Crc::new();
        sum.update(&file[..whole]);
        if file[whole..] != sum.sum().to_le_bytes() {
            return None;
        }
        let head = file[..whole].strip_prefix(Self::FORM)?;
        let (FileHead { key, kept }, content) = postcard::take_from_bytes(head).ok()?;
        let stored = match kept {
            KeptContent::Response { status, fields, freshness } => {
                let head = Arc::new(ResponseHead::new(status, Fields::from_pairs(fields)));
                let body = CachedBody::of(file.slice_ref(content));
                Stored::Response(Arc::new(StoredResponse { head, body, freshness }))
            }
            KeptContent::Varies(varies) => Stored::Varies(varies),
        };
        Some(KeptEntry { key: Bytes::copy_from_slice(key), stored })
    }

    /// The key in the beginning of a file; `None` if it is of another form, or not so long.
    pub fn key(beginning: &[u8]) -> Option<Bytes> {
        let head = beginning.strip_prefix(Self::FORM)?;
        // The key comes first.
        let (key, _) = postcard::take_from_bytes::<&[u8]>(head).ok()?;
        Some(Bytes::copy_from_slice(key))
    }
}

impl KeptEntry {
    /// As it is stored where the clock shows `now`, and its zero was then.
    pub(super) fn stored(self, zero: SystemTime, now: Time) -> Stored {
        match self.stored {
            Stored::Response(response) => {
                let StoredResponse { head, body, freshness } = Arc::unwrap_or_clone(response);
                let freshness = freshness.on_clock(SystemTime::UNIX_EPOCH, zero, now);
                Stored::Response(Arc::new(StoredResponse { head, body, freshness }))
            }
            other => other,
        }
    }
}
