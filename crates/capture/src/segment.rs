//! A segment as it was captured, and many of them on their way to another thread.

use crate::end_pair::EndPair;
use crate::headers::TcpHeader;

/// A segment of TCP in a capture.
#[derive(Clone, Copy, Debug)]
pub struct CapturedSegment<'a> {
    /// When, in ns since 1970.
    pub(crate) at: u64,
    /// The number of its packet in the capture, from 1.
    pub(crate) packet: u64,
    pub(crate) ends: EndPair,
    /// Whether the lower end sent it.
    pub(crate) from_low: bool,
    /// The identification of its packet; 0 without one.
    pub(crate) ip_id: u16,
    pub(crate) header: TcpHeader<'a>,
}

impl CapturedSegment<'_> {
    /// To which of so many parts it belongs: the same for all segments between its ends.
    #[inline]
    pub fn part(&self, parts: usize) -> usize {
        self.ends.mixed() as usize % parts
    }
}

/// Segments that were captured one after the other, with their data.
#[derive(Debug, Default)]
pub struct SegmentBatch {
    /// Each without its data, and how many bytes of that there are.
    segments: Vec<(CapturedSegment<'static>, usize)>,
    data: Vec<u8>,
}

impl SegmentBatch {
    /// Adds one.
    #[inline]
    pub fn push(&mut self, segment: &CapturedSegment<'_>) {
        let data = segment.header.data;
        self.data.extend_from_slice(data);
        let header = TcpHeader { data: &[], ..segment.header };
        self.segments.push((CapturedSegment { header, ..*segment }, data.len()));
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = CapturedSegment<'_>> {
        let mut rest = &self.data[..];
        self.segments.iter().map(move |(segment, len)| {
            let (data, after) = rest.split_at(*len);
            rest = after;
            CapturedSegment { header: TcpHeader { data, ..segment.header }, ..*segment }
        })
    }

    /// Takes all of them out; what they took is kept for the next ones.
    pub fn clear(&mut self) {
        self.segments.clear();
        self.data.clear();
    }
}
