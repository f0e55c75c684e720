"""The study's reasons, tested: each names a mechanism, which is switched off, with the account beside it."""

import polars as pl

from loadstone.analysis.question import Level
from loadstone.reproduce.evidence import Evidence
from loadstone.reproduce.judge import Figure, Judge, above, below
from loadstone.stores.matrix import Settings

from .assumptions import KEPT_ALIVE
from .explanations import measure_page_c, unexplained
from .laboratory import BASE, FACTORS, SPDY, WINDOW, Laboratory
from .loads import Loads, Only

_HALF = 50
"""Percent: a mechanism that explains less is not the reason."""
_TRIPS = ("handshakes_ms", "waiting_for_connection_ms", "request_round_trips_ms")
"""Parts of the account that are round trips."""
_NOTHING = 0.05
"""ln of a gain that is none."""
_LOSS = ("plt_ms", "loss_recovery_ms")
_SMALL, _LARGE = "synthetic:A", "synthetic:objects=102,size=10KB"
"""Page A, and one with as many objects that need more than three packets."""


def judge(judge: Judge, found: Laboratory, loads: Loads) -> None:
    """Judge them."""
    judge.finding("CL94", _by_connections(loads), _one_connection)
    judge.finding("CL95", _by_joining(loads), _parallelism)
    judge.finding("CL96", _by_sessions(loads), _long_sessions)
    judge.finding("CL97", _by_size(loads), _small_objects)
    judge.finding("CL98", _by_round_trip(loads), _round_trips)
    ours, why = unexplained(measure_page_c(found, loads.runner))
    judge.undecided("CL99", why, ours)


def _kept(loads: Loads, option: str, **own: object) -> Settings:
    """Give an option whose connections are kept alive."""
    settings = {
        name: value for name, value in loads.matrix.variants[option].items() if name not in KEPT_ALIVE
    }
    return {**settings, **own}


def _ln(runs: pl.DataFrame, option: str, **at: Level) -> float:
    """Give the mean of ln of the median load times."""
    chosen = runs.filter(pl.col("option") == option, *(pl.col(name) == level for name, level in at.items()))
    mean = chosen.group_by(FACTORS).agg(pl.col("plt_ms").median().log())["plt_ms"].mean()
    assert isinstance(mean, float)
    return mean


def _percent(part: float, whole: float) -> float:
    """Give a share; there is none of nothing."""
    return 100 * part / whole if whole else 0.0


def _mean(runs: pl.DataFrame, option: str, what: str, **at: Level) -> float:
    """Give the mean of a part of the account, or of the load times."""
    chosen = runs.filter(pl.col("option") == option, *(pl.col(name) == level for name, level in at.items()))
    mean = chosen[what].mean()
    assert isinstance(mean, float)
    return mean


# --- loss hurts SPDY more because it has one connection ---


def _by_connections(loads: Loads) -> Evidence:
    """Take page C, whose objects are large, over six kept connections, over one, and over SPDY."""
    variants = {
        "six": _kept(loads, BASE),
        "one": _kept(loads, BASE, connections=1),
        SPDY: loads.matrix.variants[SPDY],
    }
    return loads.of_variants({"page": ["synthetic:C"], "servers": [1]}, variants, _LOSS)


def _one_connection(runs: pl.DataFrame) -> list[Figure]:
    longer = {
        name: _ln(runs, name, loss_pct=1) - _ln(runs, name, loss_pct=0) for name in ("six", "one", SPDY)
    }
    share = _percent(longer["one"] - longer["six"], longer[SPDY] - longer["six"])
    return [
        above("SPDY's loss effect less that of six connections, ln", longer[SPDY] - longer["six"], 0),
        above("of that one connection of HTTPS has", share, _HALF, 0, "%"),
        *(
            Figure(f"recovery with loss, {name}", _mean(runs, name, "loss_recovery_ms", loss_pct=1), digits=0)
            for name in longer
        ),
    ]


# --- more servers leave SPDY less, because HTTPS has more connections and a session fewer objects ---

_TOGETHER = "SPDY, requests together"


def _by_joining(loads: Loads) -> Evidence:
    """Take pages A and B without loss, over SPDY whose requests join a session one by one, and together.

    One by one is another reason than the study's: on an unknown server each opens a connection of its own.
    """
    together = {
        name: value for name, value in loads.matrix.variants[SPDY].items() if name != "variant.joining"
    }
    variants = {BASE: loads.matrix.variants[BASE], SPDY: loads.matrix.variants[SPDY], _TOGETHER: together}
    only: Only = {"page": ["synthetic:A", "synthetic:B"], "loss": [0]}
    parts = ("plt_ms", "handshakes_ms")
    return loads.of_variants(only, variants, parts, but=("requests that join a session together",))


