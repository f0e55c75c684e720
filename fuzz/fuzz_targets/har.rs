//! Whatever a HAR file holds, reading it gives an error or a page that can be built.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_load::page::{Secrets, Summary, har};

fuzz_target!(|text: &[u8]| {
    if let Ok(har) = har::read(text, None, Secrets::Replaced) {
        let page = har.file.build().expect("a page from a HAR file can be built");
        assert_eq!(page.objects + har.notes.skipped_total(), har.notes.entries);
        assert!(Summary::of(&page).depth >= 1);
    }
});
