"""What each setting of the laboratory is worth: the scores with all of them, and without each.

Prints a Markdown table: `.venv/bin/python studies/cablelabs/ablation.py`.
"""

from collections.abc import Mapping
from dataclasses import replace

import click

from loadstone.reproduce.cablelabs import laboratory, scores
from loadstone.reproduce.cablelabs.laboratory import KINDS, STUDY, WIN7, WINXP, Pair
from loadstone.reproduce.study import Runner
from loadstone.sweep.matrix import Matrix, Settings

SOUND = "loss == 0 or servers == 1"
"""The conditions whose published times on Windows 7 are credible."""

HTTPS_ONLY = {"requests_per_connection": None, "variant.closing": None}
NO_WORK = {"variant.work.response_us": None, "variant.work.megabyte_us": None}
TCP = "variant.tcp.mechanisms."

WITHOUT: dict[str, tuple[Settings, Settings]] = {
    "connections that are closed after a response": ({}, HTTPS_ONLY),
    "responses that Nagle's algorithm holds back": ({TCP + "nagle": False}, {}),
    "False Start and a small certificate (TLS 1.2)": ({"tls": "1.2"}, {}),
    "requests that join a session one by one": ({}, {"variant.joining": None}),
    "thresholds that the kernel remembers": ({TCP + "metrics": False, "variant.earlier_loads": None}, {}),
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


def less(settings: Mapping[str, object], taken: Settings) -> Settings:
    """Give the settings with those changed that they have."""
    changed = {name: taken.get(name, value) for name, value in settings.items()}
    return {name: value for name, value in changed.items() if value is not None}


def variations(matrix: Matrix) -> dict[str, Matrix]:
    """Give the matrix as it is, and with each setting otherwise."""
    made = {"all": matrix}
    for name, (common, own) in WITHOUT.items():
        variants = {option: less(settings, own) for option, settings in matrix.variants.items()}
        made[f"without {name}"] = replace(matrix, common=less(matrix.common, common), variants=variants)
    network = str(matrix.common["network"])
    for name, (old, new) in NETWORKS.items():
        made[f"with {name}"] = replace(matrix, common={**matrix.common, "network": network.replace(old, new)})
    return made


def pairs_of(runner: Runner, matrix: Matrix) -> list[Pair]:
    """Run the credible conditions of Windows 7 and Windows XP."""
    clients = laboratory.clients(matrix)
    chosen = {WIN7: replace(clients[WIN7], where=SOUND), WINXP: clients[WINXP]}
    runs = {client: laboratory.in_terms(runner.runs(each)) for client, each in chosen.items()}
    return [pair for pair in laboratory.pairs(runs) if pair.is_sound]


def line(name: str, pairs: list[Pair]) -> str:
    """Write the scores of a variation."""
    cells = []
    for option in KINDS:
        for page in scores.PAGES:
            asked = [pair for pair in pairs if pair.condition.page == page and option in pair.theirs]
            cells.append(str(scores.score(asked, option)))
    return f"| {name} | {' | '.join(cells)} | {scores.of_times(pairs):.2f} |"


def main() -> None:
    """Print the table."""
    runner = Runner(None, lambda done, total: None)
    matrix = runner.matrix(STUDY, "matrix.toml")
    head = [f"{kind}, {page}" for kind in KINDS.values() for page in scores.PAGES]
    click.echo(f"| | {' | '.join(head)} | times |\n|{'---|' * (len(head) + 2)}")
    for name, each in variations(matrix).items():
        click.echo(line(name, pairs_of(runner, each)))


if __name__ == "__main__":
    main()
