"""What `loadstone analyze` prints: text for people, a document for machines."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from loadstone import __version__, text
from loadstone.analysis import sections
from loadstone.analysis.findings import Finding, Findings
from loadstone.analysis.gain_tables import Case, Cube
from loadstone.analysis.gains import ENOUGH_PERCENT, LEAST_EFFECT
from loadstone.analysis.question import Level, Question
from loadstone.analysis.sections import Section

if TYPE_CHECKING:
    from loadstone.analysis.tree import Tree


def said(findings: Findings, state: str) -> list[str]:
    """Say what was run."""
    runs, medians = findings.runs, findings.gains.medians
    incomplete = len(runs) - int(runs["completed"].sum())
    matrix = f"{text.count(len(medians), 'cell')}, {text.count(len(runs), 'run')}"
    lines = [f"{matrix} ({state}). Loadstone {__version__}."]
    if findings.question.live:
        lines.append("Loads went over the kernel of a machine, live: sweeping again gives other figures.")
    if incomplete:
        lines.append(
            f"{text.count(incomplete, 'load')} did not complete: gains are of the others, and count where "
            f"{ENOUGH_PERCENT} % of the loads of both sides were completed."
        )
    if holes := len(findings.gains.left_out):
        lines.append(f"{text.count(holes, 'condition')} left out, for the reasons below.")
    return lines


def title(findings: Findings) -> str:
    """Give the question of the matrix: its author's, or the one that can always be asked."""
    question = findings.question
    others = sections.listed([sections.challenger(question, level) for level in question.challengers], "or")
    usual = f"How much faster than {sections.challenger(question, question.baseline)} is {others}?"
    return text.harmless(question.title) or usual


def headlines(findings: Findings) -> list[str]:
    """Say in words what came out, a sentence or two for each challenger."""
    if not findings.each:
        return ["No condition has enough loads of both sides that were completed, so there is no gain."]
    return [sections.headline(findings.question, finding.summary) for finding in findings.each]


def first(findings: Findings) -> Iterator[Section]:
    """Give the sections that are about all challengers."""
    yield sections.factors(findings)
    if findings.each:
        yield sections.overview(findings)


def last(findings: Findings) -> Iterator[Section]:
    """Give the sections that say what there is not."""
    if (holes := sections.left_out(findings)) is not None:
        yield holes


def methods(question: Question) -> str:
    """Say how figures were made."""
    over = "the loads that" if question.live else "the seeds under which both"
    drawn = "each side by itself, since over a kernel seeds pair nothing" if question.live else "over seeds"
    return (
        "The gain of a condition is the median page load time of the baseline over that of the challenger, "
        f"over {over} were completed: above 1 is faster. Intervals hold the chance in the loads "
        f"(bootstrap, {drawn}), not the choice of conditions; of many conditions without any difference, "
        "about 5 % would count as clearly faster or slower. What is known without chance is so from a "
        f"difference of {100 * LEAST_EFFECT:g} % on."
    )


def in_words(findings: Findings, state: str, width: int, trees: "Sequence[Tree]" = ()) -> str:
    """Give the report for people."""
    head = [title(findings), *said(findings, state)]
    parts = ["\n".join(_filled(line, width) for line in head)]
    parts += [_filled(line, width) for line in headlines(findings)]
    each = (section for finding in findings.each for section in sections.of_challenger(findings, finding))
    parts += [_section(section, width) for section in (*first(findings), *each)]
    parts += [f"{tree.title}\n{tree.body()}" for tree in trees]
    parts += [_section(section, width) for section in last(findings)]
    parts.append(_filled(methods(findings.question), width))
    return "\n".join(text.printable(line) for line in "\n\n".join(parts).split("\n"))


def _section(section: Section, width: int) -> str:
    lines = [section.title, text.table(section.rows, section.left)]
    return "\n".join([*lines, *([_filled(section.note, width)] if section.note else [])])


def _filled(line: str, width: int) -> str:
    return textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)


# --- for machines ---


def document(findings: Findings, state: str) -> dict[str, Any]:
    """Give the document of `--json`."""
    question, gains = findings.question, findings.gains
    return {
        "title": title(findings),
        "version": __version__,
        "state": state,
        "cells": len(gains.medians),
        "runs": len(findings.runs),
        "completed": int(findings.runs["completed"].sum()),
        "factors": {name: list(levels) for name, levels in question.factors.items()},
        "compared": question.compared,
        "baseline": question.baseline,
        "challengers": [_challenger(finding) for finding in findings.each],
        "live": question.live,
        "gains": gains.measured.to_dicts(),
        "left_out": gains.left_out.to_dicts(),
    }


def _challenger(finding: Finding) -> dict[str, Any]:
    found, accounts = finding.summary, finding.accounts
    counts = (
        "at_least_1", "at_least_2", "faster", "slower", "alike", "equal", "undecided", "too_few",
        "less_often", "more_often",
    )  # fmt: skip
    return {
        "challenger": finding.challenger,
        **vars(found.overall),
        "best": _case(found.best),
        "worst": _case(found.worst),
        **{name: getattr(found, name) for name in counts},
        "depends_on": [vars(influence) for influence in finding.ranking],
        "accounts": accounts and {"baseline_ms": accounts.baseline, "challenger_ms": accounts.variant},
        "tables": [{"by": list(cube.by), "rows": list(_rows(cube))} for cube in finding.cubes],
    }


def _case(case: Case) -> dict[str, Any]:
    return vars(case)


def _rows(cube: Cube) -> Iterator[dict[str, Level | None]]:
    """Give the rows of a table; of margins the factor is null."""
    for row in cube.rows:
        yield {**dict(zip(cube.by, row.levels, strict=True)), **vars(row.figures)}
