"""Whether the model's cache and Chromium's decide alike, on the cases of http-cache-tests.

    git clone https://github.com/http-tests/cache-tests
    .venv/bin/python studies/browser/cache_cases.py cache-tests DIR

makes a page that fetches one object for each case of two plain requests, records a load of it and a second
visit, and holds what Chromium does at the second visit against the model. Needs node, besides what recording
needs. Cases that tell a load nothing are left out: other methods, requests that differ, caches of other sorts
and redirects. See README.md.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from email.utils import formatdate
from pathlib import Path
from typing import Any

from measure import LOADSTONE, run, say

from loadstone import Page
from loadstone.recording import Archive
from loadstone.recording.archive import HAR

START = "https://cache.test/"
SECONDS = 2
"""What is about between the answers of the first visit and the requests of the second."""
LIST = "import('./tests/index.mjs').then(all => console.log(JSON.stringify(all.default)))"
NOT_PLAIN = {
    *("request_method", "request_body", "interim_responses"),
    *("magic_ims", "magic_locations", "disconnect"),
}


def is_plain(case: dict[str, Any]) -> bool:
    """Whether a case is of two requests that a page makes at two visits."""
    requests = case["requests"]
    if len(requests) != 2 or case.get("cdn_only") or case.get("browser_skip"):
        return False
    first, second = requests
    status = first.get("response_status", [200])[0]
    coded = any(name.lower() == "content-encoding" for name, *_ in first.get("response_headers", []))
    return (
        not coded
        and not NOT_PLAIN & (first.keys() | second.keys())
        and first.get("request_headers", []) == second.get("request_headers", [])
        and (200 <= status < 300 or 400 <= status < 600)
    )


def dated(fields: list[list[Any]]) -> list[list[str]]:
    """Give the fields with their dates, which are in seconds from now."""
    now = time.time()

    def value(stated: Any) -> str:
        return formatdate(now + stated, usegmt=True) if isinstance(stated, int | float) else str(stated)

    return [[field[0].lower(), value(field[1])] for field in fields]


def built(cases: list[dict[str, Any]], folder: Path) -> Path:
    """Make the page, and a response for each case."""
    site = folder / "cache"
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    asked = {case["id"]: dict(dated(case["requests"][0].get("request_headers", []))) for case in cases}
    fetch = "fetch('/case/' + id, {headers})"
    script = f"for (const [id, headers] of Object.entries({json.dumps(asked)})) {fetch};"
    (site / "index.html").write_text(f"<!doctype html><title>cache</title><script>{script}</script>")
    responses: list[dict[str, Any]] = [
        {
            "url": START,
            "status": 200,
            "file": "index.html",
            "fields": [["content-type", "text/html"], ["cache-control", "no-store"]],
        }
    ]
    for case in cases:
        first = case["requests"][0]
        body = site / f"{case['id']}.txt"
        body.write_text(first.get("response_body") or case["id"])
        fields = dated(first.get("response_headers", []))
        status = first.get("response_status", [200])[0]
        named = {"url": f"{START}case/{case['id']}", "status": status, "fields": fields}
        responses.append({**named, "file": None if status in (204, 304) else body.name})
    (site / "site.json").write_text(json.dumps({"start": START, "responses": responses}))
    return site


def decided(requests: list[dict[str, str] | None]) -> str:
    """Name what became of an object: taken from the cache, perhaps with a request behind, or asked for."""
    sent = requests[0]
    if sent is None:
        return "kept" if len(requests) == 1 else "kept and asked for"
    return "asked about" if {"if-none-match", "if-modified-since"} & sent.keys() else "fetched"


def by_url(requests: Iterable[tuple[str, dict[str, str] | None]]) -> dict[str, str]:
    """Name what became of each URL."""
    of: dict[str, list[dict[str, str] | None]] = {}
    for url, sent in requests:
        of.setdefault(url, []).append(sent)
    return {url: decided(all_of_it) for url, all_of_it in of.items()}


def in_chromium(recording: Path) -> dict[str, str]:
    """Say what Chromium did at the second visit."""
    entries = json.loads(Archive.read(str(recording)).extra(HAR))["log"]["entries"]
    second = [one for one in entries if one["pageref"] == "page_2"]
    sent = [
        None if one.get("_fromCache") else {field["name"].lower(): "" for field in one["request"]["headers"]}
        for one in second
    ]
    return by_url(zip((one["request"]["url"] for one in second), sent, strict=True))


def in_model(recording: Path) -> dict[str, str]:
    """Say what the model does."""
    page = Page.read(str(recording)).content
    objects = json.loads(page.visited_after(page, SECONDS).to_json())["objects"]
    return by_url(
        (one["url"], None if one.get("cached") else dict(one.get("request_fields", []))) for one in objects
    )


def main() -> None:
    """Record, and say where the two differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tests", type=Path, help="a checkout of http-cache-tests")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    listed = subprocess.run(
        ["node", "-e", LIST], cwd=given.tests, capture_output=True, text=True, check=True, timeout=60
    )
    suites = json.loads(listed.stdout)
    cases = [case for suite in suites for case in suite["tests"] if is_plain(case)]
    say(f"{len(cases)} of {sum(len(suite['tests']) for suite in suites)} cases are of two plain requests")
    site = built(cases, given.folder)
    recording = given.folder / "cache.wacz"
    words = ["--network", "50/10mbit,20ms", "--", *LOADSTONE, "record", START, "--runs", "1", "--warm"]
    run("bed", str(site), *words, "-o", str(recording))
    chromium, model = in_chromium(recording), in_model(recording)
    names = [f"{START}case/{case['id']}" for case in cases]
    missing = [url for url in names if url not in chromium or url not in model]
    differ = [url for url in names if url not in missing and chromium[url] != model[url]]
    for url in differ:
        say(f"{url.rsplit('/', 1)[1]}: Chromium {chromium[url]}, model {model[url]}")
    for url in missing:
        say(f"{url.rsplit('/', 1)[1]}: not asked for twice")
    counts = Counter(chromium[url] for url in names if url not in missing)
    say(", ".join(f"{count} {what}" for what, count in sorted(counts.items())) + " in Chromium")
    say(f"alike: {len(names) - len(missing) - len(differ)} of {len(names) - len(missing)}")


if __name__ == "__main__":
    sys.exit(main())
