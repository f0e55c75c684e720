//! Files that come compressed by Zstandard (RFC 8878): HARs, most of all.

use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use std::io::Read;

/// Why a text cannot be decompressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ZstdError {
    /// It ends in the middle.
    #[error("the zstd file is cut short: copy or export it again")]
    CutShort,
    /// It is none, or a checksum is wrong.
    #[error("the zstd file is damaged: copy or export it again")]
    Damaged,
}

/// Decompresses all frames of `data`, one after the other, until there is more than `limit` bytes of text.
///
/// # Errors
/// If `data` is cut short or damaged.
pub fn decompress(mut data: &[u8], limit: usize) -> Result<Vec<u8>, ZstdError> {
    let mut text = Vec::new();
    while !data.is_empty() && text.len() <= limit {
        let mut frame = match StreamingDecoder::new(&mut data) {
            Ok(frame) => frame,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                data = data.get(length as usize..).ok_or(ZstdError::CutShort)?;
                continue;
            }
            Err(_) => return Err(fault(data)),
        };
        let room = (limit - text.len()) as u64 + 1;
        let read = frame.by_ref().take(room).read_to_end(&mut text);
        let (_, decoder) = frame.into_parts();
        if read.is_err() {
            return Err(fault(data));
        }
        let stated = decoder.get_checksum_from_data();
        // Of a frame that was read to its end.
        if text.len() <= limit && stated.is_some() && stated != decoder.get_calculated_checksum() {
            return Err(ZstdError::Damaged);
        }
    }
    Ok(text)
}

/// What is wrong where a decoder has stopped before this.
fn fault(rest: &[u8]) -> ZstdError {
    if rest.is_empty() { ZstdError::CutShort } else { ZstdError::Damaged }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// Two frames, and one between them that is to be skipped.
    fn frames() -> (Vec<u8>, Vec<u8>) {
        let text: Vec<u8> = (0..50_000_u32).flat_map(|at| (at / 7).to_le_bytes()).collect();
        let (one, other) = text.split_at(70_000);
        let [one, other] = [one, other].map(|part| compress_to_vec(part, CompressionLevel::Fastest));
        let skipped = [&0x184d_2a50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        ([one, skipped, other].concat(), text)
    }

    #[test]
    fn frames_are_one_text_and_what_is_to_be_skipped_is() {
        let (data, text) = frames();
        assert_eq!(decompress(&data, text.len()), Ok(text));
    }

    #[test]
    fn no_more_than_a_byte_beyond_the_limit_is_made() {
        let (data, text) = frames();
        for limit in [0, 1_000, 70_000, 100_000] {
            assert_eq!(decompress(&data, limit).unwrap(), text[..=limit]);
        }
    }

    #[test]
    fn what_is_cut_is_cut_short_and_what_is_changed_damaged() {
        let (data, text) = frames();
        for end in [1, 5, 20, data.len() / 2, data.len() - 1] {
            assert_eq!(decompress(&data[..end], text.len()), Err(ZstdError::CutShort), "{end} of {}", data.len());
        }
        assert_eq!(decompress(b"no zstd at all", 100), Err(ZstdError::Damaged));
        let mut changed = data;
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(decompress(&changed, text.len()), Err(ZstdError::Damaged), "the checksum");
    }
}
