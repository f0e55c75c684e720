use super::*;
use crate::page::PaintSource;

const FROM_ROOT: &str = r#""_initiator": {"type": "parser", "url": "https://example.test/"}"#;
const PAGE: &str =
    r#"{"id": "p", "startedDateTime": "2024-05-01T10:00:00.000Z", "pageTimings": {"onLoad": 900 TIMINGS} PAGE}"#;

/// A document with a style sheet, a script that does not block, and three images; `rest` goes into the entries.
fn page(timings: &str, page: &str, rest: [&str; 3]) -> Har {
    let entry = |name: &str, at, receive, mime, more: &str| {
        let url = format!("{ROOT}{name}");
        let cause = if name.is_empty() { String::new() } else { format!("{FROM_ROOT}, ") };
        entry(&url, at, receive, mime, &format!(r#"{cause}"pageref": "p"{more}"#))
    };
    let sized = |entry: String, bytes: u32| entry.replace("1000", &bytes.to_string());
    let entries = [
        entry("", 0, 20, "text/html", ""),
        entry("a.css", 40, 10, "text/css", rest[0]),
        entry("late.js", 40, 10, "text/javascript", r#", "_priority": "Low""#),
        sized(entry("logo.png", 50, 40, "image/png", rest[1]), 6000),
        sized(entry("hero.jpg", 60, 200, "image/jpeg", rest[2]), 9000),
        sized(entry("below.jpg", 70, 500, "image/jpeg", ""), 30_000),
    ];
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let record = PAGE.replace("TIMINGS", timings).replace("PAGE", page);
    read(document(&record, &entries).as_bytes(), None).unwrap()
}

fn largest(har: &Har) -> (&str, PaintSource, usize) {
    let lcp = &har.notes.paints.as_ref().unwrap().lcp;
    (lcp.objects.last().unwrap().trim_start_matches(ROOT), lcp.source, lcp.rivals)
}

fn first(har: &Har) -> (Vec<&str>, PaintSource) {
    let fcp = &har.notes.paints.as_ref().unwrap().fcp;
    (fcp.objects.iter().map(|name| name.trim_start_matches(ROOT)).collect(), fcp.source)
}

#[test]
fn the_recording_s_mark_is_the_largest_paint_whatever_is_larger() {
    let har = page("", "", ["", r#", "_isLCP": true"#, ""]);
    assert_eq!(largest(&har), ("logo.png", PaintSource::Named, 0));
    let har = page("", r#", "_LargestContentfulPaintImageURL": "https://example.test/hero.jpg""#, [""; 3]);
    assert_eq!(largest(&har), ("hero.jpg", PaintSource::Named, 0));
}

#[test]
fn with_a_moment_it_is_the_largest_image_that_was_in_by_then() {
    let har = page(r#", "_firstContentfulPaint": 80, "_largestContentfulPaint": 400"#, "", [""; 3]);
    assert_eq!(largest(&har), ("hero.jpg", PaintSource::Moment, 1));
    assert_eq!(har.notes.paints.as_ref().unwrap().lcp_ms, Some(400.0));
    let har = page("", r#", "_chromeUserTiming.LargestContentfulPaint": 120"#, [""; 3]);
    assert_eq!(largest(&har), ("logo.png", PaintSource::Moment, 0));
}

#[test]
fn a_largest_paint_at_the_moment_of_the_first_is_text() {
    let har = page(r#", "_firstContentfulPaint": 400, "_largestContentfulPaint": 400"#, "", [""; 3]);
    assert_eq!(largest(&har), ("a.css", PaintSource::Moment, 0));
}

#[test]
fn without_any_word_it_is_the_largest_image_of_the_document() {
    assert_eq!(largest(&page("", "", [""; 3])), ("below.jpg", PaintSource::Rule, 0));
}

#[test]
fn style_sheets_block_the_first_paint_unless_they_came_later_or_are_said_not_to() {
    assert_eq!(first(&page("", "", [""; 3])), (vec!["", "a.css"], PaintSource::Rule));
    let later = page(r#", "_firstContentfulPaint": 45"#, "", [""; 3]);
    assert_eq!(first(&later), (vec![""], PaintSource::Moment));
    let marked = page("", "", [r#", "_renderBlocking": "non_blocking""#, "", r#", "_renderBlocking": "blocking""#]);
    assert_eq!(first(&marked), (vec!["", "hero.jpg"], PaintSource::Named));
}
