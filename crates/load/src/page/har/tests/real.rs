//! Real files, from the folder next to the repository that no release contains.

use super::*;
use crate::page::Summary;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

fn har_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            har_files(&path, found);
        } else if name.ends_with(".har") || name.ends_with(".har.gz") {
            found.push(path);
        }
    }
}

fn contents(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let raw = std::fs::read(path).unwrap();
    if path.extension().is_none_or(|ending| ending != "gz") {
        return raw;
    }
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&raw[..]).read_to_end(&mut text).unwrap();
    text
}

/// Each page of the file: its entries, counted without the reader under test.
fn entries_of(text: &[u8], page: usize) -> usize {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let json: serde_json::Value = serde_json::from_slice(text).unwrap();
    let id = &json["log"]["pages"][page - 1]["id"];
    json["log"]["entries"].as_array().unwrap().iter().filter(|entry| entry["pageref"] == *id).count()
}

#[test]
fn every_entry_of_real_files_is_an_object_or_counted_as_none() {
    let folder = Path::new(FOLDER);
    if !folder.is_dir() {
        eprintln!("SKIPPED: there is no {FOLDER}");
        return;
    }
    let mut files = Vec::new();
    har_files(folder, &mut files);
    files.sort();
    let mut refused = Vec::new();
    for path in &files {
        let text = contents(path);
        let name = path.strip_prefix(folder).unwrap().display();
        let begun = text.len();
        let har = match read(&text, None) {
            Ok(har) => har,
            Err(error) => {
                refused.push(format!("{name}: {error}"));
                continue;
            }
        };
        let pages = har.notes.pages;
        for har in std::iter::once(har).chain((2..=pages).filter_map(|page| read(&text, Some(page)).ok())) {
            let built = har.file.build().unwrap_or_else(|error| panic!("{name}: {error}"));
            let summary = Summary::of(&built);
            let notes = &har.notes;
            println!(
                "{name} ({begun} B) page {}/{}: {} objects, {} needed, {} hosts, {} bytes, depth {}, skipped {:?}",
                notes.page,
                notes.pages,
                built.objects,
                summary.needed_objects,
                summary.hosts,
                summary.bytes,
                summary.depth,
                notes.skipped
            );
            assert_eq!(built.objects + notes.skipped_total(), entries_of(&text, notes.page), "{name}");
            let nodes: BTreeSet<&str> = har.file.objects.iter().map(ObjectSpec::node).collect();
            assert_eq!(nodes.len(), built.objects, "{name}");
        }
    }
    assert!(refused.len() * 10 <= files.len(), "{refused:#?}");
}
