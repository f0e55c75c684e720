"""What matplotlib draws, made part of the page: no ids or fonts of its own, marks that take the focus."""

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from markupsafe import Markup

from loadstone.html import palette

_XLINK = "{http://www.w3.org/1999/xlink}href"
_DECIMALS = re.compile(r"-?\d+\.\d{2,}")
_AROUND_COMMANDS = re.compile(r" ?([A-Za-z]) ?")
_KEPT_STYLES = {
    "fill", "fill-opacity", "font-size", "font-weight", "opacity", "stroke", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linecap", "stroke-width", "text-anchor",
}  # fmt: skip
_DROPPED = {"clipPath", "metadata", "style"}
_MARKS = {"path", "use"}


def adopt(drawn: bytes, label: str, form: str, tips: Mapping[str, Sequence[str]]) -> Markup:
    """Make a drawing part of the page.

    `tips` says for each group, by the id it was drawn with, what its marks say on hover and focus: one text
    per mark, in the order of drawing.
    """
    root = ElementTree.fromstring(drawn)
    _simplify(root, set(tips))
    _let_marks_speak(root, tips)
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update({"class": f"chart {form}", "viewBox": box, "role": "group", "aria-label": label})
    # Text follows each element on a line of its own otherwise.
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _simplify(element: Element, ids: set[str]) -> None:
    element.tag = element.tag.rpartition("}")[2]
    element.attrib = dict(_attributes(element, ids))
    if element.tag != "text":
        element.text = None
    element.tail = None
    kept: list[Element] = []
    for child in element:
        _simplify(child, ids)
        if child.tag in _DROPPED or (child.tag in {"g", "defs"} and len(child) == 0):
            continue
        # A group that says nothing is no group.
        kept += list(child) if child.tag == "g" and not child.attrib else [child]
    element[:] = kept


def _attributes(element: Element, ids: set[str]) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        if name == "style":
            yield from _styles(value)
        elif name == _XLINK:
            yield "href", value
        elif name == "id":
            # Only what is referred to or spoken of keeps its name.
            if value in ids or element.tag == "path":
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


def _let_marks_speak(root: Element, tips: Mapping[str, Sequence[str]]) -> None:
    """Let the arrow keys reach every mark, and Tab the first; `data-row` says which stand side by side."""
    groups = {group.get("id"): group for group in root.iter("g") if group.get("id") in tips}
    is_first = True
    for name, texts in tips.items():
        group = groups[name]
        del group.attrib["id"]
        hidden = {inner for defs in group.iter("defs") for inner in defs.iter()}
        marks = [mark for mark in group.iter() if mark.tag in _MARKS and mark not in hidden]
        for mark, text in zip(marks, texts, strict=True):
            mark.attrib |= {
                "tabindex": "0" if is_first else "-1",
                "role": "img",
                "data-row": name.split("-")[1],
                "data-tip": text,
            }
            is_first = False
