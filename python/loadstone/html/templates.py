"""What every page is made with: templates, and the styles and scripts that stand in it."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment(filters: Mapping[str, Callable[..., Any]]) -> Environment:
    """Give what reads the templates of this package."""
    made = Environment(
        loader=PackageLoader("loadstone.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(filters)
    return made


@dataclass(frozen=True)
class Embedded:
    """A file of this package as it stands in the page, and what the security policy knows it by."""

    content: Markup
    hash: str


def embedded(name: str) -> Embedded:
    """Read a file of this package."""
    content = resources.files(__package__ or "").joinpath(name).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return Embedded(Markup(content), f"sha256-{digest}")
