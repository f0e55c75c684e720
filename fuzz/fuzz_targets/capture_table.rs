//! A table of packets is refused or read, and is alike to itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_scenario::{CaptureComparison, CaptureTable};

fuzz_target!(|text: &[u8]| {
    let Ok(table) = CaptureTable::read(text) else { return };
    assert!(CaptureComparison::new(&table, &table, 0.0, 3).is_alike());
    let first_half = CaptureTable::read(&text[..text.len() / 2]);
    if let Ok(half) = first_half {
        let _ = serde_json::to_string(&CaptureComparison::new(&table, &half, 1.0, 2)).unwrap();
    }
});
