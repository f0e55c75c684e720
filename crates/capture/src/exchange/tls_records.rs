//! How many bytes of application data are in what one end sends over TLS, by the headers of records (RFC 8446,
//! section 5.1).

const HEADER: usize = 5;
const CHANGE_CIPHER_SPEC: u8 = 20;
const APPLICATION_DATA: u8 = 23;
/// A record is no longer: 2^14 bytes, and what encryption adds (RFC 5246, section 6.2.3).
const LONGEST: u16 = (1 << 14) + 2048;
/// Bytes of a record in which no request can be: a frame of HTTP/2 without content or with eight bytes, such as SETTINGS
/// with ACK, WINDOW_UPDATE or PING, encrypted. The shortest request of HTTP/1.1 is longer.
const CONTROL: u16 = 42;
/// Bytes of a record with the Finished of TLS 1.3, by the two hashes that are in use (RFC 8446, section 4.4.4).
const FINISHED: [u16; 2] = [53, 69];

/// Follows the records of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsRecords {
    /// The header of the next record, as far as it came.
    header: [u8; HEADER],
    header_len: u8,
    /// Bytes of the current record that are still to come.
    remaining: u64,
    kind: u8,
    counts: bool,
    /// Not known where the next record begins: something of a header was not captured.
    is_lost: bool,
    /// A record of application data began.
    had_data: bool,
}

impl TlsRecords {
    /// Whether bytes look like the header of a record.
    pub(crate) fn is_header(bytes: &[u8]) -> bool {
        let Some(header) = bytes.first_chunk::<HEADER>() else { return false };
        let len = u16::from_be_bytes([header[3], header[4]]);
        (CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&header[0])
            && header[1] == 3
            && header[2] <= 4
            && (1..=LONGEST).contains(&len)
    }

    /// Those of a direction that has sent data, where it is not known where the next record begins.
    pub(crate) fn lost() -> TlsRecords {
        TlsRecords { is_lost: true, had_data: true, ..TlsRecords::default() }
    }

    /// Whether application data was sent.
    pub(crate) fn had_data(&self) -> bool {
        self.had_data
    }

    /// Bytes came, of which the first ones were captured: how many of them are application data. `in_handshake` says that the
    /// first record may be the Finished of TLS 1.3, which looks like data.
    pub(crate) fn handle(&mut self, captured: &[u8], len: u64, skipped: u64, in_handshake: bool) -> u64 {
        let mut data = self.skip(skipped);
        if self.is_lost {
            if !TlsRecords::is_header(captured) {
                return data + if len > u64::from(CONTROL) { len } else { 0 };
            }
            (self.is_lost, self.remaining, self.header_len) = (false, 0, 0);
        }
        let mut at = 0;
        while at < len {
            if self.remaining > 0 {
                let taken = self.remaining.min(len - at);
                data += self.take(taken);
                at += taken;
                continue;
            }
            let Some(byte) = usize::try_from(at).ok().and_then(|at| captured.get(at)) else {
                self.is_lost = true;
                return data;
            };
            self.header[usize::from(self.header_len)] = *byte;
            self.header_len += 1;
            at += 1;
            if usize::from(self.header_len) == HEADER {
                self.begin(in_handshake);
            }
        }
        data
    }

    /// Bytes that the capture has not.
    fn skip(&mut self, skipped: u64) -> u64 {
        if skipped <= self.remaining {
            return self.take(skipped);
        }
        let rest = self.take(self.remaining);
        self.is_lost = true;
        rest
    }

    fn take(&mut self, bytes: u64) -> u64 {
        self.remaining -= bytes;
        if self.counts { bytes } else { 0 }
    }

    fn begin(&mut self, in_handshake: bool) {
        self.header_len = 0;
        if !TlsRecords::is_header(&self.header) {
            self.is_lost = true;
            return;
        }
        let len = u16::from_be_bytes([self.header[3], self.header[4]]);
        (self.kind, self.remaining) = (self.header[0], len.into());
        let is_data = self.kind == APPLICATION_DATA;
        let is_finished = in_handshake && !self.had_data && FINISHED.contains(&len);
        self.counts = is_data && len > CONTROL && !is_finished;
        self.had_data |= is_data;
    }
}
