//! What a server did, a line of JSON for each exchange and each connection.
//!
//! A thread of its own writes them, so that the server does not wait for a disk. It does wait when
//! [`QUEUE`] lines are not written yet: none is lost but where there is no room for it, and those are counted
//! (`log_writer`).

mod log_writer;

use crate::{RecordKeeping, SocketRecord};
use loadstone_http::RequestHead;
use loadstone_load::{CacheOutcome, ConnId, Ending, Exchange, Rejection};
use loadstone_units::{Time, visible};
use log_writer::LogWriter;
use serde::Serialize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How long to wait, after a write has failed, before the next attempt if no line comes.
const RETRY: Duration = Duration::from_secs(1);

/// How many lines may wait to be written.
const QUEUE: usize = 4096;

/// How every line begins, by its first field.
const OPENING: &[u8] = b"{\"time\":\"";

/// The end of a log at which lines go in.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    tasks: SyncSender<LogTask>,
    /// When the clock showed zero.
    zero: OffsetDateTime,
}

/// What the thread that writes a log has to do.
#[derive(Debug)]
enum LogTask {
    /// To write a line.
    Line(Vec<u8>),
    /// To open the file by its name again, which another one may have now.
    OpenAgain,
}

/// Where a log is to be written.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: String,
    file: File,
}

/// A log that is being written.
#[derive(Debug)]
pub(crate) struct Log {
    path: String,
    entries: Entries,
    connections: SyncSender<SocketRecord>,
    /// Makes entries of the records of connections.
    connection_logger: JoinHandle<()>,
    writer: JoinHandle<io::Result<()>>,
}

/// Why the access log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: cannot be written ({error}): give a file that can be written, or '-'")]
pub struct LogError {
    path: String,
    error: io::Error,
}

#[derive(Serialize)]
struct ExchangeLine<'a> {
    time: String,
    connection: u32,
    protocol: &'static str,
    method: Cow<'a, str>,
    host: Cow<'a, str>,
    path: Cow<'a, str>,
    status: Option<u16>,
    bytes: Option<u64>,
    ms: f64,
    end: &'static str,
    /// What the cache had to do with it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<&'static str>,
    /// Why a relay has answered in the server's place, or could not finish the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<&'static str>,
}

#[derive(Serialize)]
struct ConnectionLine {
    time: String,
    connection: u32,
    /// The client of a connection that was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    /// The server of one that was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl LogFile {
    /// Opens a file to write on at its end, or with `-` the standard output.
    ///
    /// # Errors
    /// If it cannot be written, or is there and no access log.
    pub(crate) fn open(path: String) -> Result<LogFile, LogError> {
        let file = match &path[..] {
            "-" => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            _ => refuse_others(&path).and_then(|()| File::options().append(true).create(true).open(&path)),
        };
        match file {
            Ok(file) => Ok(LogFile { path, file }),
            Err(error) => Err(LogError { path, error }),
        }
    }
}

/// Refuses a file that is there and has other things in it.
fn refuse_others(path: &str) -> io::Result<()> {
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let mut beginning = Vec::new();
    File::open(path)?.take(OPENING.len() as u64).read_to_end(&mut beginning)?;
    match beginning == OPENING {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is there, and no access log")),
    }
}

impl Log {
    /// Begins; the server's clock shows zero now.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(crate) fn begin(to: LogFile) -> Result<Log, LogError> {
        let LogFile { path, file } = to;
        let now = now();
        // To the microsecond: the clock of day is not better.
        let zero = now - Duration::from_nanos(u64::from(now.nanosecond() % 1000));
        let begin = || {
            let (tasks, waiting) = sync_channel(QUEUE);
            let to = LogWriter::new(file);
            let name = path.clone();
            let writer =
                thread::Builder::new().name("access log".to_owned()).spawn(move || write(&waiting, &name, to))?;
            let entries = Entries { tasks, zero };
            let (connections, received) = sync_channel::<SocketRecord>(QUEUE);
            let noted = entries.clone();
            let note = move || received.iter().for_each(|connected| noted.note_connection(&connected));
            let clerk = thread::Builder::new().name("connections".to_owned()).spawn(note)?;
            Ok((entries, connections, clerk, writer))
        };
        match begin() {
            Ok((entries, connections, clerk, writer)) => {
                Ok(Log { path, entries, connections, connection_logger: clerk, writer })
            }
            Err(error) => Err(LogError { path, error }),
        }
    }

    /// Where exchanges are noted.
    pub(crate) fn entries(&self) -> Entries {
        self.entries.clone()
    }

    /// Where connections are noted.
    pub(crate) fn records(&self) -> RecordKeeping {
        RecordKeeping::Forward(self.connections.clone())
    }

    /// Waits until all is written. Entries and records have to be dropped first.
    ///
    /// # Errors
    /// If something could not be written.
    pub(crate) fn finish(self) -> Result<(), LogError> {
        let Log { path, entries, connections, connection_logger: clerk, writer } = self;
        drop((entries, connections));
        let gone = || io::Error::other("a thread that writes it has gone");
        let noted = clerk.join().map_err(|_| gone());
        let written = writer.join().unwrap_or_else(|_| Err(gone()));
        noted.and(written).map_err(|error| LogError { path, error })
    }
}

