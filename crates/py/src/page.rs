//! Pages: from bytes to an object that scenarios share.

use crate::error::Failure;
use loadstone_load::page::{
    Change, Methods, PageFile, Priorities, Replayed, Secrets, Summary, har, recording, registrable_domain, synthetic,
    zstd,
};
use loadstone_scenario::SharedPage;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("pages have only keys that are text")
}

/// Decompresses Zstandard, until there is more than `limit` bytes of text.
#[pyfunction]
pub(crate) fn unzstd<'py>(py: Python<'py>, data: &[u8], limit: usize) -> PyResult<Bound<'py, PyBytes>> {
    let text = py.detach(|| zstd::decompress(data, limit)).map_err(Failure::from)?;
    Ok(PyBytes::new(py, &text))
}

/// Whose a host is: the domain that was registered, by the Public Suffix List.
#[pyfunction]
pub(crate) fn domain_of(host: &str) -> &str {
    registrable_domain(host)
}

/// A page that can be loaded: read and checked once.
#[pyclass(frozen, module = "loadstone._native")]
pub(crate) struct Page {
    pub(crate) page: SharedPage,
    /// What the import of a HAR says about it, as JSON; `{}` for other pages.
    #[pyo3(get)]
    notes_json: String,
}

impl Page {
    fn of(file: PageFile, notes_json: String) -> Result<Page, Failure> {
        let page = SharedPage::from(file);
        page.page()?;
        Ok(Page { page, notes_json })
    }
}

#[pymethods]
impl Page {
    /// Reads a page file.
    #[new]
    #[pyo3(signature = (data, notes_json = "{}".to_owned()))]
    fn new(py: Python<'_>, data: &[u8], notes_json: String) -> PyResult<Page> {
        Ok(py.detach(|| Page::of(PageFile::from_json(data)?, notes_json))?)
    }

    /// Reads a HAR. `page` counts from 1 and picks a page of the file; without it, the first that can
    /// be used. Secrets are replaced unless they are to be kept.
    #[staticmethod]
    #[pyo3(signature = (data, page=None, *, keep_secrets=false))]
    fn from_har(py: Python<'_>, data: &[u8], page: Option<usize>, keep_secrets: bool) -> PyResult<Page> {
        let read = py.detach(|| {
            let secrets = if keep_secrets { Secrets::Kept } else { Secrets::Replaced };
            let har = har::read(data, page, secrets)?;
            Page::of(har.file, json(&har.notes))
        });
        Ok(read?)
    }

    /// Makes a page with its graph of a HAR, of its page number `page`, and of the trace of that load. `texts` are those of
    /// documents, style sheets and scripts, by the numbers of their requests.
    #[staticmethod]
    #[pyo3(signature = (har, trace, texts, page=None, *, keep_secrets=false))]
    fn from_recording(
        py: Python<'_>,
        har: &[u8],
        trace: &[u8],
        texts: BTreeMap<String, Vec<u8>>,
        page: Option<usize>,
        keep_secrets: bool,
    ) -> PyResult<Page> {
        let read = py.detach(|| {
            let secrets = if keep_secrets { Secrets::Kept } else { Secrets::Replaced };
            let read = recording::read(har, page, trace, &texts, secrets)?;
            Page::of(read.file, json(&read.notes))
        });
        Ok(read?)
    }

    /// This load of a page put together with other loads of it, in any order.
    fn merged(&self, py: Python<'_>, others: Vec<PyRef<'_, Page>>) -> PyResult<Page> {
        let files: Vec<SharedPage> = others.iter().map(|other| other.page.clone()).collect();
        let merged = || {
            let others: Vec<&PageFile> = files.iter().map(|file| &**file).collect();
            Page::of(self.page.merged(&others), self.notes_json.clone())
        };
        Ok(py.detach(merged)?)
    }

    /// Makes the page that `description` describes: what stands after `synthetic:`.
    #[staticmethod]
    fn synthetic(description: &str) -> PyResult<Page> {
        let file = synthetic::page(description).map_err(Failure::from)?;
        Ok(Page::of(file, "{}".to_owned())?)
    }

