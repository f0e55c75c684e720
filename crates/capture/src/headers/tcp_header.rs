//! The header of TCP (RFC 9293) and its options.

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// How an option of timestamps alone begins, padded by two: most segments have just this.
const TIMESTAMPS_ALONE: [u8; 4] = [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10];
/// A window is shifted by no more (RFC 7323, section 2.3).
const LARGEST_SHIFT: u8 = 14;

/// A segment, as far as it was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpHeader<'a> {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    /// The number of the first byte of data, or of the SYN.
    pub(crate) seq: u32,
    /// The next number that is expected; of no meaning without ACK.
    pub(crate) ack: u32,
    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN, from the highest bit to the lowest.
    pub(crate) flags: u8,
    /// The window, not yet scaled.
    pub(crate) window: u16,
    /// Bytes of data on the wire.
    pub(crate) len: u32,
    /// What was captured of them.
    pub(crate) data: &'a [u8],
    pub(crate) options: TcpOptions,
}

/// The options of a segment, as far as they were captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TcpOptions {
    /// MSS in bytes.
    pub(crate) mss: Option<u16>,
    /// By how many bits windows are shifted.
    pub(crate) window_scale: Option<u8>,
    /// Whether SACK may be used (RFC 2018).
    pub(crate) sack_permitted: bool,
    /// TSval and TSecr (RFC 7323).
    pub(crate) timestamps: Option<(u32, u32)>,
    blocks: [(u32, u32); 4],
    block_count: u8,
}

impl<'a> TcpHeader<'a> {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const SYN: u8 = 0x02;
    pub(crate) const RST: u8 = 0x04;
    pub(crate) const PSH: u8 = 0x08;
    pub(crate) const ACK: u8 = 0x10;

    /// Reads a segment of `len` bytes, header included. Nothing if its first 20 bytes were not captured, or if the
    /// lengths contradict one another.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8], len: u32) -> Option<TcpHeader<'a>> {
        let header: &[u8; 20] = bytes.first_chunk()?;
        let header_len = usize::from(header[12] >> 4) * 4;
        let data_len = len.checked_sub(header_len as u32)?;
        if header_len < 20 {
            return None;
        }
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let options = &bytes[20..header_len.min(bytes.len())];
        Some(TcpHeader {
            source_port: half(0),
            destination_port: half(2),
            seq: word(header, 4),
            ack: word(header, 8),
            flags: header[13],
            window: half(14),
            len: data_len,
            data: bytes.get(header_len..).unwrap_or_default(),
            options: TcpOptions::read(options),
        })
    }

    #[inline]
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Numbers that the segment takes: its data, SYN and FIN.
    #[inline]
    pub(crate) fn numbers(&self) -> u64 {
        u64::from(self.len) + u64::from(self.has(Self::SYN)) + u64::from(self.has(Self::FIN))
    }
}

impl TcpOptions {
    /// The SACK blocks as they stand there: the first number of each, and the one after its last.
    pub(crate) fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }

    #[inline]
    fn read(bytes: &[u8]) -> TcpOptions {
        let mut options = TcpOptions::default();
        if bytes.len() == 12 && bytes[..4] == TIMESTAMPS_ALONE {
            options.timestamps = Some((word(bytes, 4), word(bytes, 8)));
        } else {
            options.read_each(bytes);
        }
        options
    }

    fn read_each(&mut self, mut bytes: &[u8]) {
        while let Some(&kind) = bytes.first() {
            let len = match kind {
                END => return,
                NO_OPERATION => 1,
                _ => match bytes.get(1) {
                    Some(&len) if len >= 2 && usize::from(len) <= bytes.len() => usize::from(len),
                    // Cut, or damaged: what comes after cannot be found.
                    _ => return,
                },
            };
            match (kind, len) {
                (MAXIMUM_SEGMENT_SIZE, 4) => self.mss = Some(u16::from_be_bytes([bytes[2], bytes[3]])),
                (WINDOW_SCALE, 3) => self.window_scale = Some(bytes[2].min(LARGEST_SHIFT)),
                (SACK_PERMITTED, 2) => self.sack_permitted = true,
                (TIMESTAMPS, 10) => self.timestamps = Some((word(bytes, 2), word(bytes, 6))),
                (SACK, 10 | 18 | 26 | 34) => {
                    self.block_count = (len / 8) as u8;
                    for (place, block) in self.blocks.iter_mut().zip(bytes[2..len].chunks_exact(8)) {
                        *place = (word(block, 0), word(block, 4));
                    }
                }
                _ => {}
            }
            bytes = &bytes[len..];
        }
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
