//! Scripts with `async`: the parser goes on, and they run when they have come (HTML, "prepare the script element").

use crate::page::{Needed, On, PageFile, Why};
use loadstone_units::Bounded;
use std::collections::{BTreeMap, BTreeSet};

/// How urgent Chromium takes such scripts to be: Low.
const URGENCY: u32 = 3;

impl PageFile {
    /// This page with the scripts at these places asynchronous, as far as its parser stops for them: it stops no more, and
    /// they wait for no style sheet. That the page still works is the author's to see.
    #[must_use]
    pub fn with_async_scripts(&self, places: &BTreeSet<usize>) -> PageFile {
        let mut page = self.clone();
        let scripts: BTreeSet<&str> =
            places.iter().filter_map(|at| self.objects.get(*at)).map(|it| it.node()).collect();
        // Of each run the piece of the document behind which the parser stops for it.
        let mut stops: BTreeMap<String, String> = BTreeMap::new();
        for run in &mut page.compute {
            let Some(needs) = &mut run.needs else { continue };
            let fetched =
                needs.iter().find(|need| need.why == Some(Why::Fetched) && scripts.contains(need.node.as_str()));
            let before = needs.iter().find(|need| need.why == Some(Why::Parser) && need.on == On::End);
            let (Some(fetched), Some(before)) = (fetched, before) else { continue };
            stops.insert(run.name.clone(), before.node.clone());
            let fetched = fetched.node.clone();
            needs.retain(|need| !matches!(need.why, Some(Why::Parser | Why::StyleSheet)));
            run.needed = Some(Needed::WhenFound);
            for object in page.objects.iter_mut().filter(|object| object.node() == fetched) {
                object.urgency = Some(Bounded::known(URGENCY));
            }
        }
        // Several scripts may follow one another: the parser goes on from before the first.
        let go_on_from = |run: &str| {
            let mut from = stops.get(run)?;
            while let Some(before) = stops.get(from) {
                from = before;
            }
            Some(from.clone())
        };
        page.each_need(|needs| {
            for need in needs.iter_mut().filter(|need| need.why == Some(Why::Parser)) {
                need.node = go_on_from(&need.node).unwrap_or_else(|| need.node.clone());
            }
        });
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const A: &str = "https://a.test/a.js";
    const B: &str = "https://a.test/b.js";

    /// The parser stops for two scripts, one right behind the other, and the first waits for a style sheet.
    fn page() -> PageFile {
        let root = "https://a.test/";
        let parser = |node: &str| json!({"node": node, "why": "parser"});
        let found = |at: u32| json!([{"node": root, "on": "bytes", "bytes": at}]);
        let fetched = |node: &str| json!({"node": node, "why": "fetched", "ms": 1.0});
        let style = json!({"node": "https://a.test/a.css", "why": "style-sheet"});
        serde_json::from_value(json!({
            "objects": [
                {"url": root, "bytes": 1000},
                {"url": "https://a.test/a.css", "bytes": 10, "needs": found(10)},
                {"url": A, "bytes": 10, "urgency": 1, "needs": found(20)},
                {"url": B, "bytes": 10, "urgency": 1, "needs": found(30)}],
            "compute": [
                {"name": "parse 1", "ms": 1.0, "needs": [{"node": root, "on": "bytes", "bytes": 20}]},
                {"name": "run a", "ms": 5.0, "needed": true, "needs": [parser("parse 1"), fetched(A), style]},
                {"name": "run b", "ms": 5.0, "needed": true, "needs": [parser("run a"), fetched(B)]},
                {"name": "parse 2", "ms": 1.0, "needed": true, "needs": [parser("run b"), {"node": root}]}]}))
        .unwrap()
    }

    fn needs(page: &PageFile, name: &str) -> Vec<String> {
        let compute = page.compute.iter().find(|compute| compute.name == name).unwrap();
        compute.needs.iter().flatten().map(|need| need.node.clone()).collect()
    }

    #[test]
    fn the_parser_goes_on_and_the_script_runs_when_it_has_come() {
        let first = page().with_async_scripts(&BTreeSet::from([2]));
        assert_eq!(needs(&first, "run a"), [A]);
        assert_eq!(needs(&first, "run b"), ["parse 1", B], "the parser still stops for the other");
        assert_eq!(
            (first.objects[2].urgency, first.objects[3].urgency),
            (Some(Bounded::known(3)), Some(Bounded::known(1)))
        );
        let both = page().with_async_scripts(&BTreeSet::from([2, 3]));
        assert_eq!(needs(&both, "parse 2"), ["parse 1", "https://a.test/"]);
        assert!(both.compute[1..3].iter().all(|run| run.needed == Some(Needed::WhenFound)));
        assert!(both.build().is_ok());
    }

    #[test]
    fn what_stops_no_parser_is_as_it_was() {
        assert_eq!(page().with_async_scripts(&BTreeSet::from([0, 1, 9])), page());
    }
}
