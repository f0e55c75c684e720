//! The packets of a capture file, one after the other: pcap and pcapng, in any byte order and resolution.

use pcap_parser::pcapng::{
    Block, DecryptionSecretsBlock, InterfaceDescriptionBlock, OptionCode, SecretsType, SectionHeaderBlock,
};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Linktype, PcapBlockOwned, PcapError, PcapHeader};
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

/// Bytes that are read at once. A packet is at most [`LARGEST`] of them.
const BUFFER: usize = 1 << 18;
/// Bytes of the largest block that is read. Packets end at 256 KiB (what `tcpdump` asks for at most); blocks of
/// secrets and names may be larger.
const LARGEST: usize = 1 << 24;
/// Bytes of secrets that are taken from a file at most.
const MOST_SECRETS: usize = 1 << 26;
const NANOS: u64 = 1_000_000_000;
/// Units of time in a second where a file does not say it (draft-ietf-opsawg-pcapng, section 4.2).
const MICROS: u64 = 1_000_000;

/// A packet as a capture file has it.
#[derive(Clone, Copy, Debug)]
pub struct RawPacket<'a> {
    /// When it was captured, in ns since 1970.
    pub at: u64,
    /// With which header it begins.
    pub link: Linktype,
    /// What was kept of it.
    pub data: &'a [u8],
    /// Its bytes on the wire.
    pub len: u32,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no capture.
    #[error("this is neither a pcap nor a pcapng file; `editcap -F pcap IN OUT` makes one of other formats")]
    NoCapture,
    /// It is damaged.
    #[error("damaged at byte {at}; what came before it is read")]
    Damaged {
        /// Where the block begins that cannot be read.
        at: u64,
    },
    /// It ends in the middle of a packet.
    #[error("it ends in the middle of a packet, at byte {at}; what came before it is read")]
    Cut {
        /// Where the packet begins.
        at: u64,
    },
    /// It cannot be read.
    #[error("it cannot be read on from byte {at}: {source}")]
    Io {
        /// How far it was read.
        at: u64,
        /// Why.
        source: io::Error,
    },
}

impl From<io::Error> for ReadError {
    fn from(source: io::Error) -> ReadError {
        ReadError::Io { at: 0, source }
    }
}

/// Reads packets of one file. A file that is damaged or cut gives all packets before that place, and then the error.
pub struct PacketReader<'a> {
    blocks: Box<dyn PcapReaderIterator + Send + 'a>,
    /// How the packets of the file stand there, if it is pcap.
    records: Option<PcapRecords>,
    interfaces: Vec<Interface>,
    notes: FileNotes,
    failure: Arc<Mutex<Option<io::Error>>>,
}

/// Where packets of a file were captured.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Linktype,
    /// Units of time in a second.
    resolution: u64,
    /// Nanoseconds of a unit, if these are whole: nearly always, and then no time has to be divided.
    unit: Option<u64>,
    /// Seconds to add to each time.
    offset: i64,
}

