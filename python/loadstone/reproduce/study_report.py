"""What a study gave: as text, Markdown, CSV and JSON, and as a folder of files."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from markupsafe import Markup

from loadstone import __version__, files, text
from loadstone.analysis.sections import Section
from loadstone.files import InputError, Kind
from loadstone.html import PAGE
from loadstone.html.templates import embedded, environment
from loadstone.reproduce.altered import FAMILY
from loadstone.reproduce.claims import Judged, Verdict
from loadstone.reproduce.study import Results, Study, Table


def counts(results: Results) -> str:
    """Say how many claims came out."""
    found = Counter(judged.verdict for judged in results.judged)
    said = ", ".join(f"{found[verdict]} {verdict.value}" for verdict in Verdict if verdict != Verdict.SET_UP)
    could = len(results.judged) - found[Verdict.SET_UP]
    made = found[Verdict.SET_UP]
    of_that = f" {text.count(made, 'claim says', 'claims say')} how the laboratory was made." if made else ""
    return f"Of {text.count(could, 'claim')}: {said}.{of_that}"


def cells_csv(results: Results) -> str:
    """Write every figure that the study prints beside ours: its tables, then the numbers of its claims.

    The columns: `claim`, the factors of the tables, `variant` or what a claim says, `published`, `ours`,
    `unit`, `sound`, and `left_out`: why there is none of ours.
    """
    lines = io.StringIO()
    write = csv.writer(lines, lineterminator="\n").writerow
    factors = list(results.cells[0].factors) if results.cells else []
    write(["claim", *factors, "variant", "published", "ours", "unit", "sound", "left_out"])
    for cell in results.cells:
        levels = [cell.factors[name] for name in factors]
        write(["", *levels, cell.variant, cell.published, cell.ours, cell.unit, int(cell.is_sound), ""])
    for judged in results.judged:
        claim = judged.claim
        if claim.kind == "finding" or claim.value is None:
            continue
        left_out = "" if judged.value is not None else judged.why or _SET_UP
        said = [claim.says, claim.value, judged.value, claim.unit, 1, left_out]
        write([claim.id, *("" for _ in factors), *said])
    return lines.getvalue()


_SET_UP = "it was put in"


def claims_csv(results: Results) -> str:
    """Write every claim as a line, with its verdict."""
    lines = io.StringIO()
    write = csv.writer(lines, lineterminator="\n").writerow
    write(
        ["id", "verdict", "ours", "says", "relation", "value", "most", "unit", "section", "why", "fails_in"]
    )
    for judged in results.judged:
        claim = judged.claim
        said = [claim.says, claim.relation, claim.value, claim.most, claim.unit, claim.section]
        write(
            [
                claim.id,
                judged.verdict.value,
                judged.ours,
                *said,
                judged.why,
                " ".join(sorted(judged.fails_in)),
            ]
        )
    return lines.getvalue()


def document(study: Study, results: Results) -> dict[str, Any]:
    """Give everything for programs."""
    return {
        "version": __version__,
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "counts": dict(Counter(judged.verdict.value for judged in results.judged)),
        "claims": [
            {
                "id": one.claim.id,
                "verdict": one.verdict.value,
                "ours": one.ours,
                "why": one.why,
                "altered": dict(one.altered),
            }
            for one in results.judged
        ],
        "cells": [
            {
                **cell.factors,
                "variant": cell.variant,
                "published": cell.published,
                "ours": cell.ours,
                "unit": cell.unit,
                "sound": cell.is_sound,
            }
            for cell in results.cells
        ],
        "tables": {
            table.name: {
                "title": table.title,
                "head": list(table.head),
                "rows": [[*row] for row in table.rows],
            }
            for table in results.tables
        },
    }


def in_words(study: Study, results: Results) -> str:
    """Write it for a terminal: tables, then claims."""
    parts = [f"{study.title} ({study.source})", counts(results)]
    for table in results.tables:
        parts.append(f"{table.title}\n{text.table([table.head, *table.rows], table.left)}")
        parts += [table.note] if table.note else []
    parts.append(text.table([["claim", "verdict", "ours", "study"], *map(_brief, results.judged)], 4))
    if (altered := altered_table(results)).rows:
        parts.append(f"{altered.title}\n{text.table([altered.head, *altered.rows], altered.left)}")
        parts.append(altered.note)
    return "\n\n".join(parts)


def _brief(judged: Judged) -> list[str]:
    return [judged.claim.id, judged.verdict.value, text.shorten(judged.ours, 32), theirs(judged)]


def theirs(judged: Judged) -> str:
    """Say what the study says, in short: the number, or what it found."""
    claim = judged.claim
    if claim.value is None or claim.kind != "number":
        return text.shorten(claim.says, 60)
    most = f" to {claim.most:g}" if claim.most is not None else ""
    sign = {"eq": "", "approx": "about ", "range": "", "upto": "up to ", "share": "", "gain": ""}.get(
        claim.relation, f"{claim.relation} "
    )
    return text.shorten(f"{sign}{claim.value:g}{most} {claim.unit}: {claim.says}", 60)


def markdown(study: Study, results: Results) -> str:
    """Write it as a page of Markdown."""
    return "\n\n".join(_blocks(study, results)) + "\n"


def _blocks(study: Study, results: Results) -> Iterator[str]:
    yield f"# {study.name}: {study.title}"
    yield f"{study.source}. {counts(results)}"
    for table in results.tables:
        yield f"## {table.title}"
        yield _grid(table)
        if table.note:
            yield table.note
    for passage in results.passages:
        yield f"## {passage.title}"
        yield passage.text
        yield from map(_grid, passage.tables)
    claims = claims_table(results)
    yield f"## {claims.title}"
    yield _grid(claims)
    altered = altered_table(results)
    if altered.rows:
        yield f"## {altered.title}"
        yield _grid(altered)
        yield altered.note


def claims_table(results: Results) -> Table:
    """Give every claim with its verdict."""
    head = ["", "the study", "ours", "verdict", "why"]
    rows = [[one.claim.id, _said(one), one.ours, one.verdict.value, one.why] for one in results.judged]
    return Table("claims", "What became of each claim?", head, rows, left=len(head))


def altered_table(results: Results) -> Table:
    """Give what becomes of each claim that is judged by loads in each altered outcome."""
    rows = [
        [one.claim.id, one.verdict.value, *("holds" if one.altered[name] else "-" for name in FAMILY)]
        for one in results.judged
        if one.altered
    ]
    note = (
        "What a claim would be in other worlds: all variants alike, gains inverted, every effect halved or "
        "doubled, what was measured dealt out anew. -: it does not hold there."
    )
    return Table("altered", "By what could each claim fail?", ["", "verdict", *FAMILY], rows, 7, note)


def _said(judged: Judged) -> str:
    claim = judged.claim
    where = f" ({claim.conditions})" if claim.conditions else ""
    number = "" if claim.kind == "finding" or claim.value is None else f": {_number(judged)}"
    return f"{claim.says}{where}{number}"


def _number(judged: Judged) -> str:
    claim = judged.claim
    most = f" to {claim.most:g}" if claim.most is not None else ""
    return f"{claim.relation} {claim.value:g}{most} {claim.unit}".strip()


def _grid(table: Table) -> str:
    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

    rule = "|" + "|".join("---" if at < table.left else "---:" for at in range(len(table.head))) + "|"
    return "\n".join([line(table.head), rule, *map(line, table.rows)])


# --- as a folder of files ---

_KINDS = {
    "report.html": PAGE,
    "report.md": Kind("report of a study", rb"# [a-z0-9]+: "),
    "cells.csv": Kind("table of cells", rb"claim,[^\n]*\bvariant,published,ours,unit,sound,left_out\n"),
    "claims.csv": Kind("table of claims", rb"id,verdict,ours,says,"),
}


@contextmanager
def folder(path: Path) -> Iterator[Callable[[Study, Results], None]]:
    """Give a function that writes results into a folder; one that cannot be written is refused at once."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"-o {path}: cannot be made ({(error.strerror or str(error)).lower()})") from None
    with ExitStack() as stack:
        writers = [
            stack.enter_context(files.replacement(str(path / name), kind)) for name, kind in _KINDS.items()
        ]

        def write(study: Study, results: Results) -> None:
            contents = (
                html(study, results),
                markdown(study, results),
                cells_csv(results),
                claims_csv(results),
            )
            for writer, content in zip(writers, contents, strict=True):
                writer(content)

        yield write


def html(study: Study, results: Results) -> str:
    """Write it as one page that needs nothing else."""
    template = environment({"plain": text.harmless}).get_template("study.html")
    return template.render(
        study=study,
        counts=counts(results),
        sections=[_section(table) for table in results.tables],
        plots=[(plot.title, Markup(plot.svg), plot.caption) for plot in results.plots],
        passages=[
            (passage.title, passage.text.split("\n\n"), [_section(table) for table in passage.tables])
            for passage in results.passages
        ],
        claims=_section(claims_table(results)),
        altered=_section(altered_table(results)),
        command=f"loadstone reproduce {study.name}",
        version=__version__,
        styles=[embedded("report.css"), embedded("analysis.css")],
    )


def _section(table: Table) -> Section:
    return Section(table.title, [[*table.head], *([*row] for row in table.rows)], table.left, table.note)
