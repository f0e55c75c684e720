"""The gate of one comparison: its assertions, what they are held against, and where it is told."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from loadstone import files, text, verb_output
from loadstone.comparison import PageResult
from loadstone.files import InputError, Kind
from loadstone.gate import changes
from loadstone.gate.assertion import Assertion
from loadstone.gate.changes import VariantChange
from loadstone.gate.comparison_document import Findings, KeptFindings
from loadstone.gate.judgement import Case, Check, judge, number

JUNIT = Kind(
    "JUnit file of loadstone", rb'<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuites name="loadstone"'
)
MARKDOWN = Kind("summary of loadstone", b"### Loadstone: ")


@dataclass(frozen=True)
class Judgement:
    """What came of it; nothing where nothing was asserted."""

    checks: list[Check]
    changed: list[VariantChange]
    """What was before, where that is known."""

    @property
    def holds(self) -> bool:
        """Say whether all assertions hold."""
        return all(check.holds for check in self.checks)

    @property
    def headline(self) -> str:
        """Say how it went."""
        return headline(self.checks)

    def add_to(self, shown: str | dict[str, Any]) -> str | dict[str, Any]:
        """Add what came of it to the text or the document of the comparison."""
        if isinstance(shown, str):
            said = [changes.in_words(self.changed)] if self.changed else []
            return "\n\n".join([shown, *said, *([words(self.checks)] if self.checks else [])])
        before = {"before": [one.document() for one in self.changed]} if self.changed else {}
        return {**shown, **before, **({"assertions": document(self.checks)} if self.checks else {})}


@dataclass(frozen=True)
class Gate:
    """Assertions that a comparison has to meet."""

    assertions: list[Assertion]
    earlier: KeptFindings | None
    write_junit: Callable[[str], None]
    write_markdown: Callable[[str], None]

    def judge(self, results: Sequence[PageResult]) -> Judgement:
        """Judge a comparison."""
        if not self.assertions and self.earlier is None:
            return Judgement([], [])
        # By its document, so that what is now and what was kept are read alike.
        now = Findings.of(verb_output.compare_document(results))
        changed = [] if self.earlier is None else changes.changes(now, self.earlier)
        return Judgement(judge(self.assertions, now, self.earlier), changed)

    def publish(self, judgement: Judgement) -> None:
        """Write the files that were asked for."""
        if judgement.checks:
            self.write_junit(junit(judgement.checks))
            self.write_markdown(markdown(judgement.checks))


@contextmanager
def gate(
    asserted: Sequence[str],
    variants: Sequence[str],
    against: KeptFindings | None,
    junit: str | None,
    markdown: str | None,
) -> Iterator[Gate]:
    """Open a gate; whatever is wrong with it is an error now, before anything runs."""
    assertions = [Assertion.read(text, variants) for text in dict.fromkeys(asserted)]
    for option, value in {"--junit": junit, "--markdown": markdown}.items():
        if value is not None and not assertions:
            raise InputError(f"{option}: there is nothing to judge: give --assert as well")
    asks_before = [assertion.text for assertion in assertions if assertion.asks_before]
    if asks_before and against is None:
        raise InputError(f"--assert: '{asks_before[0]}' asks what was before: give --against FILE")
    with (
        files.replacement(junit, JUNIT) as write_junit,
        files.replacement(markdown, MARKDOWN) as write_markdown,
    ):
        yield Gate(assertions, against, write_junit, write_markdown)


# --- what it says: text, a document, JUnit, Markdown ---


def headline(checks: Sequence[Check]) -> str:
    """Say how it went, in a sentence without its full stop."""
    failed = sum(not check.holds for check in checks)
    asserted, all_of_them = len({check.assertion for check in checks}), text.count(len(checks), "check")
    if failed:
        return f"{text.count(asserted, 'assertion')}: {failed} of {all_of_them} failed"
    return f"{text.count(asserted, 'assertion')}: {'holds' if asserted == 1 else 'all hold'} ({all_of_them})"


def words(checks: Sequence[Check]) -> str:
    """Give a line for each assertion, and below it a line for each check that failed, with its figures."""
    lines = [f"{headline(checks)}."]
    for assertion, of in _by_assertion(checks):
        failed = [check for check in of if not check.holds]
        lines.append(f"{'FAILED' if failed else 'holds '}  {text.printable(assertion)}")
        for check in failed:
            place = text.printable(f"{check.page} on {check.network}")
            lines += [f"  {place}: {text.printable(failure)}" for failure in check.failures]
    return "\n".join(lines)


def _by_assertion(checks: Sequence[Check]) -> list[tuple[str, list[Check]]]:
    return [(assertion, list(of)) for assertion, of in groupby(checks, lambda check: check.assertion)]


def document(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Give each assertion with its checks."""
    return [
        {
            "assertion": assertion,
            "holds": all(check.holds for check in of),
            "checks": [
                {
                    "page": check.page,
                    "network": check.network,
                    "holds": check.holds,
                    "cases": [_case(case) for case in check.cases],
                }
                for check in of
            ],
        }
        for assertion, of in _by_assertion(checks)
    ]


