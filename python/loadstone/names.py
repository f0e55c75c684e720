"""Names of files as others may see them: without the folders of the machine on which they were given."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath


def shown(names: Sequence[str]) -> list[str]:
    """Give names in place of absolute paths: as much of their ends as tells them apart.

    Relative ones, and what is no path, stay as they are.
    """
    return [
        label if PurePath(name).is_absolute() else name
        for name, label in zip(names, labels(names), strict=True)
    ]


def labels(names: Sequence[str]) -> list[str]:
    """Give each path's file, and of its folder only what tells it from the others."""
    shared = Counter(ending for name in set(names) for ending in _endings(name))
    return [next((ending for ending in _endings(name) if shared[ending] == 1), name) for name in names]


def _endings(path: str) -> list[str]:
    """Give `c.har`, `b/c.har` and `a/b/c.har` of the last."""
    parts = path.split("/")
    return ["/".join(parts[-n:]) for n in range(1, len(parts) + 1)]


def in_text(text: str, shown: Mapping[str, str]) -> str:
    """Give a text in which the paths that stand behind `=` have the names that are shown of them."""
    return re.sub(r"(?<==)[^,=]+", lambda found: shown.get(found[0].strip(), found[0]), text)


def shown_words(words: Iterable[str]) -> list[str]:
    """Give the words of a command, absolute paths of pages and traces by the names of their files."""

    def one(word: str) -> str:
        if PurePath(word).is_absolute():
            return PurePath(word).name
        paths = re.findall(r"=\s*(/[^,]*)", word)
        return in_text(word, {path: PurePath(path).name for path in paths})

    return [one(word) for word in words]
