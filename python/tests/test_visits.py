"""Pages that a browser visits one after the other, as a user asks for them."""

import json
from pathlib import Path

import pytest

import loadstone
from conftest import Command


@pytest.fixture
def site(tmp_path: Path) -> dict[str, str]:
    """Three pages of one site, which browsers may keep for a minute."""
    keep = [["cache-control", "max-age=60"]]
    paths = {}
    for name, size in (("home", 1_000), ("article", 40_000), ("search", 90_000)):
        url = f"https://site.test/{name}"
        page = {"objects": [{"url": url, "bytes": size, "kind": "html", "response_fields": keep}]}
        path = tmp_path / f"{name}.page.json"
        path.write_text(json.dumps(page))
        paths[name] = str(path)
    return paths


def test_what_is_brought_ahead_is_counted_and_shown_where_there_is_some(
    loadstone: Command, site: dict[str, str]
) -> None:
    visit = ["load", site["article"], "--before", site["home"], "--visit-after", "5", "--exact"]
    assert "prefetched" not in loadstone(*visit).out
    for how in ("next", "pushed"):
        right = loadstone(*visit, "--prefetch", how, "--protocol", "h2").out
        assert "bytes prefetched  40.0 KB" in right and "wasted" not in right, right
    wrong = loadstone(*visit, "--prefetch", "next", "--likely-next", site["search"]).out
    assert "bytes prefetched  90.0 KB" in wrong and "bytes wasted      90.0 KB" in wrong, wrong


def test_a_likely_page_needs_something_that_is_brought_ahead(
    loadstone: Command, site: dict[str, str]
) -> None:
    refused = loadstone("load", site["article"], "--likely-next", site["search"])
    assert refused.code != 0 and "--prefetch" in refused.err, refused.err


def test_the_same_in_python(site: dict[str, str]) -> None:
    loaded = loadstone.load(
        site["article"], before=site["home"], visit_after=5, prefetch="next", likely_next=site["search"]
    )
    assert {(run.bytes_prefetched, run.bytes_wasted) for run in loaded.outcomes} == {(90_000, 90_000)}
