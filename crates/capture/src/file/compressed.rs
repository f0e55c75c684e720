//! Capture files are often compressed: what they begin with says how.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, BufRead, BufReader, Read};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Less than the reader of packets asks for at once: what is not compressed goes to it without a copy in between.
const BUFFER: usize = 1 << 16;

/// Decompresses a file as it is read if it is gzip (RFC 1952) or Zstandard (RFC 8878).
///
/// # Errors
/// If its beginning cannot be read.
pub fn decompressed<'a>(file: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut file = BufReader::with_capacity(BUFFER, file);
    let beginning = file.fill_buf()?;
    if beginning.starts_with(&GZIP) {
        Ok(Box::new(MultiGzDecoder::new(file)))
    } else if beginning.starts_with(&ZSTD) {
        let frames = StreamingDecoder::new(file).map_err(io::Error::other)?;
        Ok(Box::new(frames))
    } else {
        Ok(Box::new(file))
    }
}
