"""What captures say of a server's users, in words and as tables in files."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone import text
from loadstone.captures.traffic import DISTRIBUTIONS
from loadstone.files import InputError

_SHOWN = 20
"""Groups in words; the others are in the document and in the files."""
_SHARES = {
    "connections_rtt_400_ms_or_more": "connections with a round trip of 400 ms or more",
    "connections_below_64_kb": "connections with less than 64 KB to the client",
    "connections_nothing_sent_again": "connections of which nothing was sent again",
    "connections_over_10_pct_sent_again": "connections of which over 10 % was sent again",
    "connections_with_one_request": "connections with one request",
    "responses_below_25_kb": "responses of less than 25 KB",
    "responses_60_kb_or_more": "responses of 60 KB or more",
    "bytes_in_responses_60_kb_or_more": "bytes that are in these",
    "gaps_below_1_s": "gaps before a request of less than 1 s",
    "gaps_above_rto": "gaps that are longer than the RTO",
}

Document = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """A table of words; the first row is its head."""

    title: str
    rows: list[list[str]]


def in_words(found: Document) -> str:
    """Show all of it, but for the smaller groups."""
    counts = f"{text.count(found['connections'], 'connection')}, {text.count(found['exchanges'], 'exchange')}"
    comments = [text.shorten(text.harmless(comment), 200) for comment in found["comments"]]
    parts = ["\n".join([*comments, counts])]
    spread, shares, *others = (text.table(one.rows) for one in tables(found, _SHOWN))
    parts += [spread, shares]
    if found["knees"]:
        parts.append(knees_in_words(found["knees"]))
    titles = [one.title for one in tables(found, _SHOWN)[2:]]
    parts += [f"{title}:\n{table}" for title, table in zip(titles, others, strict=True)]
    return "\n\n".join(parts)


def tables(found: Document, groups: int) -> list[Rows]:
    """Give all figures as tables: distributions, shares, windows if any are known, and so many groups."""
    shares = [[said, _number(found["shares"][name], " %")] for name, said in _SHARES.items()]
    return [
        Rows("How is it spread?", _distributions(found["distributions"])),
        Rows("How much is so?", [["", "share"], *shares]),
        *(
            [Rows("A response in round trips, by the server's initial window", _windows(found["windows"]))]
            if found["windows"]
            else []
        ),
        _groups(found, groups),
    ]


def knees_in_words(knees: Sequence[Document]) -> str:
    """Say which durations stand out."""
    shown = (f"{knee['duration_ms'] / 1e3:,.2f} s ({knee['pct']:.1f} %)" for knee in knees)
    return f"Durations that stand out: {', '.join(shown)}"


def _distributions(distributions: Document) -> list[list[str]]:
    head = ["", *next(iter(distributions.values()))]
    rows = [
        [said, *(_value(name, statistic, value) for statistic, value in distributions[name].items())]
        for name, said in DISTRIBUTIONS.items()
    ]
    return [head, *rows]


def _value(name: str, statistic: str, value: float | None) -> str:
    if statistic == "count":
        return f"{value:,}"
    if "bytes" in name and value is not None:
        return text.size(round(value))
    return _number(value)


def _number(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:,.1f}{unit}"


def _windows(windows: list[Document]) -> list[list[str]]:
    head = ["segments", "responses", "p50", "p80", "p80 of first ones", "sent again"]
    rows = [
        [
            f"{row['initial_window']}",
            f"{row['responses']:,}",
            *(_number(row[name]) for name in ("p50_rtts", "p80_rtts", "first_p80_rtts")),
            f"{row['retransmitted_packets']:,}",
        ]
        for row in windows
    ]
    return [head, *rows]


def _groups(found: Document, most: int) -> Rows:
    groups = found["groups"]
    title = f"By {found['by']}, those with most connections"
    if len(groups) > most:
        title += f" ({most} of {len(groups)})"
    head = [found["by"], "connections", "rtt p10", "p50", "p90 ms", "again p10", "p50", "p90 %"]
    names = [f"{column}_p{share}" for column in ("rtt_ms", "retransmitted_pct") for share in (10, 50, 90)]
    rows = [
        [
            "?" if row["group"] is None else row["group"],
            f"{row['connections']:,}",
            *(_number(row[name]) for name in names),
        ]
        for row in groups[:most]
    ]
    return Rows(title, [head, *rows])


def write(found: Document, folder: str) -> None:
    """Write distributions, shares, windows and groups as CSV into a folder.

    Raises:
        InputError: if it cannot be written.
    """
    files = {
        "distributions.csv": [{"name": name, **of} for name, of in found["distributions"].items()],
        "shares.csv": [{"name": name, "pct": share} for name, share in found["shares"].items()],
        "windows.csv": found["windows"],
        "groups.csv": found["groups"],
    }
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, rows in files.items():
            Path(folder, name).write_text(_csv(rows))
    except OSError as error:
        raise InputError(
            f"-o {folder}: cannot be written ({(error.strerror or str(error)).lower()})"
        ) from None


def _csv(rows: list[Document]) -> str:
    if not rows:
        return ""
    written = io.StringIO()
    table = csv.DictWriter(written, rows[0].keys(), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()
