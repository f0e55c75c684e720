//! Writes lines to a file that may have no room for a while.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How many bytes wait for room before lines are lost.
const BUFFER: usize = 64 * 1024;

/// Lines on their way to a file, in their order and each of them whole. Where the file has no room, a full disk for
/// instance, lines wait; those for which the buffer has no room either are lost, and counted in a line of their own when
/// there is room again.
#[derive(Debug)]
pub(super) struct LogWriter {
    to: File,
    /// Lines that are not written; of the first perhaps only its rest.
    waiting: Vec<u8>,
    /// Whether the beginning of the first of them is written.
    has_begun: bool,
    /// Why the last write has failed, if it has.
    failure: Option<io::Error>,
    /// How many lines were lost since writing failed.
    lost: u64,
}

impl LogWriter {
    pub(super) fn new(to: File) -> LogWriter {
        LogWriter { to, waiting: Vec::with_capacity(BUFFER), has_begun: false, failure: None, lost: 0 }
    }

    /// Goes on in another file. Of a line whose beginning is in the one from before, the rest is lost.
    pub(super) fn go_on_in(&mut self, file: File) {
        if std::mem::take(&mut self.has_begun) {
            let end = self.waiting.iter().position(|byte| *byte == b'\n').map_or(self.waiting.len(), |at| at + 1);
            self.waiting.drain(..end);
            self.lost += 1;
        }
        self.to = file;
    }

    /// Whether the last write has failed.
    pub(super) fn is_failing(&self) -> bool {
        self.failure.is_some()
    }

    /// Takes a line; loses it if there is room neither in the file nor here. Returns what is to be said of it.
    pub(super) fn take(&mut self, line: &[u8], now: impl Fn() -> OffsetDateTime) -> Option<String> {
        let fits = |waiting: &[u8]| waiting.is_empty() || waiting.len() + line.len() <= BUFFER;
        let notice = if fits(&self.waiting) { None } else { self.flush(now()) };
        if fits(&self.waiting) {
            self.waiting.extend_from_slice(line);
        } else {
            self.lost += 1;
        }
        notice
    }

    /// Writes what waits, and how many lines were lost. Returns what is to be said: when writing begins to fail, and
    /// when it goes on.
    pub(super) fn flush(&mut self, now: OffsetDateTime) -> Option<String> {
        let before = self.failure.take();
        let written = self.write().and_then(|()| {
            if self.lost > 0 {
                let time = now.format(&Rfc3339).unwrap_or_default();
                self.waiting.extend(format!("{{\"time\":\"{time}\",\"lost\":{}}}\n", self.lost).bytes());
                self.lost = 0;
                return self.write();
            }
            Ok(())
        });
        match (written, before) {
            (Ok(()), None) => None,
            (Ok(()), Some(_)) => Some("it is written again; a line in it says how many were lost, if any".to_owned()),
            (Err(error), before) => {
                let error = self.failure.insert(error);
                let notice = format!("cannot be written ({error}): lines are lost until there is room");
                before.is_none().then_some(notice)
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let (mut written, mut result) = (0, Ok(()));
        while written < self.waiting.len() && result.is_ok() {
            match self.to.write(&self.waiting[written..]) {
                Ok(0) => result = Err(ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => result = Err(error),
            }
        }
        if let Some(last) = written.checked_sub(1) {
            self.has_begun = self.waiting[last] != b'\n';
        }
        self.waiting.drain(..written);
        result
    }

    /// It writes no more.
    ///
    /// # Errors
    /// If lines are left that could not be written.
    pub(super) fn finish(self) -> io::Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::OFlag;
    use nix::unistd::pipe2;
    use std::io::Read;

    /// A writer, and the end of its pipe at which a test makes room: a pipe that is full refuses like a disk.
    fn on_a_pipe() -> (LogWriter, File) {
        let (read, write) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).unwrap();
        (LogWriter::new(write.into()), read.into())
    }

    fn read(from: &mut File) -> String {
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            text.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lines_are_lost_only_while_there_is_no_room_and_are_counted() {
        let (mut writer, mut reader) = on_a_pipe();
        let now = || OffsetDateTime::UNIX_EPOCH;
        let line = |at: u32| format!("{at:0>99}\n");
        let mut notices = Vec::new();
        for at in 0..5_000 {
            notices.extend(writer.take(line(at).as_bytes(), now));
        }
        assert!(matches!(&notices[..], [said] if said.contains("cannot be written")), "{notices:?}");
        let lost = writer.lost;
        assert!(writer.is_failing() && lost > 0);
        let mut text = String::new();
        while writer.is_failing() {
            text += &read(&mut reader);
            notices.extend(writer.flush(now()));
        }
        assert!(notices.len() == 2 && notices[1].contains("written again"), "{notices:?}");
        writer.take(line(5_000).as_bytes(), now);
        assert_eq!(writer.flush(now()), None);
        text += &read(&mut reader);
        let kept = 5_000 - lost as u32;
        let counted = format!("{{\"time\":\"1970-01-01T00:00:00Z\",\"lost\":{lost}}}\n");
        let expected: String = (0..kept).map(line).chain([counted, line(5_000)]).collect();
        assert!(text == expected, "the lines of before, each whole, their count, and the line after");
        assert!(writer.finish().is_ok());
    }

    #[test]
    fn what_waits_goes_to_the_next_file_line_by_line() {
        let (mut writer, mut reader) = on_a_pipe();
        let now = || OffsetDateTime::UNIX_EPOCH;
        // A pipe takes a part of what is more than a page.
        let long = [&[b'x'; 100_000][..], b"\n"].concat();
        writer.take(&long, now);
        writer.flush(now());
        writer.take(b"next\n", now);
        assert!(writer.is_failing() && !read(&mut reader).is_empty());
        let (next, write) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).unwrap();
        let mut next = File::from(next);
        writer.go_on_in(write.into());
        writer.flush(now());
        let counted = "{\"time\":\"1970-01-01T00:00:00Z\",\"lost\":1}\n";
        assert_eq!(read(&mut next), format!("next\n{counted}"), "the rest of a line would be no line");
    }

    #[test]
    fn a_file_that_never_has_room_is_an_error_at_the_end_and_is_spoken_of_once() {
        let mut writer = LogWriter::new(File::options().write(true).open("/dev/full").unwrap());
        let now = || OffsetDateTime::UNIX_EPOCH;
        assert_eq!(writer.take(b"line\n", now), None);
        assert!(writer.flush(now()).is_some_and(|said| said.contains("No space left")));
        assert_eq!((writer.flush(now()), writer.take(&[b'x'; 2 * BUFFER], now)), (None, None));
        assert_eq!((writer.lost, writer.waiting.len()), (1, 5), "what waits is bounded");
        assert!(writer.finish().is_err());
    }
}
