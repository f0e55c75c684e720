"""What a generated CDN is: sites, networks, clients and requests, read from a TOML file.

Every law names its source, in words: a published figure, or that it is assumed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import loadstone
from loadstone import toml
from loadstone.files import InputError
from loadstone.generated.laws import Geometric, Law, LogNormal, Mostly

YAHOO = Path(loadstone.__file__).parent / "studies" / "yahoo" / "cdn.toml"
"""A CDN as the study `yahoo` describes its own."""

MOST_SITES = 100
MOST_PREFIXES = 256
"""Of a site: each is a /24 below one /16."""
MOST_CONNECTIONS = 30
_QUANTILES = {f"p{percent}": percent / 100 for percent in (5, 10, 25, 50, 75, 80, 90, 95, 99)}


@dataclass(frozen=True)
class AccessType:
    """How users reach the network."""

    name: str
    share: float
    rtt_factor: float
    """What the site's round trips are multiplied by."""
    down_mbit: Law
    up_share: float
    """The rate up, of that down."""
    queue_ms: float


@dataclass(frozen=True)
class ClientSystem:
    """A TCP that users have."""

    profile: str
    share: float


@dataclass(frozen=True)
class Site:
    """A server, and those who are near it."""

    name: str
    country: str
    prefixes: int
    networks: int
    """The ASes that these prefixes are in."""
    rtt_ms: Law
    loss_percent: Law
    """Of packets to the client."""


@dataclass(frozen=True)
class Requests:
    """What users ask for."""

    bytes: Law
    of_connection: Law
    """Requests of a connection."""
    gap_ms: Law
    """From the end of a response to the next request, as the server sees it."""
    most_connections: int
    """A user opens up to so many."""


@dataclass(frozen=True)
class CdnModel:
    """A CDN that does not exist."""

    title: str
    server: dict[str, Any]
    """The servers' TCP, in the form of `variant.tcp`."""
    seconds: float
    """Users begin within so long."""
    requests: Requests
    access: Sequence[AccessType]
    clients: Sequence[ClientSystem]
    sites: Sequence[Site]

    @classmethod
    def read(cls, path: str) -> "CdnModel":
        """Read it.

        Raises:
            InputError: with file and place, if something is missing, unknown or out of bounds.
        """
        form = _Form(path, "", toml.read(path, "a generated CDN"))
        model = cls(
            title=form.text("title"),
            server=form.table("server"),
            seconds=form.number("seconds", 1, 86_400),
            requests=_requests(form.form("requests")),
            access=[_access(one) for one in form.forms("access", 20)],
            clients=[
                ClientSystem(one.text("profile"), one.number("share", 0, 1))
                for one in form.forms("client", 20)
            ],
            sites=[_site(one) for one in form.forms("site", MOST_SITES)],
        )
        form.end()
        for name, shares in (("access", model.access), ("client", model.clients)):
            if abs(sum(one.share for one in shares) - 1) > 1e-6:
                raise InputError(f"{path}: {name}: the shares are not 1 together: change one")
        return model


def _requests(form: "_Form") -> Requests:
    return Requests(
        form.law("bytes"),
        form.law("of_connection"),
        form.law("gap_ms"),
        int(form.number("most_connections", 1, MOST_CONNECTIONS)),
    )


def _access(form: "_Form") -> AccessType:
    return AccessType(
        form.text("name"),
        form.number("share", 0, 1),
        form.number("rtt_factor", 0.01, 100),
        form.law("down_mbit"),
        form.number("up_share", 0.001, 1),
        form.number("queue_ms", 1, 10_000),
    )


def _site(form: "_Form") -> Site:
    return Site(
        form.text("name"),
        form.text("country"),
        int(form.number("prefixes", 1, MOST_PREFIXES)),
        int(form.number("networks", 1, MOST_PREFIXES)),
        form.law("rtt_ms"),
        form.law("loss_percent"),
    )


class _Form:
    """A table of the file, whose keys are taken out one by one; what is left is unknown."""

    def __init__(self, path: str, place: str, table: Mapping[str, Any]) -> None:
        self._path, self._place = path, place
        self._left = dict(table)
        self._inner: list[_Form] = []

    def error(self, key: str, why: str) -> InputError:
        """Give the error about a key."""
        return InputError(f"{self._path}: {self._place}{key}: {why}")

    def _take(self, key: str, is_right: Callable[[Any], bool], what: str) -> Any:
        if not is_right(value := self._left.pop(key, None)):
            raise self.error(key, f"give {what}")
        return value

    def text(self, key: str) -> str:
        """Take a text of one line."""
        return cast("str", self._take(key, _is_line, "a text of one line"))

    def number(self, key: str, least: float, most: float) -> float:
        """Take a number within bounds."""
        what = f"a number from {least:g} to {most:g}"
        return float(self._take(key, lambda value: _is_number(value) and least <= value <= most, what))

    def table(self, key: str) -> dict[str, Any]:
        """Take a table as it is."""
        return cast("dict[str, Any]", self._take(key, lambda value: isinstance(value, dict), "a table"))

    def form(self, key: str) -> "_Form":
        """Take a table whose keys are known."""
        return self._within(f"{key}.", self.table(key))

    def forms(self, key: str, most: int) -> list["_Form"]:
        """Take a list of such tables."""

        def is_list(value: Any) -> bool:
            return (
                isinstance(value, list)
                and 0 < len(value) <= most
                and all(isinstance(one, dict) for one in value)
            )

        given = self._take(key, is_list, f"[[{key}]] once, and up to {most} times")
        return [self._within(f"{key} {number}: ", one) for number, one in enumerate(given, 1)]

    def _within(self, place: str, table: Mapping[str, Any]) -> "_Form":
        self._inner.append(inner := _Form(self._path, f"{self._place}{place}", table))
        return inner

    def law(self, key: str) -> Law:
        """Take a law: two quantiles, or one with `half_of_sum`, or a mean; with `none` or `one` for many."""
        form = self.form(key)
        form.text("source")
        found = form._left
        mostly = next((name for name in ("none", "one") if name in found), None)
        share = form.number(mostly, 0, 0.999) if mostly else 0.0
        least = 2 if mostly == "one" else 1
        if "mean" in found:
            mean = form.number("mean", 1, 1e9)
            rest: Law = Geometric(least, (mean - share) / (1 - share))
        else:
            rest = form._log_normal(key)
        return Mostly(share, 1.0 if mostly == "one" else 0.0, rest) if mostly else rest

    def _log_normal(self, key: str) -> LogNormal:
        given = [
            (share, self.number(name, 1e-9, 1e12)) for name, share in _QUANTILES.items() if name in self._left
        ]
        if "half_of_sum" in self._left and len(given) == 1:
            half = self.number("half_of_sum", 1e-9, 1e12)
            if half >= given[0][1]:
                return LogNormal.by_half_of_sum(given[0], half)
            raise self.error("half_of_sum", "give a value above the quantile")
        if len(given) == 2 and given[0][1] <= given[1][1]:
            return LogNormal.by_quantiles(given[0], given[1])
        raise self.error(
            "",
            f"no law: give two of {', '.join(_QUANTILES)} that rise, or one and half_of_sum, or a mean",
        )

    def end(self) -> None:
        """Refuse what was not taken out."""
        if self._left:
            raise self.error(min(self._left), "there is no such key: leave it out")
        for inner in self._inner:
            inner.end()


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 400 and value.isprintable()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
