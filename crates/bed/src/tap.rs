//! What one host of a run sends and gets, as a capture file (pcap, link type RAW): it is written while the run goes on.

use crate::{BedError, BedHost};
use loadstone_units::Time;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Packets that wait for the disk; if it is slower than that, packets are left out.
const WAITING: usize = 100_000;

/// The end of a tap at which packets come in.
#[derive(Debug)]
pub(crate) struct Tap {
    host: BedHost,
    packets: SyncSender<(Time, Box<[u8]>)>,
    missed: u64,
    tell_missed: mpsc::Sender<u64>,
}

/// A capture file that is being written.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    writing: JoinHandle<Result<(), PcapError>>,
    missed: Receiver<u64>,
}

impl Tap {
    /// A tap at a host, whose packets go to a new file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn open(host: BedHost, path: &Path) -> Result<(Tap, CaptureFile), BedError> {
        let file = File::create(path).map_err(BedError::capture(path))?;
        let header = PcapHeader {
            ts_resolution: TsResolution::NanoSecond,
            datalink: DataLink::RAW,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::new(file), header);
        let writer = writer.map_err(|error| BedError::capture(path)(io_error(error)))?;
        let (packets, to_write) = mpsc::sync_channel(WAITING);
        let (tell_missed, missed) = mpsc::channel();
        let writing = thread::spawn(|| write(writer, to_write));
        Ok((Tap { host, packets, missed: 0, tell_missed }, CaptureFile { writing, missed }))
    }

    /// A packet that this host sends or gets.
    pub(crate) fn note(&mut self, host: BedHost, now: Time, bytes: &[u8]) {
        if host == self.host
            && let Err(TrySendError::Full(_)) = self.packets.try_send((now, bytes.into()))
        {
            self.missed += 1;
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // Nobody may want to know.
        let _ = self.tell_missed.send(self.missed);
    }
}

impl CaptureFile {
    /// Waits until all is written: how many packets are left out. The tap has to be gone.
    ///
    /// # Errors
    /// If the disk is full, for instance.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let written = self.writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map_err(io_error)?;
        Ok(self.missed.recv().unwrap_or(0))
    }
}

fn write(mut writer: PcapWriter<BufWriter<File>>, packets: Receiver<(Time, Box<[u8]>)>) -> Result<(), PcapError> {
    let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    for (now, bytes) in packets {
        let at = began + Duration::from_nanos(now.nanos_since(Time::ZERO));
        writer.write_packet(&PcapPacket::new(at, bytes.len() as u32, &bytes))?;
    }
    writer.into_writer().flush().map_err(PcapError::IoError)
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other.to_string()),
    }
}
