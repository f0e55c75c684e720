//! The examples of RFC 7541, appendix C, and one end against the other.

use super::table::Table;
use super::{Decoder, Encoder};
use crate::PeerFault;
use bytes::Bytes;
use proptest::prelude::*;

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn owned(fields: &[(&'static str, &'static str)]) -> Vec<(Bytes, Bytes)> {
    fields
        .iter()
        .map(|(name, value)| (Bytes::from_static(name.as_bytes()), Bytes::from_static(value.as_bytes())))
        .collect()
}

type List = &'static [(&'static str, &'static str)];

const REQUESTS: [List; 3] = [
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")],
    &[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "www.example.com"),
        ("cache-control", "no-cache"),
    ],
    &[
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/index.html"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
    ],
];

#[test]
fn requests_with_huffman_coding_rfc7541_c_4() {
    let blocks = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
    for ((fields, block), table) in REQUESTS.iter().zip(blocks).zip([57, 110, 164]) {
        let mut out = Vec::new();
        fields.iter().for_each(|(name, value)| encoder.encode(name.as_bytes(), value.as_bytes(), &mut out));
        assert_eq!(out, unhex(block));
        assert_eq!(decoder.decode(&out), Ok(owned(fields)));
        assert_eq!(decoder.table().bytes(), table);
    }
}

#[test]
fn requests_without_huffman_coding_rfc7541_c_3() {
    let blocks = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let mut decoder = Decoder::new();
    for (fields, block) in REQUESTS.iter().zip(blocks) {
        assert_eq!(decoder.decode(&unhex(block)), Ok(owned(fields)));
    }
}

#[test]
fn responses_that_evict_entries_rfc7541_c_6() {
    const DATE: &str = "Mon, 21 Oct 2013 20:13:21 GMT";
    const LATER: &str = "Mon, 21 Oct 2013 20:13:22 GMT";
    const LOCATION: (&str, &str) = ("location", "https://www.example.com");
    let steps: [(&str, List, usize); 3] = [
        (
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718
             63c7 8f0b 97c8 e9ae 82ae 43d3",
            &[(":status", "302"), ("cache-control", "private"), ("date", DATE), LOCATION],
            222,
        ),
        ("4883 640e ffc1 c0bf", &[(":status", "307"), ("cache-control", "private"), ("date", DATE), LOCATION], 222),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7
             b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
            &[
                (":status", "200"),
                ("cache-control", "private"),
                ("date", LATER),
                LOCATION,
                ("content-encoding", "gzip"),
                ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
            ],
            215,
        ),
    ];
    let mut decoder = Decoder::new();
    // The examples' table has 256 bytes, as a block says at its beginning.
    assert_eq!(decoder.decode(&unhex("3fe1 01")), Ok(Vec::new()));
    for (block, fields, table) in steps {
        assert_eq!(decoder.decode(&unhex(block)), Ok(owned(fields)));
        assert_eq!(decoder.table().bytes(), table);
    }
}

#[test]
fn what_breaks_the_compression_is_an_error() {
    let cases = [
        ("80", "index 0 (section 6.1)"),
        ("be", "an index beyond the tables (section 2.3.3)"),
        ("82 3f e1 01", "a size within a block (section 4.2)"),
        ("3f e2 1f", "a size of 4,097 (section 6.3)"),
        ("40 0a 63", "a string that is cut short"),
        ("41", "a literal without its value"),
    ];
    for (block, why) in cases {
        assert_eq!(Decoder::new().decode(&unhex(block)), Err(PeerFault::Compression), "{why}");
    }
}

#[test]
fn an_entry_larger_than_the_table_empties_it_rfc7541_4_4() {
    let mut table = Table::new(100);
    table.add((Bytes::from_static(b"a"), Bytes::from_static(b"b")));
    assert_eq!(table.bytes(), 34);
    table.add((Bytes::from_static(b"name"), Bytes::from(vec![b'v'; 65])));
    assert_eq!((table.bytes(), table.get(62)), (0, None));
}

proptest! {
    #[test]
    fn what_one_end_compresses_the_other_reads(
        lists in prop::collection::vec(
            prop::collection::vec(("[a-c:]{1,3}", "[ -~]{0,40}"), 0..12), 1..30),
        limits in prop::collection::vec(prop::collection::vec(0_u32..8192, 0..3), 30),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        for (list, limits) in lists.iter().zip(limits) {
            limits.into_iter().for_each(|limit| encoder.set_limit(limit));
            let mut block = Vec::new();
            encoder.begin(&mut block);
            list.iter().for_each(|(name, value)| encoder.encode(name.as_bytes(), value.as_bytes(), &mut block));
            let fields = decoder.decode(&block).unwrap();
            let fields: Vec<(&[u8], &[u8])> = fields.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            let list: Vec<(&[u8], &[u8])> = list.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
            prop_assert_eq!(fields, list);
        }
    }

    #[test]
    fn no_input_breaks_the_decoder(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..6)) {
        let mut decoder = Decoder::new();
        for block in blocks {
            let _any = decoder.decode(&block);
            prop_assert!(decoder.table().bytes() <= 4096);
        }
    }
}
