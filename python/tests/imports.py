"""Which files use which, in the crates and in the package: read from what they import."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

Module = tuple[str, ...]
"""A module by its path from the root of its crate or package."""

_USE = re.compile(r"^ *(?:pub(?:\([\w: ]+\))? )?use ([^;]+);", re.MULTILINE)
_INLINE = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def circles(uses: Mapping[Module, set[Module]]) -> list[list[str]]:
    """Give the groups of modules each of which uses, by way of others, all of its group."""
    reached = {module: _reached(module, uses) for module in uses}
    groups = {
        tuple(sorted("/".join(other) for other in reached[module] if module in reached[other]))
        for module in uses
        if module in reached[module]
    }
    return [list(group) for group in sorted(groups)]


def _reached(module: Module, uses: Mapping[Module, set[Module]]) -> set[Module]:
    reached: set[Module] = set()
    waiting = [*uses[module]]
    while waiting:
        if (one := waiting.pop()) not in reached:
            reached.add(one)
            waiting += uses[one]
    return reached


# --- Rust ---


def of_crate(texts: Mapping[Module, str]) -> dict[Module, set[Module]]:
    """Give what each module of a crate uses, from its code; the crate's root is the empty path.

    A module and those inside it belong together, and may use one another: that is how Rust's modules work.
    """
    return {
        module: {
            used
            for path in rust_paths(text)
            if (used := _resolved(path.split("::"), module, texts)) is not None
            if used[: len(module)] != module and module[: len(used)] != used
        }
        for module, text in texts.items()
    }


def rust_paths(text: str) -> Iterator[str]:
    """Give the paths that code imports or names from `crate` or `super` on."""
    code = re.sub(r"//.*", "", text)
    for tree in _USE.findall(code):
        yield from _spread(tree.strip())
    yield from _INLINE.findall(_USE.sub("", code))


def _spread(tree: str) -> Iterator[str]:
    """Give the paths of a `use`: of `a::{b, c::{d, e}}` the paths `a::b`, `a::c::d` and `a::c::e`."""
    stem, brace, inside = tree.partition("{")
    if not brace:
        yield stem.split(" as ")[0].strip()
        return
    depth, part = 0, ""
    for letter in inside.rstrip()[:-1] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                yield from _spread(stem.strip() + part.strip())
            part = ""
        else:
            part += letter


def _resolved(path: list[str], here: Module, known: Mapping[Module, str]) -> Module | None:
    """Give the module that a path leads into; `None` if it is none of the crate's."""
    at = () if path[0] == "crate" else here
    for place, name in enumerate(path):
        if name == "super":
            at = at[:-1]
        elif (*at, name) in known:
            at = (*at, name)
        elif name not in ("crate", "self"):
            # What is in no module of ours is of another crate, or something inside the last.
            return at if place else None
    return at


# --- Python ---


def of_package(root: Path) -> dict[Module, set[Module]]:
    """Give what each module of a package imports of it, at its head, for types alone, or within functions."""
    paths = {_module(path, root): path for path in sorted(root.glob("**/*.py"))}
    return {
        module: {name for name in _imported(path.read_text(), paths) if name != module}
        for module, path in paths.items()
    }


def _module(path: Path, root: Path) -> Module:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _imported(text: str, known: Mapping[Module, Path]) -> Iterator[Module]:
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = tuple(name.split("."))
            # A name of a module is the module; any other is something inside one.
            if found := next((one for one in (parts, parts[:-1]) if one in known), None):
                yield found
