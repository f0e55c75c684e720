"""The PAGE argument: from what a user names to the JSON of a page file."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loadstone import _native, files, names
from loadstone.files import InputError

ALL = "#all"
SYNTHETIC = "synthetic:"
EXAMPLE = "example:"
RECORDING = ".wacz"
"""How recordings end."""
ONLOAD = "onload"
METRICS = (ONLOAD, "lcp", "fcp")
"""Moments up to which a load is measured: load event, largest and first contentful paint."""
COLD: Mapping[str, Any] = {"variant.names": "looked-up", "variant.tls_flights": "2026"}
"""Loads of recordings are those of today's browsers that know nothing yet."""
_EXAMPLES = Path(__file__).parent / "examples"
_OF_PAGES = re.compile(r"\.(wacz|har|page\.json)(\.gz|\.zst|\.xz|\.zip)?$", re.IGNORECASE)
"""What files of pages are called."""
_FOREIGN = (
    (rb"\xff\xfe|\xfe\xff", "it looks like UTF-16: save it as UTF-8; else give a HAR"),
    (
        rb"\xd4\xc3\xb2\xa1|\xa1\xb2\xc3\xd4|\x4d\x3c\xb2\xa1|\xa1\xb2\x3c\x4d|\n\r\r\n",
        "it is a capture of packets: record the page in a browser, and give that HAR",
    ),
    (
        rb"\s*\[",
        "it is a list, as logs of DevTools are: export the page with 'Save all as HAR', and give that HAR",
    ),
    (rb"\s*<", "it is HTML or XML: record how the page loads in a browser, and give that HAR"),
)
"""How files begin that others take for recordings, and what to do."""


@dataclass(frozen=True)
class Page:
    """A page that can be loaded."""

    name: str
    """The PAGE argument, an absolute path by the name of its file."""
    content: _native.Page
    """What is loaded."""
    source: str = ""
    """The PAGE argument, as it was given."""
    metric: str = ONLOAD
    """Up to which moment a load is measured."""
    usual: Mapping[str, Any] = field(default_factory=dict)
    """What loads of it have where nothing else is said: fields of scenarios."""

    @property
    def json(self) -> str:
        """Give the page file."""
        return self.content.to_json()

    @property
    def notes(self) -> dict[str, Any]:
        """Give what the import of a HAR says about it; nothing of other pages."""
        notes: dict[str, Any] = json.loads(self.content.notes_json)
        return notes

    @property
    def is_recorded(self) -> bool:
        """Whether a recording says when its objects were found."""
        return bool(self.usual)

    @property
    def protocols(self) -> dict[str, str]:
        """Say what each host spoke when the page was recorded, where that is known: `h2`, `h3`, ..."""
        spoken: dict[str, str] = self.notes.get("protocols", {})
        return spoken

    @classmethod
    def read(cls, name: "str | Path", *, keep_secrets: bool = False) -> "Page":
        """Read a HAR, a page file, `synthetic:B` or `example:shop`.

        What a HAR has of a user's secrets is replaced (docs/pages.md) unless it is to be kept.
        """
        return read(str(name), keep_secrets=keep_secrets)

    @classmethod
    def of(cls, document: dict[str, Any], name: str = "page") -> "Page":
        """Make a page of what a page file has (docs/pages.md).

        >>> Page.of({"objects": [{"url": "https://a.test/", "bytes": 12800}]}).summary()["bytes"]
        12800
        """
        with _blame(name):
            return cls(name, of_document(document), name)

    def under(self, policy: Callable[[dict[str, Any]], dict[str, Any]]) -> "Page":
        """Give this page as a policy of one's own makes it: a function from page file to page file.

        Raises `InputError` if that breaks a rule of page files.

        >>> def all_alike(page: dict[str, Any]) -> dict[str, Any]:
        ...     for one in page["objects"]:
        ...         one["urgency"] = 3
        ...     return page
        >>> Page.read("example:news").under(all_alike).summary()["objects"]
        61
        """
        with _blame(f"{self.name} under {policy.__name__}"):
            made = json.dumps(policy(json.loads(self.json))).encode()
            return replace(self, content=_native.Page(made, self.content.notes_json))

    def until(self, metric: str) -> "Page":
        """Measure loads until what a paint needs is in, `lcp` or `fcp`; `onload` is the page as it is."""
        if metric == ONLOAD:
            return self
        content = self.content.until(set(self.paint(metric)["objects"]))
        return replace(self, content=content, metric=metric)

    @property
    def measured(self) -> dict[str, Any] | None:
        """Say up to what loads are measured, if it is not the load event."""
        return None if self.metric == ONLOAD else {"metric": self.metric, **self.paint(self.metric)}

    def paint(self, metric: str) -> dict[str, Any]:
        """Say what a paint needs, and how that is known: as recorded, or else by rule (docs/pages.md)."""
        if recorded := self.notes.get("paints"):
            known: dict[str, Any] = {**recorded[metric], "ms": recorded[f"{metric}_ms"]}
            return known
        by_rule = dict(zip(("fcp", "lcp"), self.content.paints_json(), strict=True))
        return {**json.loads(by_rule[metric]), "ms": None}

    def summary(self) -> dict[str, Any]:
        """Give what the page is, in numbers."""
        summary: dict[str, Any] = json.loads(self.content.summary_json())
        return summary


