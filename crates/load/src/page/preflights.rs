//! Preflights (Fetch, section 4.8): a request that is not simple goes to another origin only after an `OPTIONS` request
//! has asked whether it may.

use super::file::{Need, Needed, ObjectSpec, PageFile, Why};

/// The field that makes a request a preflight.
const ASKS: &str = "access-control-request-method";

/// Lets each request that had a preflight wait for it. What the request waited for, the preflight waits for, unless that
/// was found first. Preflights have no credentials, and no load event waits for them.
pub(super) fn go_first(file: &mut PageFile) {
    for preflight in 1..file.objects.len() {
        if !is_preflight(&file.objects[preflight]) {
            continue;
        }
        file.objects[preflight].anonymous = true;
        file.objects[preflight].needed = Some(Needed::Never);
        let Some(request) = request_of(&file.objects, preflight) else { continue };
        let node = file.objects[preflight].node().to_owned();
        let wait = vec![Need { node, why: Some(Why::Preflight), ..Need::default() }];
        let needs = file.objects[request].needs.replace(wait);
        if request < preflight {
            file.objects[preflight].needs = needs;
        }
    }
}

fn is_preflight(object: &ObjectSpec) -> bool {
    let mut fields = object.request_fields.iter().flatten();
    object.method.as_deref() == Some("OPTIONS") && fields.any(|(name, _)| name.eq_ignore_ascii_case(ASKS))
}

/// The nearest request for the URL that has no preflight yet.
fn request_of(objects: &[ObjectSpec], preflight: usize) -> Option<usize> {
    let waits = |object: &ObjectSpec| object.needs.iter().flatten().any(|need| need.why == Some(Why::Preflight));
    let fits = |at: &usize| {
        let object = &objects[*at];
        object.url == objects[preflight].url && !is_preflight(object) && !waits(object)
    };
    (1..objects.len()).filter(fits).min_by_key(|at| at.abs_diff(preflight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A document, a script that asks for data twice, and these requests in their order.
    fn page(requests: &[&str]) -> PageFile {
        let fetch = json!({"url": "https://api.test/data", "bytes": 10, "method": "POST",
            "needs": [{"node": "https://a.test/s.js", "ms": 5.0}]});
        let preflight = json!({"url": "https://api.test/data", "bytes": 0, "method": "OPTIONS",
            "request_fields": [["Access-Control-Request-Method", "POST"]],
            "needs": [{"node": "https://a.test/"}]});
        let options = json!({"url": "https://api.test/data", "bytes": 0, "method": "OPTIONS",
            "needs": [{"node": "https://a.test/"}]});
        let mut objects =
            vec![json!({"url": "https://a.test/", "bytes": 10}), json!({"url": "https://a.test/s.js", "bytes": 10})];
        for (at, request) in requests.iter().enumerate() {
            let mut object = match *request {
                "fetch" => fetch.clone(),
                "preflight" => preflight.clone(),
                _ => options.clone(),
            };
            object["name"] = format!("{request} {at}").into();
            objects.push(object);
        }
        let text = serde_json::to_vec(&json!({"objects": objects})).unwrap();
        let mut file = PageFile::from_json(&text).unwrap();
        go_first(&mut file);
        file.build().expect("it is a page still");
        file
    }

    fn waits(file: &PageFile, at: usize) -> Vec<&str> {
        file.objects[at].needs.iter().flatten().map(|need| need.node.as_str()).collect()
    }

    #[test]
    fn a_request_waits_for_its_preflight_and_the_preflight_for_what_found_the_request() {
        let file = page(&["fetch", "preflight"]);
        assert_eq!((waits(&file, 2), waits(&file, 3)), (vec!["preflight 1"], vec!["https://a.test/s.js"]));
        let preflight = &file.objects[3];
        assert!(preflight.anonymous && preflight.needed == Some(Needed::Never));
        assert_eq!(preflight.needs.as_ref().unwrap()[0].ms, 5.0);
    }

    #[test]
    fn a_preflight_that_was_recorded_first_keeps_what_it_waited_for() {
        let file = page(&["preflight", "fetch"]);
        assert_eq!((waits(&file, 2), waits(&file, 3)), (vec!["https://a.test/"], vec!["preflight 0"]));
    }

    #[test]
    fn each_preflight_is_for_one_request_and_other_requests_with_options_are_none() {
        let file = page(&["fetch", "preflight", "fetch", "fetch", "preflight"]);
        assert_eq!(waits(&file, 2), ["preflight 1"]);
        assert_eq!(waits(&file, 4), ["https://a.test/s.js"], "the browser remembers the first preflight's answer");
        assert_eq!(waits(&file, 5), ["preflight 4"]);
        let file = page(&["fetch", "options"]);
        assert_eq!((waits(&file, 2), waits(&file, 3)), (vec!["https://a.test/s.js"], vec!["https://a.test/"]));
    }
}