def _case(case: Case) -> dict[str, Any]:
    return {
        "holds": case.failure is None,
        "figures": {given.name: given.value for given in case.figures},
        "failure": case.failure,
    }


# --- JUnit ---


def junit(checks: Sequence[Check]) -> str:
    """Give a suite for each page, with a test case for each assertion and network.

    There are no times: the same comparison gives the same file.
    """
    root = ElementTree.Element("testsuites", {"name": "loadstone", **_counts(checks)})
    for page in dict.fromkeys(check.page for check in checks):
        of = [check for check in checks if check.page == page]
        suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(page), **_counts(of)})
        for check in of:
            _test_case(suite, check)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _counts(checks: Sequence[Check]) -> dict[str, str]:
    failures = sum(not check.holds for check in checks)
    return {"tests": f"{len(checks)}", "failures": f"{failures}", "errors": "0", "skipped": "0"}


def _test_case(suite: ElementTree.Element, check: Check) -> None:
    name = _plain(check.assertion)
    case = ElementTree.SubElement(
        suite, "testcase", classname=_plain(f"{check.page} on {check.network}"), name=name
    )
    figures = {given.name: given.value for one in check.cases for given in one.figures}
    if figures:
        properties = ElementTree.SubElement(case, "properties")
        for figure, value in figures.items():
            ElementTree.SubElement(properties, "property", name=_plain(figure), value=repr(value))
    if not check.holds:
        message, *_ = failures = [_plain(failure) for failure in check.failures]
        failure = ElementTree.SubElement(case, "failure", type="assertion", message=message)
        failure.text = "\n".join(failures)


def _plain(said: str) -> str:
    """Leave out what XML cannot carry."""
    return text.harmless(said)


# --- Markdown ---


def markdown(checks: Sequence[Check]) -> str:
    """Give a summary for a pull request: first what failed, then every figure, folded."""
    lines = [f"### Loadstone: {headline(checks)}", ""]
    failed = [check for check in checks if not check.holds]
    if failed:
        lines += ["| page | network | assertion | why it failed |", "| --- | --- | --- | --- |"]
        for check in failed:
            for failure in check.failures:
                lines.append(_row(check.page, check.network, check.assertion, failure))
        lines.append("")
    lines += ["<details><summary>All figures</summary>", ""]
    lines += ["| page | network | assertion | figures | |", "| --- | --- | --- | --- | --- |"]
    for check in checks:
        for case in check.cases:
            figures = [f"{one.name} = {number(one.value)} {one.unit}".rstrip() for one in case.figures]
            verdict = "holds" if case.failure is None else "**failed**"
            row = _row(check.page, check.network, check.assertion, ", ".join(figures))
            lines.append(f"{row} {verdict} |")
    return "\n".join([*lines, "", "</details>", ""])


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_code, cells))} |"


def _code(said: str) -> str:
    """Write it so that nothing in it is Markdown: a page's name may be a stranger's."""
    plain = " ".join(text.harmless(said).replace("`", "'").replace("|", "\\|").split())
    return f"`{plain}`" if plain else "-"