/// Writes lines as they come; what has been written stands there before it waits for more. Says on standard error
/// when lines begin to be lost, and when no more are.
fn write(tasks: &Receiver<LogTask>, path: &str, mut to: LogWriter) -> io::Result<()> {
    let say = |notice: Option<String>| {
        // Nobody may be there to hear it.
        notice.into_iter().for_each(|notice| drop(writeln!(io::stderr(), "loadstone: {path}: {notice}")));
    };
    loop {
        let task = match tasks.try_recv() {
            Err(TryRecvError::Empty) => {
                say(to.flush(now()));
                if to.is_failing() { tasks.recv_timeout(RETRY) } else { tasks.recv().map_err(RecvTimeoutError::from) }
            }
            task => task.map_err(|_| RecvTimeoutError::Disconnected),
        };
        match task {
            Ok(LogTask::Line(line)) => say(to.take(&line, now)),
            Ok(LogTask::OpenAgain) => {
                say(to.flush(now()));
                match LogFile::open(path.to_owned()) {
                    Ok(LogFile { file, .. }) => to.go_on_in(file),
                    Err(LogError { error, .. }) => {
                        say(Some(format!("cannot be opened again ({error}): the file from before is written on")));
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                say(to.flush(now()));
                return to.finish();
            }
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a driver dates what it did")]
fn now() -> OffsetDateTime {
    OffsetDateTime::from(SystemTime::now())
}

impl Entries {
    /// From here on entries go to the file that has the log's name now: the one from before may have been moved away.
    pub(crate) fn open_again(&self) {
        // It is gone only at the end.
        drop(self.tasks.send(LogTask::OpenAgain));
    }

    /// A request and what became of it.
    pub(crate) fn note_exchange(&self, exchange: &Exchange) {
        let RequestHead { method, authority, path, .. } = &*exchange.request;
        let is_complete = exchange.end == Ending::Complete;
        self.put(&ExchangeLine {
            time: self.time(exchange.began),
            connection: exchange.conn.0,
            protocol: exchange.protocol.name(),
            method: String::from_utf8_lossy(method),
            host: String::from_utf8_lossy(authority),
            path: String::from_utf8_lossy(path),
            status: exchange.response.map(|(status, _)| status),
            bytes: exchange.response.filter(|_| is_complete).map(|(_, body)| body.len),
            ms: exchange.ended.nanos_since(exchange.began) as f64 / 1e6,
            end: if is_complete { "complete" } else { "cut short" },
            cache: exchange.cache.map(CacheOutcome::name),
            rejected: exchange.rejected.map(Rejection::name),
        });
    }

    /// A connection, when it has come and, if it failed, when it is over.
    pub(crate) fn note_connection(&self, connected: &SocketRecord) {
        if connected.closed_at.is_some() && connected.failure.is_none() {
            return;
        }
        let ConnId(connection) = connected.conn;
        let (peer, is_accepted) = (connected.peer.to_string(), connected.client == Some(connected.peer));
        self.put(&ConnectionLine {
            time: self.time(connected.closed_at.unwrap_or(connected.opened)),
            connection,
            peer: is_accepted.then(|| peer.clone()),
            origin: (!is_accepted).then_some(peer),
            failure: connected.failure.as_ref().map(ToString::to_string),
        });
    }

    fn put(&self, line: &impl Serialize) {
        let line = serde_json::to_string(line).expect("lines have only keys that are text");
        let line = [visible(&line).as_bytes(), b"\n"].concat();
        // The writer is there as long as there are entries.
        let _sent = self.tasks.send(LogTask::Line(line));
    }

    fn time(&self, at: Time) -> String {
        let nanos = at.nanos_since(Time::ZERO);
        let at = self.zero + Duration::from_micros(nanos / 1000);
        at.format(&Rfc3339).unwrap_or_default()
    }
}
