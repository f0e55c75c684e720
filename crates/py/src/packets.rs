//! Captures of packets as tables.

use crate::error::Failure;
use loadstone_capture::{
    Analyzer, AnalyzerLimits, CONNECTION_COLUMNS, CellKind, CellValues, EXCHANGE_COLUMNS, FilledColumn, Intake, KeyLog,
    PACKET_COLUMNS, PERIOD_COLUMNS, PacketReader, QUIC_COLUMNS, RETRANSMISSION_COLUMNS, ReadError, SegmentBatch, Shard,
    TableColumn, ToldPackets, decompressed,
};
use loadstone_net::{BUSIEST_MOMENT, ByteArrival, busiest};
use loadstone_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, stdin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Name, validity bitmap, values and, of texts, where each ends: as Arrow lays columns out.
type Buffers<'py> = (&'static str, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// Reads capture files, one after the other, and fills tables of the connections in them.
#[pyclass(module = "loadstone._native")]
pub(crate) struct PacketTables {
    analyzer: Analyzer,
    keys: KeyLog,
    /// Nothing waits for it: it is only in there so that Python may pass this on between threads.
    reader: Mutex<Option<PacketReader<'static>>>,
    taken: Arc<AtomicU64>,
    /// What the files say of themselves, each once.
    comments: Vec<String>,
    threads: ThreadPool,
    /// For what is read while threads follow what was read before.
    batches: [Vec<SegmentBatch>; 2],
}

/// A file that says how much of it was read.
struct Counted {
    file: File,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[pymethods]
impl PacketTables {
    #[new]
    #[pyo3(signature = (idle_s, most_open, threads = None, periods = false, packets_of = None, page = false))]
    fn new(
        idle_s: u64,
        most_open: usize,
        threads: Option<usize>,
        periods: bool,
        packets_of: Option<u64>,
        page: bool,
    ) -> PyResult<PacketTables> {
        let packets = if page { ToldPackets::All } else { packets_of.map_or(ToldPackets::None, ToldPackets::Of) };
        let limits = AnalyzerLimits { idle: idle_s, open: most_open, periods, packets, heads: page };
        let analyzer = Analyzer::new(limits);
        let threads = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build().map_err(Failure::from)?;
        Ok(PacketTables {
            analyzer,
            keys: KeyLog::default(),
            reader: Mutex::default(),
            taken: Arc::default(),
            comments: Vec::new(),
            threads,
            batches: Default::default(),
        })
    }

    /// Decrypts TLS with the secrets in a key log too, from now on.
    fn add_keys(&mut self, text: &[u8]) -> PyResult<()> {
        self.keys.add(text).map_err(Failure::from)?;
        self.analyzer.set_keys(self.keys.clone());
        Ok(())
    }

    /// Goes on with another file; `-` is standard input.
    fn open(&mut self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.taken.store(0, Ordering::Relaxed);
        let taken = self.taken.clone();
        let opened = py.detach(|| {
            let file: Box<dyn Read + Send> = match path {
                "-" => Box::new(stdin()),
                path => Box::new(Counted { file: File::open(path)?, taken }),
            };
            let mut reader = PacketReader::new(decompressed(file)?)?;
            let secrets = reader.secrets();
            Ok::<_, ReadError>((reader, secrets))
        });
        let (reader, secrets) = opened.map_err(Failure::from)?;
        *self.file() = Some(reader);
        // The packets, and the secrets before it, are of use also where a line of the secrets is not.
        if !secrets.is_empty() {
            _ = self.keys.add(&secrets);
            self.analyzer.set_keys(self.keys.clone());
        }
        Ok(())
    }

    /// Reads this many packets of the file: whether there may be more. While a thread reads, others follow the connections
    /// of what was read before.
    fn read(&mut self, py: Python<'_>, packets: u64) -> PyResult<bool> {
        let PacketTables { analyzer, reader, threads, batches, comments, .. } = self;
        let Some(reader) = reader.get_mut().unwrap_or_else(PoisonError::into_inner) else { return Ok(false) };
        let read = py.detach(|| match threads.current_num_threads() {
            1 => read_alone(analyzer, reader, packets),
            _ => threads.install(|| read_in_batches(analyzer, reader, packets, batches)),
        });
        let new: Vec<_> = reader.comments().iter().filter(|comment| !comments.contains(comment)).cloned().collect();
        comments.extend(new.into_iter().take(MOST_COMMENTS.saturating_sub(comments.len())));
        if !matches!(read, Ok(true)) {
            *self.file() = None;
        }
        Ok(read.map_err(Failure::from)?)
    }

