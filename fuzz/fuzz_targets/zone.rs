//! Whatever a client sends to a name server, it gets an answer to its own question that fits into a packet, or none.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_http::Protocol;
use loadstone_load::{Record, Zone};
use std::sync::LazyLock;

static ZONE: LazyLock<Zone> = LazyLock::new(|| {
    let mut zone = Zone::new();
    let record = Record { address: [198, 18, 0, 2].into(), alpn: vec![Protocol::H2, Protocol::Http1] };
    zone.insert("a.test", record).expect("it is a name");
    zone
});

fuzz_target!(|bytes: &[u8]| {
    let Some(answer) = ZONE.answer(bytes) else { return };
    assert_eq!(answer[..2], bytes[..2], "the answer has the query's number");
    assert!(answer.len() <= 1232, "{}", answer.len());
    assert_eq!(ZONE.answer(&answer), None, "an answer is no query");
});
