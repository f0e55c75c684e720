"""The laboratory for web page load time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loadstone._native import LoadstoneError, Outcome, Scenario, __version__, networks, protocols, run_many

if TYPE_CHECKING:
    from loadstone.api import Page, analyze, compare, load, sweep, whatif
    from loadstone.stores import Store

_HEAVY = {
    **dict.fromkeys(("Page", "analyze", "compare", "load", "sweep", "whatif"), "loadstone.api"),
    "Store": "loadstone.stores",
}
"""What is imported when it is first asked for, and where it is."""

__all__ = [
    "LoadstoneError",
    "Outcome",
    "Page",
    "Scenario",
    "Store",
    "__version__",
    "analyze",
    "compare",
    "load",
    "networks",
    "protocols",
    "run_many",
    "sweep",
    "whatif",
]


def __getattr__(name: str) -> Any:
    if name not in _HEAVY:
        raise AttributeError(f"module 'loadstone' has no attribute '{name}'")
    return getattr(import_module(_HEAVY[name]), name)