    /// Bytes that were read of the file, as it stands on the disk.
    fn position(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// There are no more files: about so many connections end. Whether there are more.
    fn finish(&mut self, py: Python<'_>, connections: usize) -> bool {
        let PacketTables { analyzer, threads, .. } = self;
        let (intake, shards) = analyzer.parts();
        let more = intake.finish(connections);
        let most = connections.div_ceil(shards.len());
        let end = |shard: &mut Shard| shard.finish(most);
        py.detach(|| threads.install(|| shards.par_iter_mut().map(end).reduce(|| more, |one, other| one || other)))
    }

    /// Rows that wait to be taken out.
    fn rows(&mut self) -> usize {
        let rows = |shard: &mut Shard| {
            let of_connections = shard.connections().rows() + shard.periods().rows();
            of_connections + shard.exchanges().rows() + shard.retransmissions().rows() + shard.packets().rows()
        };
        let (intake, shards) = self.analyzer.parts();
        intake.quic().rows() + shards.iter_mut().map(rows).sum::<usize>()
    }

    /// Takes out the rows of a table, in parts.
    fn take<'py>(&mut self, py: Python<'py>, table: &str) -> PyResult<Vec<Vec<Buffers<'py>>>> {
        if table == QUIC {
            let columns = self.analyzer.parts().0.quic().take();
            return Ok(vec![columns.into_iter().map(|(name, column)| buffers(py, name, &column)).collect()]);
        }
        let take: fn(&mut Shard) -> Vec<(&'static str, FilledColumn)> = match table {
            CONNECTIONS => |shard| shard.connections().take(),
            EXCHANGES => |shard| shard.exchanges().take(),
            RETRANSMISSIONS => |shard| shard.retransmissions().take(),
            PERIODS => |shard| shard.periods().take(),
            PACKETS => |shard| shard.packets().take(),
            other => return Err(Failure::new(format!("there is no table {other}")).into()),
        };
        let in_buffers = |shard: &mut Shard| -> Vec<Buffers<'py>> {
            take(shard).into_iter().map(|(name, column)| buffers(py, name, &column)).collect()
        };
        Ok(self.analyzer.parts().1.iter_mut().map(in_buffers).collect())
    }

    /// What a page is made of beside the tables: the heads of exchanges, as JSON.
    fn take_heads_json(&mut self) -> String {
        let rows = self.analyzer.parts().1.iter_mut().flat_map(Shard::take_heads);
        let heads = rows.filter_map(|row| {
            let ((connection, exchange), heads) = (row.place(), row.heads()?);
            Some(json!({
                "connection": connection,
                "exchange": exchange,
                "request": heads.request,
                "response": heads.response,
                "request_head_bytes": heads.request_head_bytes,
                "response_head_bytes": heads.response_head_bytes,
            }))
        });
        Value::from_iter(heads).to_string()
    }

    /// What was in the files until now, as JSON.
    fn totals_json(&self) -> String {
        let totals = self.analyzer.totals();
        let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
        json!({
            "packets": totals.packets, "tcp_packets": totals.tcp_packets, "bytes": totals.bytes,
            "cut_headers": totals.cut_headers, "connections": totals.connections,
            "quic_packets": totals.quic_packets, "quic_connections": totals.quic_connections, "evicted": totals.evicted,
            "start_ms": ms(totals.first_at), "end_ms": ms(totals.last_at), "comments": self.comments,
        })
        .to_string()
    }
}

