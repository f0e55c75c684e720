"""What each assumption is worth: the scores with all of them, and with each otherwise.

What leaves the load times about as near is left open by the study (`assumptions.LEFT_OPEN`); the first two
are not. Prints a Markdown table: `.venv/bin/python studies/cablelabs/ablation.py`.
"""

from collections.abc import Mapping
from dataclasses import replace

import click

from loadstone.reproduce.claims import rows
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix
from loadstone.studies.cablelabs import laboratory, tables
from loadstone.studies.cablelabs.assumptions import KEPT_ALIVE, LEFT_OPEN, STATED, Assumption, without
from loadstone.studies.cablelabs.laboratory import FOLDER, KINDS, WIN7, WINXP, Pair

EXCLUDED = {
    "connections that are kept alive": Assumption(lambda matrix: without(matrix, {}, KEPT_ALIVE)),
    "Linux 6 at both ends": Assumption(lambda matrix: without(matrix, {"tcp": None, "client_tcp": None}, {})),
}
"""What the study's figures or its text exclude."""
VARIATIONS: Mapping[str, Assumption] = {"all as stated": STATED, **EXCLUDED, **LEFT_OPEN}


def credible() -> str:
    """Say with how many servers and how much loss any published time on Windows 7 is credible."""
    published = rows(FOLDER / "published.csv")
    sound = [row for row in published if row["client"] == WIN7 and row["sound"] == "1"]
    kinds = dict.fromkeys((row["servers"], row["loss_pct"]) for row in sound)
    return " or ".join(f"servers == {servers} and loss == {loss}" for servers, loss in kinds)


def pairs_of(runner: Runner, matrix: Matrix, assumed: Assumption) -> list[Pair]:
    """Run the conditions of Windows 7 and Windows XP whose published times are credible."""
    clients = laboratory.clients(assumed.matrix(matrix))
    chosen = {WIN7: replace(clients[WIN7], where=credible()), WINXP: clients[WINXP]}
    runs = {
        client: laboratory.in_study_terms(runner.runs(each), assumed.browser_ms)
        for client, each in chosen.items()
    }
    return [pair for pair in laboratory.pairs(runs) if pair.is_sound]


def line(name: str, pairs: list[Pair]) -> str:
    """Write the scores of a variation."""
    cells = []
    for option in KINDS:
        for page in tables.PAGES:
            asked = [pair for pair in pairs if pair.condition.page == page and option in pair.theirs]
            cells.append(str(tables.score(asked, option)))
    return f"| {name} | {' | '.join(cells)} | {tables.of_times(pairs):.2f} |"


def main() -> None:
    """Print the table."""
    runner = Runner(None, lambda done, total: None)
    matrix = runner.matrix(FOLDER / "matrix.toml")
    head = [f"{kind}, {page}" for kind in KINDS.values() for page in tables.PAGES]
    click.echo(f"| | {' | '.join(head)} | times |\n|{'---|' * (len(head) + 2)}")
    for name, assumed in VARIATIONS.items():
        click.echo(line(name, pairs_of(runner, matrix, assumed)))


if __name__ == "__main__":
    main()
