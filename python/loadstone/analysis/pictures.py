"""The trees and plots of findings, from the modules that make them."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from loadstone.analysis.findings import Findings


def trees(findings: Findings) -> list[Any]:
    """Grow the trees that say by which rules a challenger is faster; of several also which is best."""
    module = _module("tree")
    return module.grow_all(findings.gains.frame, findings.question) if module and findings.each else []


def rules(tree: Any) -> str:
    """Give a tree in words, without its title."""
    written: str = tree.text()
    return written.removeprefix(tree.title).strip("\n")


def plots(findings: Findings, trees: Sequence[Any]) -> list[Any]:
    """Draw the plots, each of which answers a question, and the trees."""
    module = _module("plots")
    if not hasattr(module, "draw") or not findings.each:
        return []
    drawn = module.draw(findings.runs, findings.gains.frame, findings.question)
    return [*drawn, *(tree.plot() for tree in trees)]


def _module(name: str) -> Any:
    """Give a module of this package, heavy as it is; `None` where it is not built in."""
    name = f"loadstone.analysis.{name}"
    return import_module(name) if find_spec(name) else None
