"""The trees and plots of findings, from the modules that make them."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from loadstone.analysis.findings import Findings


def trees(findings: Findings) -> list[Any]:
    """Grow the trees that say by which rules a challenger is faster; of several also which is best."""
    module = _module("tree")
    return module.grow_all(findings.gains.frame, findings.question) if module and findings.each else []


def plots(findings: Findings) -> list[Any]:
    """Draw the plots, each of which answers a question."""
    module = _module("plots")
    if not hasattr(module, "draw") or not findings.each:
        return []
    return list(module.draw(findings.runs, findings.gains.frame, findings.question))


def _module(name: str) -> Any:
    """Give a module of this package, heavy as it is; `None` where it is not built in."""
    name = f"loadstone.analysis.{name}"
    return import_module(name) if find_spec(name) else None