def _parallelism(runs: pl.DataFrame) -> list[Figure]:
    def shrinks(option: str) -> float:
        one, four = (_ln(runs, BASE, servers=n) - _ln(runs, option, servers=n) for n in (1, 4))
        return one - four

    handshakes = [_mean(runs, SPDY, "handshakes_ms", servers=n) for n in (1, 4)]
    return [
        above("SPDY's gain shrinks from one to four servers, ln", shrinks(SPDY), 0),
        above(
            "of that without joining one by one", _percent(shrinks(_TOGETHER), shrinks(SPDY)), _HALF, 0, "%"
        ),
        Figure("SPDY's handshakes, one server", handshakes[0], digits=0, unit="ms"),
        Figure("four", handshakes[1], digits=0, unit="ms"),
    ]


# --- a larger window helps SPDY more, because its sessions have many round trips ---

_KEPT, _KEPT_TEN, _TEN = "HTTPS kept, window 3", "HTTPS kept, window 10", "SPDY, window 10"


def _by_sessions(loads: Loads) -> Evidence:
    """Take all pages without loss, over connections for one object, over kept ones, and over SPDY."""
    own = (BASE, WINDOW, SPDY, _TEN)
    kept = {_KEPT: _kept(loads, BASE), _KEPT_TEN: _kept(loads, WINDOW)}
    variants = {**{option: loads.matrix.variants[option] for option in own}, **kept}
    return loads.of_variants({"loss": [0]}, variants, ("plt_ms", "transfer_ms"))


def _long_sessions(runs: pl.DataFrame) -> list[Figure]:
    def gain(three: str, ten: str) -> float:
        return _ln(runs, three) - _ln(runs, ten)

    closed = gain(BASE, WINDOW)
    saved = 1 - _mean(runs, _TEN, "transfer_ms") / _mean(runs, SPDY, "transfer_ms")
    return [
        above("the window's gain, ln: over SPDY less over HTTPS", gain(SPDY, _TEN) - closed, 0),
        above("over kept connections less over ones for an object", gain(_KEPT, _KEPT_TEN) - closed, 0),
        Figure("of SPDY's transfer it saves", 100 * saved, digits=0, unit="%"),
    ]


# --- a larger window does nothing for page A, because its objects need three packets or fewer ---


def _by_size(loads: Loads) -> Evidence:
    """Take page A, and a page of as many larger objects, from one server without loss."""
    variants = {option: loads.matrix.variants[option] for option in (BASE, WINDOW)}
    return loads.of_variants({"page": [_SMALL, _LARGE], "servers": [1], "loss": [0]}, variants)


def _small_objects(runs: pl.DataFrame) -> list[Figure]:
    small, large = (
        _ln(runs, BASE, page=page) - _ln(runs, WINDOW, page=page)
        for page in (name.removeprefix("synthetic:") for name in (_SMALL, _LARGE))
    )
    return [
        Figure("the window's gain, ln: page A", small, -_NOTHING, _NOTHING),
        above("with objects of 10 KB, more by", large - small, 0),
    ]


# --- without loss SPDY gains more at long round trips, because it needs fewer of them ---


def _by_round_trip(loads: Loads) -> Evidence:
    """Take pages A and B without loss, and HTTPS with kept connections, which needs fewer handshakes."""
    variants = {
        BASE: loads.matrix.variants[BASE],
        _KEPT: _kept(loads, BASE),
        SPDY: loads.matrix.variants[SPDY],
    }
    only: Only = {"page": ["synthetic:A", "synthetic:B"], "loss": [0]}
    return loads.of_variants(only, variants, ("plt_ms", *_TRIPS))


def _round_trips(runs: pl.DataFrame) -> list[Figure]:
    def grows(what: str, option: str = BASE) -> float:
        """Say by how much more SPDY saves at 100 ms than at 20 ms."""
        far, near = (
            _mean(runs, option, what, rtt_ms=rtt) - _mean(runs, SPDY, what, rtt_ms=rtt) for rtt in (100, 20)
        )
        return far - near

    whole, kept = grows("plt_ms"), grows("plt_ms", _KEPT)
    share = _percent(sum(grows(part) for part in _TRIPS), whole)
    return [
        above("SPDY saves more at 100 ms than at 20 ms by", whole, 0, 0, "ms"),
        above("of that are round trips", share, _HALF, 0, "%"),
        below("with kept connections, which need fewer, of it", _percent(kept, whole), 100, 0, "%"),
    ]
