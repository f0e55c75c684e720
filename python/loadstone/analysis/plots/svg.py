"""What matplotlib draws, made part of a page: without its ids, fonts and styles."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib

from loadstone.html import palette

NOTHING = {"Date": None, "Creator": None, "Format": None, "Type": None}
"""Metadata that would differ each time."""

_XLINK = "{http://www.w3.org/1999/xlink}href"
_DECIMALS = re.compile(r"-?\d+\.\d{2,}")
_AROUND_COMMANDS = re.compile(r" ?([A-Za-z]) ?")
_KEPT_STYLES = {
    "fill", "fill-opacity", "font-size", "font-weight", "opacity", "stroke", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linecap", "stroke-width", "text-anchor",
}  # fmt: skip
_DROPPED = {"clipPath", "metadata", "style"}

# Where it keeps its cache of fonts is nothing that a user of this command wants to read.
logging.getLogger("matplotlib").setLevel(logging.ERROR)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw within: by matplotlib's own settings, whatever the user's are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.fonttype"] = "none"
        matplotlib.rcParams["path.simplify"] = False
        yield


def adopt(drawn: bytes, label: str, form: str) -> str:
    """Make a drawing part of the page."""
    root = ElementTree.fromstring(drawn)
    _simplify(root)
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({"class": f"chart {form}", "viewBox": box, "role": "group", "aria-label": label})
    # Text follows each element on a line of its own otherwise.
    return ElementTree.tostring(root, encoding="unicode")


def _simplify(element: Element) -> None:
    element.tag = element.tag.rpartition("}")[2]
    element.attrib = dict(_attributes(element))
    if element.tag != "text":
        element.text = None
    element.tail = None
    kept: list[Element] = []
    for child in element:
        _simplify(child)
        if child.tag in _DROPPED or (child.tag in {"g", "defs"} and len(child) == 0):
            continue
        # A group that says nothing is no group.
        kept += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = kept


def _attributes(element: Element) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        if name == "style":
            yield from _styles(value)
        elif name == _XLINK:
            yield "href", value
        elif name == "id":
            # Only what is referred to keeps its name.
            if element.tag == "path":
                yield "id", value
        elif name == "transform" and value.startswith("rotate(-0 "):
            continue
        elif name != "clip-path":
            value = _DECIMALS.sub(_rounded, " ".join(value.split()))
            yield name, _AROUND_COMMANDS.sub(r"\1", value) if name == "d" else value


def _styles(style: str) -> Iterator[tuple[str, str]]:
    """Turn inline style, which the page's security policy refuses, into attributes."""
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        if name.strip() in _KEPT_STYLES:
            yield name.strip(), palette.paint(value.strip())


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
