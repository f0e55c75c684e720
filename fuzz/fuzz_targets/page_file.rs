//! A page file is refused or built, and what is built can be dealt, counted and put together with itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadstone_load::page::{PageFile, Summary, synthetic};

fuzz_target!(|text: &[u8]| {
    if let Ok(description) = std::str::from_utf8(text) {
        let _ = synthetic::page(description);
    }
    let Ok(file) = PageFile::from_json(text) else { return };
    if let Ok(page) = file.build() {
        assert!(Summary::of(&page).depth >= 1);
        let _ = file.dealt(3).build();
        assert!(file.merged(&[&file, &file]).build().is_ok());
    }
});
