//! Whatever the bytes of a connection, `decode` lists frames and says why it stops; what it lists of the
//! beginning does not depend on what follows.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use loadstone_http::Protocol;
use loadstone_http::decode::decode;

fuzz_target!(|input: &[u8]| {
    let [choice, cut, text @ ..] = input else { return };
    let protocol = [Protocol::Spdy2, Protocol::Spdy3, Protocol::Spdy31, Protocol::H2][usize::from(*choice % 4)];
    let text = Bytes::copy_from_slice(text);
    let (all, _) = decode(protocol, &text);
    let (some, _) = decode(protocol, &text.slice(..text.len().min(usize::from(*cut))));
    // A preface that is cut off is taken for a frame.
    assert!(some.len() <= all.len() + 1);
    if protocol != Protocol::H2 {
        assert_eq!(some, all[..some.len()]);
    }
});