def of_document(document: dict[str, Any]) -> _native.Page:
    """Make a page of what a page file has.

    Raises `LoadstoneError` if it breaks a rule of page files.
    """
    return _native.Page(json.dumps(document).encode())


def read_all(given: Sequence[str], *, keep_secrets: bool = False, metric: str = ONLOAD) -> list[Page]:
    """Read pages, also all of a folder or a HAR; no two that are different have one name."""
    each = [one for name in given for one in several(name)]
    return [
        replace(read(one, keep_secrets=keep_secrets).until(metric), name=name)
        for one, name in zip(each, names.shown(each), strict=True)
    ]


def several(name: str) -> list[str]:
    """Give the pages that a name stands for: those of `FILE.har#all` or of a folder; mostly one."""
    path = path_of(name)
    if Path(path).is_dir():
        found = files_of(name)
        if not found:
            raise InputError(f"{name}: no page in this folder: put HARs (.har, also .gz) or .page.json there")
        return found
    if name != path + ALL:
        return [name]
    count = read(path).notes.get("pages", 1)
    return [f"{path}#{number}" for number in range(1, count + 1)] if count > 1 else [path]


def read(name: str, *, keep_secrets: bool = False) -> Page:
    """Read the page that `name` says: a HAR, a page file, or `synthetic:` and a description.

    What a HAR has of a user's secrets is replaced (docs/pages.md) unless it is to be kept.
    """
    [shown] = names.shown([name])
    if name.startswith(SYNTHETIC):
        with _blame(name):
            return Page(name, _native.Page.synthetic(name.removeprefix(SYNTHETIC)), name)
    path, number = _split_number(example(name))
    if path.endswith(RECORDING):
        from loadstone.recording.archive import Archive
        from loadstone.recording.graph import graph_of

        graph = graph_of(Archive.read(path), number or None, keep_secrets=keep_secrets)
        return Page(shown, graph, name, usual=COLD)
    if number == 0:
        raise InputError(f"{name}: several pages, and this takes one: write {path}#1")
    try:
        data = files.read(path)
    except files.TooLargeError as error:
        show = {".gz": "zcat", ".zst": "zstdcat", ".xz": "xzcat"}.get(Path(path).suffix, "cat")
        strip = f"{show} {shlex.quote(path)} | jq 'del(.log.entries[].response.content.text)' > small.har"
        raise InputError(f"{error}: export it without response bodies, or strip them: {strip}") from None
    with _blame(path):
        if _is_har(path, data):
            return Page(shown, _native.Page.from_har(data, number, keep_secrets=keep_secrets), name)
        if number is not None:
            raise InputError(f"{path}: only a HAR has several pages: leave out #{number}")
        return Page(shown, _native.Page(data), name)


def is_file(name: str) -> bool:
    """Say whether a page is in a file of the user's."""
    return not name.startswith((SYNTHETIC, EXAMPLE))


def path_of(name: str) -> str:
    """Give the file of a page: `FILE` of `FILE#2` and `FILE#all`."""
    return _split_number(example(name))[0]


def files_of(name: str) -> list[str]:
    """Give the files of what a PAGE argument names: of a folder those that are called like pages."""
    if not is_file(name):
        return []
    path = path_of(name)
    if not Path(path).is_dir():
        return [path]
    return sorted(str(each) for each in Path(path).iterdir() if _OF_PAGES.search(each.name))


def example(name: str) -> str:
    """Give the file of `example:shop`, which came with Loadstone; any other name as it is."""
    if not name.startswith(EXAMPLE):
        return name
    known = {path.name.partition(".")[0]: str(path) for path in sorted(_EXAMPLES.iterdir())}
    if (path := known.get(name.removeprefix(EXAMPLE))) is None:
        raise InputError(
            f"{name}: there is no such example: give {', '.join(EXAMPLE + each for each in known)}"
        )
    return path


def _split_number(name: str) -> tuple[str, int | None]:
    """Take `FILE#2` apart, unless a file has that very name; `FILE#all` has the number 0."""
    match = re.fullmatch(r"(.+)#([0-9]{1,9}|all)", name, re.DOTALL)
    if match is None or Path(name).exists():
        return name, None
    path, number = match[1], 0 if match[2] == "all" else int(match[2])
    if match[2] != "all" and number == 0:
        raise InputError(f"{name}: pages count from 1: write {path}#1")
    return path, number


def _is_har(path: str, data: bytes) -> bool:
    """Tell a HAR from a page file: by the first key, and where that is neither's by the file's ending."""
    first = re.match(rb'\s*\{\s*"([a-z]+)"\s*:', data[:4096])
    if first is not None and first[1] in (b"log", b"objects", b"compute", b"hosts"):
        return first[1] == b"log"
    if not data.lstrip().startswith(b"{"):
        known = next(
            (what for form, what in _FOREIGN if re.match(form, data)), "it is no JSON object: give a HAR"
        )
        raise InputError(
            f"{path}: neither a HAR nor a page file, {known} "
            "(.har, also compressed), a .page.json, synthetic:B or example:shop"
        )
    return re.search(r"\.page\.json(\.gz|\.zst)?$", path) is None


@contextmanager
def _blame(path: str) -> Iterator[None]:
    """Turn the engine's errors into errors that name the file."""
    try:
        yield
    except _native.LoadstoneError as error:
        raise InputError(f"{path}: {error.args[0]}") from None
