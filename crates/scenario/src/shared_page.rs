//! A page that any number of scenarios share: read once, checked once.

use loadstone_load::Graph;
use loadstone_load::page::{Page, PageError, PageFile};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A page as it is written down, and, once a run has asked for it, as it is loaded.
#[derive(Clone, Debug, Default)]
pub struct SharedPage(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    file: PageFile,
    loadable: OnceLock<Result<LoadablePage, PageError>>,
}

/// A page that has been checked, with its graph.
#[derive(Clone, Debug)]
pub(crate) struct LoadablePage {
    pub(crate) page: Arc<Page>,
    pub(crate) graph: Arc<Graph>,
}

impl LoadablePage {
    pub(crate) fn of(page: Page) -> LoadablePage {
        LoadablePage { graph: Arc::new(Graph::new(&page)), page: Arc::new(page) }
    }
}

impl SharedPage {
    /// The page, checked.
    ///
    /// # Errors
    /// If it breaks a rule of [`Page`].
    pub fn page(&self) -> Result<&Arc<Page>, PageError> {
        self.loadable().map(|loadable| &loadable.page)
    }

    pub(crate) fn loadable(&self) -> Result<&LoadablePage, PageError> {
        self.0.loadable.get_or_init(|| self.0.file.build().map(LoadablePage::of)).as_ref().map_err(Clone::clone)
    }
}

impl Deref for SharedPage {
    type Target = PageFile;

    fn deref(&self) -> &PageFile {
        &self.0.file
    }
}

impl From<PageFile> for SharedPage {
    fn from(file: PageFile) -> SharedPage {
        SharedPage(Arc::new(Shared { file, loadable: OnceLock::new() }))
    }
}

impl PartialEq for SharedPage {
    fn eq(&self, other: &SharedPage) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.file == other.0.file
    }
}

impl JsonSchema for SharedPage {
    fn schema_name() -> Cow<'static, str> {
        PageFile::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PageFile::json_schema(generator)
    }
}

impl Serialize for SharedPage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.file.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedPage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SharedPage, D::Error> {
        PageFile::deserialize(deserializer).map(SharedPage::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_checked_once_for_all_who_share_it() {
        let page: SharedPage = serde_json::from_str(r#"{"objects": [{"url": "http://a.test/", "bytes": 1}]}"#).unwrap();
        let other = page.clone();
        assert!(Arc::ptr_eq(page.page().unwrap(), other.page().unwrap()));
        assert_eq!(SharedPage::default().page(), Err(PageError::Empty));
    }
}