impl<'a> PacketReader<'a> {
    /// A reader of `file`, decompressed already.
    ///
    /// # Errors
    /// If it is no capture, or cannot be read at all.
    pub fn new(file: impl Read + Send + 'a) -> Result<PacketReader<'a>, ReadError> {
        let failure = Arc::new(Mutex::new(None));
        let file = Filling { file, failure: failure.clone() };
        match pcap_parser::create_reader(BUFFER, file) {
            Ok(blocks) => {
                let records = PcapRecords::of(blocks.data());
                Ok(PacketReader { blocks, records, interfaces: Vec::new(), notes: FileNotes::new(), failure })
            }
            Err(PcapError::ReadError) => Err(io_error(&failure, 0)),
            Err(_) => Err(ReadError::NoCapture),
        }
    }

    /// How many bytes of the file have been read.
    pub fn position(&self) -> u64 {
        self.blocks.consumed() as u64
    }

    /// The secrets of TLS that stand before the first packet: lines of a key log (Decryption Secrets Blocks). To be asked for
    /// before packets are; what is wrong with the file is found by these.
    pub fn secrets(&mut self) -> Vec<u8> {
        loop {
            let block_len = match self.blocks.next() {
                Ok((block_len, block)) => match packet_of(block, &mut self.interfaces, &mut self.notes) {
                    Ok(None) => block_len,
                    Ok(Some(_)) | Err(NoInterface) => break,
                },
                Err(error) => {
                    let remedy = Remedy::of(&error);
                    if self.apply(remedy).is_err() {
                        break;
                    }
                    continue;
                }
            };
            self.blocks.consume_noshift(block_len);
        }
        self.notes.secrets.take().unwrap_or_default()
    }

    /// What the sections read until now say of themselves as a comment (draft-ietf-opsawg-pcapng, section 3.5): the first
    /// ones, each cut to a length.
    pub fn comments(&self) -> &[String] {
        &self.notes.comments
    }

    /// Gives the next packet to `handle`; nothing at the end of the file.
    ///
    /// # Errors
    /// If the file is damaged or cut here. There is nothing more to be read then.
    pub fn next_packet<T>(&mut self, handle: impl FnOnce(RawPacket<'_>) -> T) -> Result<Option<T>, ReadError> {
        loop {
            if let Some((records, interface)) = self.records.zip(self.interfaces.first())
                && let Some((len, packet)) = records.first_packet(self.blocks.data(), interface)
            {
                let handled = handle(packet);
                self.blocks.consume_noshift(len);
                return Ok(Some(handled));
            }
            let at = self.blocks.consumed() as u64;
            let (block_len, packet) = match self.blocks.next() {
                Ok((block_len, block)) => match packet_of(block, &mut self.interfaces, &mut self.notes) {
                    Ok(packet) => (block_len, packet),
                    Err(NoInterface) => return Err(ReadError::Damaged { at }),
                },
                Err(PcapError::Eof) => return Ok(None),
                Err(error) => {
                    let remedy = Remedy::of(&error);
                    self.apply(remedy)?;
                    continue;
                }
            };
            let Some(packet) = packet else {
                self.blocks.consume_noshift(block_len);
                continue;
            };
            let handled = handle(packet);
            self.blocks.consume_noshift(block_len);
            return Ok(Some(handled));
        }
    }
}

impl PacketReader<'_> {
    fn apply(&mut self, remedy: Remedy) -> Result<(), ReadError> {
        let at = self.blocks.consumed() as u64;
        match remedy {
            Remedy::Refill => match self.blocks.refill() {
                Ok(()) => Ok(()),
                Err(_) => Err(io_error(&self.failure, at)),
            },
            Remedy::Grow => {
                let len = self.blocks.data().len().max(BUFFER);
                // The buffer may be full already, or the block larger than it.
                let grown = len < LARGEST && self.blocks.grow(2 * len.next_power_of_two());
                if grown { self.apply(Remedy::Refill) } else { Err(ReadError::Damaged { at }) }
            }
            Remedy::Cut => Err(ReadError::Cut { at }),
            Remedy::Damaged => Err(ReadError::Damaged { at }),
        }
    }
}

/// What helps where a block cannot be read.
enum Remedy {
    Refill,
    Grow,
    Cut,
    Damaged,
}

impl Remedy {
    fn of(error: &PcapError<&[u8]>) -> Remedy {
        match error {
            PcapError::Incomplete(_) => Remedy::Refill,
            PcapError::BufferTooSmall => Remedy::Grow,
            PcapError::UnexpectedEof => Remedy::Cut,
            _ => Remedy::Damaged,
        }
    }
}

/// A packet of an interface that the file does not describe, or too many interfaces.
struct NoInterface;

/// Interfaces of one file at most: it names them by 32 bits, and each takes memory.
const MOST_INTERFACES: usize = 1 << 16;

/// Comments of one file that are kept, and characters of each: a file may have any number of them.
const MOST_COMMENTS: usize = 8;
const LONGEST_COMMENT: usize = 1000;

/// What stands beside the packets of a file.
#[derive(Debug)]
struct FileNotes {
    comments: Vec<String>,
    /// Until they are asked for.
    secrets: Option<Vec<u8>>,
}

impl FileNotes {
    fn new() -> FileNotes {
        FileNotes { comments: Vec::new(), secrets: Some(Vec::new()) }
    }

    fn add_comments(&mut self, section: &SectionHeaderBlock<'_>) {
        for option in section.options.iter().filter(|option| option.code == OptionCode::Comment) {
            if let (Ok(text), true) = (option.as_str(), self.comments.len() < MOST_COMMENTS) {
                self.comments.push(text.chars().take(LONGEST_COMMENT).collect());
            }
        }
    }

    fn add_secrets(&mut self, block: &DecryptionSecretsBlock<'_>) {
        let text = block.data.get(..block.secrets_len as usize).unwrap_or(block.data);
        let Some(secrets) = &mut self.secrets else { return };
        if block.secrets_type == SecretsType::TlsKeyLog && secrets.len() + text.len() < MOST_SECRETS {
            secrets.extend_from_slice(text);
            secrets.push(b'\n');
        }
    }
}

/// The byte order of a pcap file (draft-ietf-opsawg-pcap, section 4). Its packets are read here, since [`pcap_parser`] takes
/// several times as long for each; what is not whole in the buffer, or in another format, is left to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PcapRecords {
    LittleEndian,
    BigEndian,
}

impl PcapRecords {
    /// Bytes before the data of a packet.
    const HEADER: usize = 16;

