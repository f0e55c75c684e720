"""What the answers of a known page allow: which fetches may have ended before something is found or runs."""

import re
from typing import Any

from known_server import EXPECTED, text

INLINE = re.compile(rb"<script(?![^>]*\bsrc=)(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
ROOT = "index.html"


class Answers:
    """The expectations of a page."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.all = EXPECTED[name]
        self.found: dict[str, Any] = self.all["found"]
        self.runs: dict[str, Any] = self.all["runs"]

    def end_of(self, document: str, tag: str) -> int:
        """Give the byte at which a tag ends."""
        body, wanted = text(self.name, document), tag.encode()
        return body.index(wanted) + len(wanted)

    def inline(self) -> list[tuple[int, bool]]:
        """Give where each inline script of the document that runs begins, and whether it is a module."""
        found = INLINE.finditer(text(self.name, ROOT))
        data = (b"importmap", b"text/plain")
        scripts = [one for one in found if not any(kind in one["attributes"] for kind in data)]
        return [(one.start(), b"module" in one["attributes"]) for one in scripts]

    def place(self, run: str) -> tuple[str, int] | None:
        """Give the document in which a script stands that the parser runs, and where."""
        if run.startswith("inline:"):
            return ROOT, self.inline()[int(run.removeprefix("inline:"))][0]
        one = self.found.get(run)
        if one is None or one["from"] is None:
            return None
        if one["by"] == "parser":
            return one["from"], text(self.name, one["from"]).index(one["tag"].encode())
        # It was written there by another script.
        makers = self.runs[run]["after_runs"]
        return self.place(makers[-1]) if makers else None

    def blocking(self, document: str, until: int | None) -> list[str]:
        """Give the scripts that stop the parser of a document before a byte."""
        found = []
        for run, one in self.runs.items():
            place = self.place(run) if one["blocks_parser"] else None
            if place and place[0] == document and (until is None or place[1] < until):
                found.append(run)
        return found

    # --- what may have ended ---

    def may_precede(self, path: str) -> set[str]:
        """Give all fetches that may have to end before an object is found."""
        if path == ROOT and path not in self.found:
            return set()
        one = self.found[path]
        if one.get("after_load"):
            return {ROOT, *self.found} - {path}
        source = one["from"]
        may: set[str] = set()
        if one["by"] in ("parser", "frame", "style", "import") and one["tag"] is not None:
            may |= self.may_precede(source)
            until = text(self.name, source).index(one["tag"].encode())
            scripts = [] if one.get("ahead") else self.blocking(source, until)
            may |= self._of_runs(scripts)
        elif source is not None and source != ROOT:
            may |= {source} | self.may_precede(source)
            may |= self._of_runs(self.blocking(source, None))
        if "element" in one:
            may |= self._of_runs(self.blocking(ROOT, self.end_of(ROOT, one["element"])))
            may |= self._sheets()
        for other in [*one.get("waits", []), *one.get("after_found", [])]:
            may |= {other} | self.may_precede(other)
        may |= self._of_runs(one.get("waits_run", []))
        if one.get("after_parse") == "end":
            may |= {ROOT} | self._of_runs(self.blocking(ROOT, None))
        return may

    def may_precede_run(self, run: str) -> set[str]:
        """Give all fetches that may have to end before a script runs."""
        one = self.runs[run]
        may = set(one["waits"])
        for other in one["waits"]:
            may |= self.may_precede(other)
        may |= self._of_runs(one["after_runs"])
        place = self.place(run)
        if one["after_parse"] == "end":
            may |= {ROOT} | self._of_runs(self.blocking(ROOT, None))
        elif one["blocks_parser"] and place:
            may |= self._of_runs(other for other in self.blocking(*place) if other != run)
        return may

    def _of_runs(self, runs: Any) -> set[str]:
        return set().union(*(self.may_precede_run(run) for run in runs))

    def _sheets(self) -> set[str]:
        """Give the sheets before which nothing is rendered."""
        return {path for path in self.found if path.endswith(".css")}
