//! What a browser asks a known server for when it starts, to find out whether pipelines come through (`yahoo` 4.3).

use super::file::{Needed, ObjectSpec, PageFile};

/// The name of that server.
pub const PROBED_HOST: &str = "pipelining.test";
/// How many bytes each answer has: all differ, so that one in another's place is seen.
const ANSWERS: [u64; 3] = [100, 200, 300];

impl PageFile {
    /// The same page, loaded while the browser asks [`PROBED_HOST`] for what tells.
    #[must_use]
    pub fn probing_pipelining(mut self) -> PageFile {
        self.objects.extend(ANSWERS.map(|bytes| ObjectSpec {
            url: format!("http://{PROBED_HOST}/{bytes}"),
            bytes,
            kind: Some("probe".to_owned()),
            needs: Some(Vec::new()),
            needed: Some(Needed::Never),
            ..ObjectSpec::default()
        }));
        self
    }
}
