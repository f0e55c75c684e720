"""The gate of one comparison: its assertions, what they are held against, and where it is told."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from loadstone import files, report
from loadstone.comparison import PageResult
from loadstone.files import InputError
from loadstone.gate import summary
from loadstone.gate.assertion import Assertion
from loadstone.gate.earlier import Earlier
from loadstone.gate.findings import Findings
from loadstone.gate.judgement import Check, judge


@dataclass(frozen=True)
class Judgement:
    """What came of it; nothing where nothing was asserted."""

    checks: list[Check]

    @property
    def holds(self) -> bool:
        """Say whether all assertions hold."""
        return all(check.holds for check in self.checks)

    @property
    def headline(self) -> str:
        """Say how it went."""
        return summary.headline(self.checks)

    def add_to(self, shown: str | dict[str, Any]) -> str | dict[str, Any]:
        """Add what came of it to the text or the document of the comparison."""
        if not self.checks:
            return shown
        if isinstance(shown, str):
            return f"{shown}\n\n{summary.words(self.checks)}"
        return {**shown, "assertions": summary.document(self.checks)}


@dataclass(frozen=True)
class Gate:
    """Assertions that a comparison has to meet."""

    assertions: list[Assertion]
    earlier: Earlier | None
    write_junit: Callable[[str], None]
    write_markdown: Callable[[str], None]

    def judge(self, results: Sequence[PageResult]) -> Judgement:
        """Judge a comparison."""
        if not self.assertions:
            return Judgement([])
        # By its document, so that what is now and what was kept are read alike.
        now = Findings.of(report.compare_document(results))
        return Judgement(judge(self.assertions, now, self.earlier))

    def publish(self, judgement: Judgement) -> None:
        """Write the files that were asked for."""
        if judgement.checks:
            self.write_junit(summary.junit(judgement.checks))
            self.write_markdown(summary.markdown(judgement.checks))


@contextmanager
def gate(
    asserted: Sequence[str],
    variants: Sequence[str],
    against: Earlier | None,
    junit: str | None,
    markdown: str | None,
) -> Iterator[Gate]:
    """Open a gate; whatever is wrong with it is an error now, before anything runs."""
    assertions = [Assertion.read(text, variants) for text in dict.fromkeys(asserted)]
    for option, value in {"--against": against, "--junit": junit, "--markdown": markdown}.items():
        if value is not None and not assertions:
            raise InputError(f"{option}: there is nothing to judge: give --assert as well")
    asks_before = [assertion.text for assertion in assertions if assertion.asks_before]
    if asks_before and against is None:
        raise InputError(f"--assert: '{asks_before[0]}' asks what was before: give --against FILE")
    if against is not None and not asks_before:
        raise InputError("--against: no assertion asks what was before: write one, as in before(plt(best))")
    with files.replacement(junit) as write_junit, files.replacement(markdown) as write_markdown:
        yield Gate(assertions, against, write_junit, write_markdown)


def refuse_one_file_for_two(named: Mapping[str, str | None]) -> None:
    """Refuse options, by name with the file of each, of which one would write over another's file."""
    options: dict[str, str] = {}
    for option, name in named.items():
        if name is None:
            continue
        other = options.setdefault(_place(name), option)
        if other != option:
            raise InputError(f"{option}: {name} is the file of {other} as well: give each its own")


def _place(name: str) -> str:
    try:
        return os.path.realpath(name)
    except ValueError:
        # No name of a file at all, which is said when it is opened.
        return name
