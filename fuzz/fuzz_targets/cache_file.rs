//! Whatever stands in a file of a cache's folder, it is read or refused.

#![no_main]

use bytes::Bytes;
use flate2::Crc;
use libfuzzer_sys::fuzz_target;
use loadstone_load::CacheFile;

fuzz_target!(|bytes: &[u8]| {
    let _ = CacheFile::read(&Bytes::copy_from_slice(bytes));
    // Nearly no input has its form and its sum. With them comes what is behind these.
    let mut file = [CacheFile::FORM, bytes].concat();
    let key = CacheFile::key(&file);
    let mut sum = Crc::new();
    sum.update(&file);
    file.extend(sum.sum().to_le_bytes());
    assert!(CacheFile::read(&file.into()).is_none() || key.is_some(), "a file that is whole has a key");
});
