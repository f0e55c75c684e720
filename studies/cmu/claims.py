"""What becomes of each claim of the study `cmu`."""

from collections.abc import Callable, Sequence

import polars as pl

from loadstone.reproduce.claims import NEAR, Judged
from loadstone.reproduce.judge import Figure, Judge, above

from .laboratory import CONDITIONS, FOLDER, HTTP, HTTPS, LOSSES, SITES, SPDY, Laboratory

_SET_UPS = {
    "CM01": "1 Mbit/s each way",
    "CM02": "a round trip of 100 ms",
    "CM03": "0.5 % of the packets of each direction",
    "CM04": "10 seeds and more, each under its own",
    "CM05": "made pages with the bytes and requests of table 1",
    "CM06": "not modelled: the throttled link is the narrow one",
    "CM26": "16 to 34 %, as in table 1",
}
_OPTIMISED = "BoostEdge recompresses images and holds content back, which is not modelled"
_WITH_BOOSTEDGE = [
    *range(10, 16),
    *range(19, 26),
    *range(30, 34),
    *range(37, 42),
    *range(45, 50),
]
_COSTS = {"CM07": ("", "0"), "CM16": ("", "0.5"), "CM27": ("heaviest", "0"), "CM34": ("lightest", "0")}
_GAINS = {"CM08": ("", "0"), "CM17": ("", "0.5"), "CM28": ("heaviest", "0"), "CM35": ("lightest", "0")}
_POINTS = {"CM09": ("", "0"), "CM18": ("", "0.5"), "CM29": ("heaviest", "0"), "CM36": ("lightest", "0")}


def judge(laboratory: Laboratory) -> list[Judged]:
    """Judge every claim."""
    judge = Judge(FOLDER)
    for id, ours in _SET_UPS.items():
        judge.set_up(id, ours)
    for number in _WITH_BOOSTEDGE:
        judge.not_testable(f"CM{number}", _OPTIMISED)
    for claims, figure in ((_COSTS, cost), (_GAINS, gain), (_POINTS, points)):
        for id, (group, loss) in claims.items():
            judge.number(id, laboratory.evidence(group=group, losses=[loss]), figure, digits=1)
    _by_requests(judge, laboratory)
    _by_weight(judge, laboratory)
    _by_loss(judge, laboratory)
    return judge.judged()


# --- what is compared: means over the sites, in percent of HTTP's ---


def means(loads: pl.DataFrame) -> dict[str, float]:
    """Give the mean of each condition over sites and seeds, in ms."""
    found = loads.group_by("condition", maintain_order=True).agg(pl.col("plt_ms").mean())
    return dict(found.iter_rows())


def cost(loads: pl.DataFrame) -> float:
    """Say how much longer HTTP takes by the Flip server."""
    mean = means(loads)
    return 100 * (mean[HTTPS] / mean[HTTP] - 1)


def gain(loads: pl.DataFrame) -> float:
    """Say how much faster SPDY is than HTTP straight."""
    mean = means(loads)
    return 100 * (1 - mean[SPDY] / mean[HTTP])


def points(loads: pl.DataFrame) -> float:
    """Say how much faster SPDY is than HTTP, both by the Flip server, in points of HTTP straight."""
    return cost(loads) + gain(loads)


# --- which sites ---


def of_group(loads: pl.DataFrame, group: str) -> pl.DataFrame:
    """Give the loads of a group of sites."""
    return loads.filter(pl.col("site").is_in([site.name for site in SITES if group in site.groups]))


def _by_requests(judge: Judge, laboratory: Laboratory) -> None:
    without_loss = laboratory.evidence(losses=["0"])
    theirs = {"CM43": (cost, (8.5, 11.0)), "CM44": (points, (15.0, 9.0))}
    for id, (figure, (most, fewest)) in theirs.items():
        judge.finding(id, without_loss, _near(figure, {"most_requests": most, "fewest_requests": fewest}))
    judge.finding(
        "CM50",
        without_loss,
        lambda loads: [
            above(
                "points more with most requests",
                points(of_group(loads, "most_requests")) - points(of_group(loads, "fewest_requests")),
                0,
                1,
            )
        ],
    )


def _near(
    figure: Callable[[pl.DataFrame], float], theirs: dict[str, float]
) -> Callable[[pl.DataFrame], Sequence[Figure]]:
    """Test a figure of some groups, each of which the study prints."""

    def test(loads: pl.DataFrame) -> Sequence[Figure]:
        return [
            Figure(group.replace("_", " "), figure(of_group(loads, group)), *_bounds(value), 1, "%")
            for group, value in theirs.items()
        ]

    return test


def _bounds(value: float) -> tuple[float, float]:
    return value * (1 - NEAR), value * (1 + NEAR)


def _by_weight(judge: Judge, laboratory: Laboratory) -> None:
    loads = laboratory.loads(laboratory.evidence().seeds).filter(pl.col("loss") == "0")
    light, heavy = (points(of_group(loads, group)) for group in ("lightest", "heaviest"))
    ours = f"SPDY's part: {light:.1f} points on light pages, {heavy:.1f} on heavy ones"
    judge.not_testable("CM42", _OPTIMISED, ours)


# --- what loss does ---


def _by_loss(judge: Judge, laboratory: Laboratory) -> None:
    judge.finding("CM51", laboratory.evidence(compared="loss"), _longer_and_wider)
    judge.finding(
        "CM52", laboratory.evidence(), _faster_at_each_loss, "table 6 of the study says -2.4 % with loss"
    )


def _longer_and_wider(loads: pl.DataFrame) -> Sequence[Figure]:
    figures = []
    for condition in CONDITIONS:
        without, with_loss = (
            loads.filter(pl.col("condition") == condition, pl.col("loss") == loss) for loss in LOSSES
        )
        longer = 100 * (_mean(with_loss) / _mean(without) - 1)
        figures.append(above(f"{condition} longer by", longer, 0, 1, "%"))
        figures.append(above("and wider by", _scatter(with_loss) - _scatter(without), 0, 1, "%"))
    return figures


def _mean(loads: pl.DataFrame) -> float:
    return float(loads.select(pl.col("plt_ms").mean()).item())


def _scatter(loads: pl.DataFrame) -> float:
    """Give the standard deviation of a site's loads in percent of their mean, as the mean over sites."""
    of_site = loads.group_by("site", maintain_order=True).agg(
        pl.col("plt_ms").std() / pl.col("plt_ms").mean()
    )
    return 100 * float(of_site.select(pl.col("plt_ms").mean()).item())


def _faster_at_each_loss(loads: pl.DataFrame) -> Sequence[Figure]:
    return [
        above(f"loss {loss} %: SPDY faster by", gain(loads.filter(pl.col("loss") == loss)), 0, 1, "%")
        for loss in LOSSES
    ]
