"""What a gate says: text for people, a document for programs, JUnit and Markdown for CI."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from loadstone import text
from loadstone.gate.explanation import number
from loadstone.gate.judgement import Case, Check


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