impl PacketTables {
    fn file(&mut self) -> &mut Option<PacketReader<'static>> {
        self.reader.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What so many sections say of themselves is kept.
const MOST_COMMENTS: usize = 8;

/// Packets that are passed on to other threads at once.
const BATCH: u64 = 20_000;

/// Reads so many packets, and follows their connections: whether there may be more.
fn read_alone(analyzer: &mut Analyzer, reader: &mut PacketReader<'_>, packets: u64) -> Result<bool, ReadError> {
    for _ in 0..packets {
        if reader.next_packet(|packet| analyzer.handle_packet(&packet))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same on several threads. The batches are empty before and after.
fn read_in_batches(
    analyzer: &mut Analyzer,
    reader: &mut PacketReader<'_>,
    packets: u64,
    [filled, next]: &mut [Vec<SegmentBatch>; 2],
) -> Result<bool, ReadError> {
    let (intake, shards) = analyzer.parts();
    for batches in [&mut *filled, &mut *next] {
        batches.resize_with(shards.len(), SegmentBatch::default);
    }
    let mut left = packets;
    let mut more = Ok(true);
    while matches!(more, Ok(true)) && left > 0 {
        let count = left.min(BATCH);
        left -= count;
        let fill = || fill(intake, reader, count, next);
        let follow = || shards.par_iter_mut().zip(&*filled).for_each(|(shard, batch)| shard.handle_batch(batch));
        (more, ()) = rayon::join(fill, follow);
        filled.iter_mut().for_each(SegmentBatch::clear);
        std::mem::swap(filled, next);
    }
    shards.par_iter_mut().zip(&*filled).for_each(|(shard, batch)| shard.handle_batch(batch));
    filled.iter_mut().for_each(SegmentBatch::clear);
    more
}

/// Fills a batch for each shard: whether there may be more packets. What came before an error is in them.
fn fill(
    intake: &mut Intake,
    reader: &mut PacketReader<'_>,
    packets: u64,
    batches: &mut [SegmentBatch],
) -> Result<bool, ReadError> {
    for _ in 0..packets {
        let packet = reader.next_packet(|packet| {
            if let Some(segment) = intake.segment_of(&packet) {
                batches[segment.part(batches.len())].push(&segment);
            }
        });
        if packet?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

const CONNECTIONS: &str = "connections";
const EXCHANGES: &str = "exchanges";
const RETRANSMISSIONS: &str = "retransmissions";
const PERIODS: &str = "periods";
const PACKETS: &str = "packets";
const QUIC: &str = "quic";

/// The rate of a link at least and for how many ms it was that, by the busiest moment: what came when, in ns, and how many
/// bytes; `None` if nothing came twice.
#[pyfunction]
pub(crate) fn busiest_moment(py: Python<'_>, at_ns: Vec<u64>, bytes: Vec<u64>) -> Option<(u64, f64)> {
    let arrivals = at_ns.into_iter().zip(bytes).map(|(at, bytes)| ByteArrival { at: Time::from_nanos(at), bytes });
    let found = py.detach(|| busiest(arrivals.collect(), Vec::new(), BUSIEST_MOMENT.0, BUSIEST_MOMENT.1))?;
    Some((found.rate.bits_per_second(), found.span.as_secs_f64() * 1e3))
}

/// The tables of captures as JSON: by table, name, kind and help of each column.
#[pyfunction]
pub(crate) fn packet_columns_json() -> String {
    json!({
        CONNECTIONS: described(&CONNECTION_COLUMNS),
        EXCHANGES: described(&EXCHANGE_COLUMNS),
        RETRANSMISSIONS: described(&RETRANSMISSION_COLUMNS),
        PERIODS: described(&PERIOD_COLUMNS),
        PACKETS: described(&PACKET_COLUMNS),
        QUIC: described(&QUIC_COLUMNS),
    })
    .to_string()
}

fn described<R>(columns: &[TableColumn<R>]) -> Vec<Value> {
    let kind = |kind| match kind {
        CellKind::Boolean => "boolean",
        CellKind::Integer => "integer",
        CellKind::Number => "number",
        CellKind::Text => "string",
    };
    columns.iter().map(|column| json!({"name": column.name, "kind": kind(column.kind), "help": column.help})).collect()
}

fn buffers<'py>(py: Python<'py>, name: &'static str, column: &FilledColumn) -> Buffers<'py> {
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    let (values, ends) = match &column.values {
        CellValues::Booleans(values) => (bytes(&bitmap(values)), None),
        CellValues::Integers(values) => (bytes(&in_bytes(values, u64::to_le_bytes)), None),
        CellValues::Numbers(values) => (bytes(&in_bytes(values, f64::to_le_bytes)), None),
        CellValues::Texts { text, ends } => {
            (bytes(text.as_bytes()), Some(bytes(&in_bytes(&[&[0], ends.as_slice()].concat(), i64::to_le_bytes))))
        }
    };
    (name, bytes(&bitmap(&column.known)), values, ends)
}

fn in_bytes<T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; 8]) -> Vec<u8> {
    values.iter().flat_map(|value| bytes(*value)).collect()
}

/// A bit for each, the first one lowest.
fn bitmap(values: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    values.chunks(8).map(byte).collect()
}