    fn of(file: &[u8]) -> Option<PcapRecords> {
        match file.first_chunk()? {
            [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => Some(PcapRecords::LittleEndian),
            [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => Some(PcapRecords::BigEndian),
            _ => None,
        }
    }

    /// The packet that bytes begin with, and how many of them it takes, if it is whole.
    #[inline]
    fn first_packet<'a>(self, bytes: &'a [u8], interface: &Interface) -> Option<(usize, RawPacket<'a>)> {
        let (header, rest) = bytes.split_first_chunk::<{ PcapRecords::HEADER }>()?;
        let word = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            if self == PcapRecords::BigEndian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let data = rest.get(..word(8) as usize)?;
        let packet =
            RawPacket { at: interface.record_nanos(word(0), word(4)), link: interface.link, data, len: word(12) };
        Some((PcapRecords::HEADER + data.len(), packet))
    }
}

/// The packet of a block, if it has one; interfaces and notes are kept.
#[inline]
fn packet_of<'a>(
    block: PcapBlockOwned<'a>,
    interfaces: &mut Vec<Interface>,
    notes: &mut FileNotes,
) -> Result<Option<RawPacket<'a>>, NoInterface> {
    match block {
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces.first().ok_or(NoInterface)?;
            let at = interface.record_nanos(packet.ts_sec, packet.ts_usec);
            Ok(Some(RawPacket { at, link: interface.link, data: packet.data, len: packet.origlen }))
        }
        PcapBlockOwned::LegacyHeader(header) => {
            interfaces.push(Interface::of_file(&header));
            Ok(None)
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = interfaces.get(packet.if_id as usize).ok_or(NoInterface)?;
            let at = interface.nanos(u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low));
            let data = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
            Ok(Some(RawPacket { at, link: interface.link, data, len: packet.origlen }))
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            // It has no time (draft-ietf-opsawg-pcapng, section 4.4): its bytes count.
            let interface = interfaces.first().ok_or(NoInterface)?;
            let data = packet.data.get(..packet.origlen as usize).unwrap_or(packet.data);
            Ok(Some(RawPacket { at: 0, link: interface.link, data, len: packet.origlen }))
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(_)) if interfaces.len() == MOST_INTERFACES => Err(NoInterface),
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
            interfaces.push(Interface::described(&interface));
            Ok(None)
        }
        // Each section counts its interfaces anew.
        PcapBlockOwned::NG(Block::SectionHeader(section)) => {
            interfaces.clear();
            notes.add_comments(&section);
            Ok(None)
        }
        PcapBlockOwned::NG(Block::DecryptionSecrets(block)) => {
            notes.add_secrets(&block);
            Ok(None)
        }
        PcapBlockOwned::NG(_) => Ok(None),
    }
}

impl Interface {
    fn new(link: Linktype, resolution: u64, offset: i64) -> Interface {
        let unit = NANOS.is_multiple_of(resolution).then(|| NANOS / resolution);
        Interface { link, resolution, unit, offset }
    }

    fn of_file(header: &PcapHeader) -> Interface {
        let resolution = if header.is_nanosecond_precision() { NANOS } else { MICROS };
        // Above these bits stands whether a frame ends in a checksum (draft-ietf-opsawg-pcap, section 4).
        Interface::new(Linktype(header.network.0 & 0xffff), resolution, 0)
    }

    fn described(block: &InterfaceDescriptionBlock<'_>) -> Interface {
        let resolution = block.ts_resolution().filter(|resolution| *resolution > 0).unwrap_or(MICROS);
        Interface::new(block.linktype, resolution, block.ts_offset())
    }

    /// A time of a record in ns since 1970.
    #[inline]
    fn record_nanos(&self, seconds: u32, units: u32) -> u64 {
        u64::from(seconds) * NANOS + u64::from(units) * self.unit.unwrap_or(1)
    }

    /// A time of the file in ns since 1970.
    #[inline]
    fn nanos(&self, time: u64) -> u64 {
        if let (Some(unit), 0) = (self.unit, self.offset) {
            return time.saturating_mul(unit);
        }
        let in_second = u128::from(time % self.resolution) * u128::from(NANOS) / u128::from(self.resolution);
        let seconds = (time / self.resolution).saturating_add_signed(self.offset);
        seconds.saturating_mul(NANOS).saturating_add(in_second as u64)
    }
}

/// A file that gives as much as is asked for as long as there is some: the reader of captures looks for the first
/// block in what it gets first. It keeps what the file says when it cannot be read, which that reader does not.
struct Filling<R> {
    file: R,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl<R: Read> Read for Filling<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What has been read first; the next call fails again.
                Err(_) if filled > 0 => break,
                Err(error) => {
                    *self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
        Ok(filled)
    }
}

fn io_error(failure: &Mutex<Option<io::Error>>, at: u64) -> ReadError {
    let failure = failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    ReadError::Io { at, source: failure.unwrap_or_else(|| io::ErrorKind::Other.into()) }
}
