//! What servers of a page say to a client that has a response already: 304, in the simulator and on sockets.

use loadstone_http::{Fields, RequestHead, ResponseHead};

/// The fields of requests that are read for it.
pub const CONDITIONS: [&[u8]; 2] = [b"if-none-match", b"if-modified-since"];

/// Fields that a 304 has of the response in whose place it comes (RFC 9110, section 15.4.5).
const OF_NOT_MODIFIED: [&[u8]; 7] =
    [b"cache-control", b"content-location", b"date", b"etag", b"expires", b"last-modified", b"vary"];

/// Whether a condition of a request says that what the client has is this response (RFC 9110, section 13.2.2): by its entity
/// tag, or else by when it was changed.
pub fn is_unchanged(request: &RequestHead, response: &ResponseHead) -> bool {
    let is_equal = |condition: &[u8], validator: &[u8]| {
        let (asked, own) = (request.fields.get(condition), response.fields.get(validator));
        asked.zip(own).is_some_and(|(asked, own)| asked == own)
    };
    let is_read = matches!(&request.method[..], b"GET" | b"HEAD") && response.status == 200;
    let [by_tag, by_date] = CONDITIONS;
    let has_tag = request.fields.get(by_tag).is_some();
    let (condition, validator) = if has_tag { (by_tag, &b"etag"[..]) } else { (by_date, &b"last-modified"[..]) };
    is_read && is_equal(condition, validator)
}

/// The head that says so, in the place of the response's own.
pub fn not_modified(response: &ResponseHead) -> ResponseHead {
    let is_kept = |name: &[u8]| OF_NOT_MODIFIED.iter().any(|own| name.eq_ignore_ascii_case(own));
    ResponseHead::new(304, Fields::from_pairs(response.fields.iter().filter(|(name, _)| is_kept(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16) -> ResponseHead {
        let fields =
            [("etag", "\"1\""), ("Last-Modified", "Mon, 02 Mar 2026 10:15:00 GMT"), ("content-type", "text/css")];
        ResponseHead::new(status, Fields::from_pairs(fields))
    }

    #[test]
    fn what_the_client_has_is_known_by_its_tag_or_else_by_its_date_rfc9110_13_2_2() {
        let asked = |method: &'static str, fields: &[(&str, &str)]| {
            let fields = Fields::from_pairs(fields.iter().copied());
            is_unchanged(&RequestHead::new(method.into(), "a.test".into(), "/".into(), fields), &response(200))
        };
        let (tag, date) = ("if-none-match", "if-modified-since");
        let same_date = (date, "Mon, 02 Mar 2026 10:15:00 GMT");
        assert!(asked("GET", &[(tag, "\"1\"")]) && asked("HEAD", &[same_date]));
        assert!(!asked("GET", &[]) && !asked("POST", &[(tag, "\"1\"")]));
        assert!(!asked("GET", &[(tag, "\"2\""), same_date]), "the tag comes first");
        assert!(!asked("GET", &[(date, "Mon, 02 Mar 2026 10:15:01 GMT")]));
        let request = RequestHead::new("GET".into(), "a.test".into(), "/".into(), Fields::from_pairs([(tag, "\"1\"")]));
        assert!(!is_unchanged(&request, &response(304)), "what was recorded is a 304 already");
    }

    #[test]
    fn what_is_not_modified_keeps_validators_and_says_nothing_of_content_rfc9110_15_4_5() {
        let head = not_modified(&response(200));
        let names: Vec<&[u8]> = head.fields.iter().map(|(name, _)| name).collect();
        assert_eq!((head.status, names), (304, vec![&b"etag"[..], b"Last-Modified"]));
    }
}
