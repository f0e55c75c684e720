"""Reports to look at."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone import comparison, pages, variants, verb_output
from loadstone.comparison import PageResult
from loadstone.html import report_page


@dataclass
class Report:
    """A report with what it was made from."""

    path: Path
    html: str
    results: list[PageResult]

    @property
    def document(self) -> Any:
        return json.loads(json.dumps(verb_output.compare_document(self.results)))


def write(folder: Path, names: Sequence[str], networks: Sequence[str], runs: int = 7) -> Report:
    """Compare, and write the report into the folder."""
    read = [pages.read(name) for name in names]
    compared = variants.variants(read, ["http/1.1", "spdy/3.1", "h2"], ["iw=3,10"])
    results = comparison.compare(read, compared, networks, {}, runs, None, lambda done, total: None)
    found = report_page.savings(results, read, compared[0], networks, {}, None, lambda done, total: None)
    html = report_page.render(results, read, found, "loadstone compare")
    path = folder / "report.html"
    path.write_text(html, encoding="utf-8")
    return Report(path, html, results)


HOSTILE_KIND = '"><script>steal()</script>'


def hostile_page(folder: Path, objects: int = 300) -> str:
    """Write a page whose URLs and kinds would do harm if they were taken for HTML; some are just long."""
    urls = [
        "https://a.test/",
        "https://a.test/</script><img/src=x/onerror=steal()>",
        "https://a.test/\"onmouseover='steal()'x=\"",
        "https://a.test/<!--<script>",
        "https://a.test/&lt;b&gt;&amp;",
        "https://a.test/\u202egnp.evil\u202c",
        "https://a.test/\u05e9\u05dc\u05d5\u05dd/\u0645\u0631\u062d\u0628\u0627",
        f"https://b.test/{'long' * 500}",
        "https://b.test/%00${steal()}{{7*7}}\u2028",
    ]
    urls += [f"https://c{at % 7}.test/image-{at}.png" for at in range(objects - len(urls))]
    entries = [
        {"url": url, "bytes": 900 + 37 * at, "kind": HOSTILE_KIND if at % 5 == 1 else "image"}
        for at, url in enumerate(urls)
    ]
    path = folder / "<img src=x onerror=steal()>.page.json"
    path.write_text(json.dumps({"objects": entries}), encoding="utf-8")
    return str(path)