    /// The same page with hosts at distances of their own: what their round trips take, in ms.
    fn at_distances(&self, py: Python<'_>, round_trips_ms: BTreeMap<String, f64>) -> PyResult<Page> {
        let file = PageFile::clone(&self.page);
        Ok(py.detach(|| Page::of(file.at_distances(&round_trips_ms), self.notes_json.clone()))?)
    }

    /// The same page with its objects at these places changed (`Change`); `None` if that is the same page.
    fn changed(&self, py: Python<'_>, change: &str, places: BTreeSet<usize>) -> PyResult<Option<Page>> {
        let change: Change = change.parse().map_err(Failure::from)?;
        let changed = || {
            let changed = self.page.changed(change, &places);
            (changed != *self.page).then(|| Page::of(changed, self.notes_json.clone())).transpose()
        };
        Ok(py.detach(changed)?)
    }

    /// The same page as servers may be asked for it, and what was left out of it: requests that may change something,
    /// unless there are `all_methods`. Secrets that have been replaced are not sent.
    #[pyo3(signature = (*, all_methods=false, keep_secrets=false))]
    fn replayed(&self, py: Python<'_>, all_methods: bool, keep_secrets: bool) -> PyResult<(Page, Vec<String>)> {
        let methods = if all_methods { Methods::Any } else { Methods::Safe };
        let secrets = if keep_secrets { Secrets::Kept } else { Secrets::Replaced };
        let replayed = py.detach(|| {
            let Replayed { page, left_out } = self.page.replayed(methods, secrets)?;
            Ok::<_, Failure>((Page::of(page, self.notes_json.clone())?, left_out))
        });
        Ok(replayed?)
    }

    /// The same page, loaded as soon as these objects and the root are in.
    fn until(&self, py: Python<'_>, names: BTreeSet<String>) -> PyResult<Page> {
        Ok(py.detach(|| Page::of(self.page.until(&names), self.notes_json.clone()))?)
    }

    /// What the first and the largest contentful paint need by rule, as JSON.
    fn paints_json(&self, py: Python<'_>) -> (String, String) {
        py.detach(|| (json(&self.page.first_paint()), json(&self.page.largest_paint())))
    }

    /// Name and host of each object, in the page's order.
    fn names_and_hosts(&self) -> Vec<(&str, String)> {
        self.page.names_and_hosts().collect()
    }

    /// The same page on a network whose round trip is shorter by `ms`, which is of use to these hosts alone.
    fn nearer(&self, py: Python<'_>, hosts: BTreeSet<String>, ms: f64) -> PyResult<Page> {
        Ok(py.detach(|| Page::of(self.page.nearer(&hosts, ms), self.notes_json.clone()))?)
    }

    /// The same page at a visit so many seconds after one to `before`, with what the browser has kept of that.
    fn visited_after(&self, py: Python<'_>, before: &Page, seconds: u32) -> PyResult<Page> {
        let after = Duration::from_secs(seconds.into());
        Ok(py.detach(|| Page::of(self.page.visited_after(&before.page, after)?, self.notes_json.clone()))?)
    }

    /// The same page with its objects as urgent as a policy has it (`none`, `kind`, `dependencies`).
    fn prioritised(&self, py: Python<'_>, priorities: &str) -> PyResult<Page> {
        let priorities: Priorities = serde_json::from_value(priorities.into()).map_err(Failure::from)?;
        let made = || Ok::<_, Failure>(self.page.prioritised(priorities, self.page.page()?));
        Ok(py.detach(|| Page::of(made()?, self.notes_json.clone()))?)
    }

    /// The page file, as JSON.
    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| json(&self.page))
    }

    /// What it is, in numbers, as JSON.
    fn summary_json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| Ok::<_, Failure>(json(&Summary::of(self.page.page()?))))?)
    }

    /// For pickle: what [`Page::new`] takes.
    fn __getnewargs__(&self, py: Python<'_>) -> (Vec<u8>, String) {
        (self.to_json(py).into_bytes(), self.notes_json.clone())
    }
}
