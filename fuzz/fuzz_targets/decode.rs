//! Whatever the bytes of a connection, `decode` lists frames and says why it stops; what it lists of the
//! beginning does not depend on what follows, nor on how the bytes were cut. The first byte chooses the protocol
//! and the size of HTTP/2's table, the second where the beginning ends and the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_http::Protocol;
use loadstone_http::decode::{DecodeError, Decoder, FrameLine};

fn decode<'a>(choice: u8, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<FrameLine>, Result<(), DecodeError>) {
    let protocol = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2][usize::from(choice % 4)];
    let table = (protocol == Protocol::H2 && choice & 4 != 0).then_some(u32::from(choice >> 3) * 512);
    let mut decoder = Decoder::new(protocol, table).expect("it has frames");
    let mut lines = Vec::new();
    for piece in pieces {
        let result = decoder.handle_input(piece);
        lines.extend(std::iter::from_fn(|| decoder.poll_line()));
        if result.is_err() {
            break;
        }
    }
    (lines, decoder.handle_close())
}

fuzz_target!(|input: &[u8]| {
    let [choice, cut, text @ ..] = input else { return };
    let whole = decode(*choice, [text]);
    assert_eq!(decode(*choice, text.chunks(usize::from(*cut % 32) + 1)), whole);
    let (some, _) = decode(*choice, [&text[..text.len().min(usize::from(*cut))]]);
    assert_eq!(some, whole.0[..some.len()]);
});
