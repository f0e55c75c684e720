//! Pages: from bytes to the JSON of a page file, and what a page is in numbers.

use crate::error::Failure;
use loadstone_load::page::{PageFile, Secrets, Summary, har, synthetic};
use pyo3::prelude::*;
use serde::Serialize;

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("pages have only keys that are text")
}

/// Reads a HAR. `page` counts from 1 and picks a page of the file; without it, the first that can
/// be used. Secrets are replaced unless they are to be kept. Gives `{"page": PAGE FILE, "notes": NOTES}` as JSON.
#[pyfunction]
#[pyo3(signature = (data, page=None, *, keep_secrets=false))]
pub(crate) fn read_har(py: Python<'_>, data: &[u8], page: Option<usize>, keep_secrets: bool) -> PyResult<String> {
    #[derive(Serialize)]
    struct Reading {
        page: PageFile,
        notes: har::Notes,
    }
    let text = py.detach(|| {
        let secrets = if keep_secrets { Secrets::Kept } else { Secrets::Replaced };
        let har = har::read(data, page, secrets)?;
        har.file.build()?;
        Ok::<_, Failure>(json(&Reading { page: har.file, notes: har.notes }))
    })?;
    Ok(text)
}

/// Reads a page file and checks it. Gives it back as JSON.
#[pyfunction]
pub(crate) fn read_page_file(py: Python<'_>, data: &[u8]) -> PyResult<String> {
    let text = py.detach(|| checked(&PageFile::from_json(data)?))?;
    Ok(text)
}

/// Makes the page that `description` describes: what stands after `synthetic:`. As JSON.
#[pyfunction]
pub(crate) fn synthetic_page(description: &str) -> PyResult<String> {
    let file = synthetic::page(description).map_err(Failure::from)?;
    Ok(checked(&file)?)
}

/// What the page of this page file is, in numbers, as JSON.
#[pyfunction]
pub(crate) fn page_summary(py: Python<'_>, page: &str) -> PyResult<String> {
    let text = py.detach(|| {
        let page = PageFile::from_json(page.as_bytes())?.build()?;
        Ok::<_, Failure>(json(&Summary::of(&page)))
    })?;
    Ok(text)
}

fn checked(file: &PageFile) -> Result<String, Failure> {
    file.build()?;
    Ok(json(file))
}
