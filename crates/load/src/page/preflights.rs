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
