"""What each setting of the laboratory is worth: the scores with all of them, and without each.

Prints a Markdown table: `.venv/bin/python studies/cablelabs/ablation.py`.
"""

from dataclasses import replace

import click

from loadstone.reproduce.claims import rows
from loadstone.reproduce.study import Runner
from loadstone.stores.matrix import Matrix, Settings
from loadstone.studies.cablelabs import laboratory, tables
from loadstone.studies.cablelabs.assumptions import (
    KEPT_ALIVE,
    NO_MEMORY,
    NO_NAGLE,
    NO_WORK,
    TLS_1_2,
    TOGETHER,
    with_network,
    without,
)
from loadstone.studies.cablelabs.laboratory import FOLDER, KINDS, WIN7, WINXP, Pair

WITHOUT: dict[str, tuple[Settings, Settings]] = {
    "connections that are closed after a response": ({}, KEPT_ALIVE),
    "responses that Nagle's algorithm holds back": (NO_NAGLE, {}),
    "False Start and a small certificate (TLS 1.2)": (TLS_1_2, {}),
    "requests that join a session one by one": ({}, TOGETHER),
    "thresholds that the kernel remembers": (NO_MEMORY, {}),
    "a server with one processor": ({}, NO_WORK),
    "Linux 2.6 and Windows 7 (linux-6)": ({"tcp": None, "client_tcp": None}, {}),
}
"""What is taken away: of what all options set, and of what single ones do. `None` takes a setting out."""
NETWORKS = {
    "loss in both directions": ("%/0%", "%"),
    "a queue of 50 packets": ("150p", "50p"),
    "a queue of 100 packets": ("150p", "100p"),
    "a queue of 100 ms": ("150p", "100ms"),
}


def variations(matrix: Matrix) -> dict[str, Matrix]:
    """Give the matrix as it is, and with each setting otherwise."""
    changed = {f"without {name}": without(matrix, *taken) for name, taken in WITHOUT.items()}
    networks = {f"with {name}": with_network(matrix, *change) for name, change in NETWORKS.items()}
    return {"all": matrix, **changed, **networks}


def credible() -> str:
    """Say with how many servers and how much loss any published time on Windows 7 is credible."""
    published = rows(FOLDER / "published.csv")
    sound = [row for row in published if row["client"] == WIN7 and row["sound"] == "1"]
    kinds = dict.fromkeys((row["servers"], row["loss_pct"]) for row in sound)
    return " or ".join(f"servers == {servers} and loss == {loss}" for servers, loss in kinds)


def pairs_of(runner: Runner, matrix: Matrix) -> list[Pair]:
    """Run the conditions of Windows 7 and Windows XP whose published times are credible."""
    clients = laboratory.clients(matrix)
    chosen = {WIN7: replace(clients[WIN7], where=credible()), WINXP: clients[WINXP]}
    runs = {client: laboratory.in_study_terms(runner.runs(each)) for client, each in chosen.items()}
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
    for name, each in variations(matrix).items():
        click.echo(line(name, pairs_of(runner, each)))


if __name__ == "__main__":
    main()
