"""An edge before it is installed: from `edge.toml` to variants that are loaded straight and through it.

All loads go over the access link and the same way behind it. The only difference is that connections to the
edge's names end there. A *cold* edge has nothing; a *warm* one has just served another user the same page. Of
several edges each is loaded through; DNS names the nearest.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

from loadstone import edge, edge_places, experiment, pages, text
from loadstone._native import LoadstoneError, traces_of
from loadstone.edge_places import EdgePlace
from loadstone.experiment import Chosen
from loadstone.files import InputError
from loadstone.names import shown
from loadstone.pages import Page
from loadstone.settings import OF_EDGES, Setting
from loadstone.variants import OTHER_HOSTS, Variant
from loadstone.verb_output import wrapped

REQUEST_US = 23
"""What a request for 10 KB takes of an edge's processor, over TLS (docs/edge.md#what-it-costs)."""

_TABLES = ("front", "origins", "behind", "cache", "admin")
_ELSEWHERE = "1000gbit,0ms,queue=100000p"
"""From the end of the access link to hosts that are none of the edge's: each has its own round trip."""
_ONE = {"objects": [{"url": "http://a.test/", "bytes": 1}]}


class Passage(Enum):
    """How a load gets to the edge's names."""

    STRAIGHT = "straight"
    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True)
class SimulatedEdge:
    """An edge and where it stands."""

    file: str
    origins: Mapping[str, str]
    """The URLs of servers, by the names for which clients ask."""
    backhaul: str
    """The network to the origins from the end of the access link, and from an edge that stands there."""
    cache: int = 0
    """Bytes; 0 is no cache."""
    hit_rate: int | None = None
    """The percentage of URLs whose responses a warm cache has; as their fields say, if it is `None`."""
    request_us: int = REQUEST_US
    connections: int = OF_EDGES["origin_connections"].default
    """The most to an origin."""
    client_share: int = OF_EDGES["client_share"].default
    """The percentage of those that others leave which one client may have."""
    growth: str = OF_EDGES["origin_growth"].default
    """When one more connection to an origin is opened."""
    server_protocol: str = OF_EDGES["origin_protocol"].default
    """What is spoken to origins."""
    protocol: str | None = None
    """The only one in front; all, if it is `None`."""
    multiplexing: Mapping[str, Any] | None = None
    """How sessions of many streams behave in front."""
    notsent_lowat: int = OF_EDGES["notsent_lowat"].default
    """The most bytes that its sockets take beyond what is sent."""
    places: tuple[EdgePlace, ...] = ()
    """Where edges stand, the nearest first; at the end of the access link, if nothing is said."""

    @property
    def front(self) -> Chosen:
        """Give the fields of scenarios by which it behaves in front as its file says."""
        of_streams = {
            f"variant.multiplexing.{field}": value for field, value in (self.multiplexing or {}).items()
        }
        # Origins have it, too: the simulator has one setting for all sockets of servers.
        return {"variant.tcp.notsent_lowat": self.notsent_lowat, **of_streams}

    @property
    def _stands(self) -> tuple[EdgePlace, ...]:
        return self.places or (EdgePlace(self.backhaul),)

    def names_of(self, page: Page) -> tuple[list[str], list[str]]:
        """Give the hosts of a page that the edge serves, and the others."""
        hosts = [*dict.fromkeys(host for _, host in page.content.names_and_hosts())]
        served = [host for host in hosts if self._url_for(host)]
        return served, [host for host in hosts if host not in served]

    def _url_for(self, host: str) -> str | None:
        """Give the URL of a host's origin: of its name with its port, or else of its name with any."""
        named = {name.lower(): url for name, url in self.origins.items()}
        return named.get(host) or named.get(host.partition(":")[0])

    def topology(self, passage: Passage, page: Page, at: EdgePlace | None = None) -> dict[str, Any]:
        """Give hosts and links: browser - access - edge - backhaul - origins, by the nearest edge or another.

        An edge that does not stand at the end of the access link has a way of its own from there. Hosts that
        are none of the edge's are not behind the backhaul.
        """
        served, others = self.names_of(page)
        place = at or self._stands[0]
        is_straight = passage is Passage.STRAIGHT
        via = {} if is_straight else {"via": "edge"}
        standing = {"runs": "junction"} if is_straight else self._relay(served)
        is_away = not is_straight and place.rtt_ms > 0
        end = "exchange" if is_away else "edge"
        hosts = [{"name": "browser", "runs": "browser", **via}, {"name": "edge", **standing}]
        links = [{"name": "access", "between": ["browser", end]}]
        if is_away:
            hosts.append({"name": end, "runs": "junction"})
            links.append({"name": "way", "between": [end, "edge"], "network": place.way})
        hosts.append({"name": "origins", "runs": "origins", "serves": served})
        backhaul = self.backhaul if is_straight else place.backhaul
        links.append({"name": "backhaul", "between": ["edge", "origins"], "network": backhaul})
        if others:
            hosts.append({"name": "elsewhere", "runs": "origins", "serves": others})
            links.append({"name": "elsewhere", "between": [end, "elsewhere"], "network": _ELSEWHERE})
        if passage is Passage.WARM:
            hosts.append({"name": "other user", "runs": "earlier-browser", **via})
            links.append({"name": "other access", "between": ["other user", end]})
        return {"hosts": hosts, "links": links}

    def _relay(self, served: Sequence[str]) -> dict[str, Any]:
        plain = [host for host in served if (self._url_for(host) or "").startswith("http:")]
        fields: dict[str, Any] = {"runs": "relay", "serves": served, "plaintext": plain}
        fields |= {"request_us": self.request_us, "server_connections": self.connections}
        fields |= {"client_share": self.client_share, "server_growth": self.growth}
        fields["server_protocol"] = self.server_protocol
        if self.cache:
            fields["cache"] = self.cache
            if self.hit_rate is not None:
                fields["hit_rate"] = self.hit_rate
        return fields

    def variants(self, read: Sequence[Page], compared: Sequence[Variant], chosen: Chosen) -> list[Variant]:
        """Give each variant straight, then through the edge: by what browsers speak, cold and warm."""
        for page in read:
            self._check(page, [chosen, *(variant.chosen for variant in compared)])
        spoken = [variant for variant in compared if not variant.is_recorded]
        if self.protocol is not None:
            own = [variant for variant in spoken if variant.chosen.get("variant.protocol") == self.protocol]
            spoken = own or [Variant(self.protocol, {"variant.protocol": self.protocol})]
        if not spoken:
            raise InputError("--edge: nothing says what is spoken to the edge: add --variant h2")
        made = [
            self._passing(Passage.STRAIGHT, self._stands[0], variant, f"straight {variant.name}", {})
            for variant in compared
        ]
        # Options come before the file.
        front = {field: value for field, value in self.front.items() if field not in chosen}
        for place in self._stands:
            for passage in (Passage.COLD, Passage.WARM):
                named = [(one, f"{place.name} {one.name} {passage.value}") for one in spoken]
                made += [self._passing(passage, place, one, name, front) for one, name in named]
        return made

    def _passing(
        self, passage: Passage, place: EdgePlace, variant: Variant, name: str, front: Chosen
    ) -> Variant:
        topology = partial(self.topology, passage, at=place)
        return replace(variant, name=name, chosen={**front, **variant.chosen}, topology=topology)

    def _check(self, page: Page, settings: Sequence[Chosen]) -> None:
        """Refuse a page of which the edge has nothing, and what makes other hosts of it."""
        served, others = self.names_of(page)
        if not served:
            named, hosts = (", ".join(names) for names in (self.origins, others))
            why = f"it names {named}, but {page.name} has {hosts}"
            raise InputError(f"{self.file}: origins: {why}: add one of these")
        if any(one.get("variant.servers") or one.get("variant.sharding") in OTHER_HOSTS for one in settings):
            why = f"{self.file} names the page's own hosts"
            raise InputError(f"--edge: {why}: leave out servers and sharding")

    def storable(self, page: Page) -> tuple[int, int]:
        """Count the edge's objects of which fields say whether they may be stored, and all of its objects."""
        served, _ = self.names_of(page)
        listed = zip(json.loads(page.json)["objects"], page.content.names_and_hosts(), strict=True)
        objects = [one for one, (_, host) in listed if host in served]
        return sum(bool(one.get("response_fields")) for one in objects), len(objects)

    def notes(self, read: Sequence[Page]) -> list[str]:
        """Say what the figures assume, and what has to be known of them page by page."""
        left = "connections to origins are open"
        if self.hit_rate is not None:
            left += f", and its cache has the responses of {self.hit_rate} % of URLs"
        elif self.cache:
            left += ", and its cache has what responses allow"
        said = [
            f"The edge of {text.printable(self.file)}: {self.backhaul} to its origins, which straight loads "
            f"pass as well; {self.request_us} us of its processor for each request. Cold, it has nothing. "
            f"Warm, it has just served another user the page: {left}."
        ]
        if self.places:
            stands = [f"{one.name} ({one.rtt_ms:g} ms, {one.backhaul} behind it)" for one in self.places]
            said.append(
                text.printable(
                    f"Edges, by the round trip from the end of the access link: {', '.join(stands)}. "
                    f"DNS names {self.places[0].name}, the nearest."
                )
            )
        for page in read:
            _, others = self.names_of(page)
            name = text.printable(page.name)
            if others:
                said.append(f"{name}: not through the edge, nor over the backhaul: {', '.join(others)}.")
            known, objects = self.storable(page)
            if self.cache and self.hit_rate is None and known < objects:
                which = "no response" if not known else f"only {known} of {objects} responses"
                said.append(
                    f"{name}: {which} of the edge's hosts has fields that say whether it may be stored. The "
                    "others are not stored: --hit-rate assumes how many are."
                )
        return said

    def added_to(self, document: dict[str, Any], read: Sequence[Page]) -> dict[str, Any]:
        """Add what was assumed to the document of the comparison."""
        fields = ("backhaul", "cache", "hit_rate", "request_us")
        said = {"file": shown([self.file])[0], **{name: getattr(self, name) for name in fields}}
        if self.places:
            said["edges"] = {
                place.name: {"rtt_ms": place.rtt_ms, "backhaul": place.backhaul} for place in self.places
            }
        return {**document, "edge": {**said, "notes": self.notes(read)}}

    def below(self, tables: str, read: Sequence[Page]) -> str:
        """Add it below the tables."""
        return "\n\n".join([tables, "\n".join(line for note in self.notes(read) for line in wrapped(note))])


def asked_for(
    path: str | None, backhaul: str | None, hit_rate: int | None, chosen: Chosen
) -> SimulatedEdge | None:
    """Read the edge that a comparison is asked for, if it is asked for one."""
    if path is not None:
        return read(path, backhaul, hit_rate, chosen)
    if backhaul is not None or hit_rate is not None:
        raise InputError("--backhaul and --hit-rate are about an edge: add --edge FILE")
    return None


def read(path: str, backhaul: str | None, hit_rate: int | None, chosen: Chosen) -> SimulatedEdge:
    """Read an edge's file; options come before its table `simulated`."""
    made, own = edge.read_simulated(path)
    if unknown := [name for name in made if name not in _TABLES]:
        raise InputError(f"{path}: {unknown[0]}: there is no such table: take {', '.join(_TABLES)}")
    origins = made["origins"]
    if not origins or not all(_are_urls(urls) for urls in origins.values()):
        raise InputError(f'{path}: origins: write names and URLs, as in "a.test" = "http://127.0.0.1:8080"')
    front = made["front"]
    if front.get("transport") == "plaintext" and chosen.get("variant.tls") != "none":
        raise InputError(f"{path}: front.transport: there is no TLS in front: add --tls none")
    behind, cache = made.get("behind", {}), _given(path, made.get("cache", {}), OF_EDGES["cache"])
    if hit_rate is None:
        hit_rate = _number(path, own, f"{edge.SIMULATED}.hit_rate", 0, 100, None)
    if hit_rate is not None and not cache:
        why = "without a cache nothing is a hit"
        raise InputError(f"{path}: cache.bytes: {why}: set it, as in [cache] bytes = 256_000_000")
    return SimulatedEdge(
        path,
        # Servers of one name are alike, and the simulated one is never busy: any may stand for all.
        {name: urls if isinstance(urls, str) else urls[0] for name, urls in origins.items()},
        _backhaul(path, backhaul, own),
        cache,
        hit_rate,
        _number(path, own, f"{edge.SIMULATED}.request_us", 0, 1_000_000, REQUEST_US) or 0,
        _given(path, behind, OF_EDGES["origin_connections"]),
        _given(path, behind, OF_EDGES["client_share"]),
        _given(path, behind, OF_EDGES["origin_growth"]),
        _given(path, behind, OF_EDGES["origin_protocol"]),
        front.get("protocol"),
        front.get("multiplexing"),
        _given(path, front, OF_EDGES["notsent_lowat"]),
        edge_places.read(path, own["edges"], _network) if "edges" in own else (),
    )


def _are_urls(urls: object) -> bool:
    """Whether it is a URL, or a list of them."""
    several = urls if isinstance(urls, list) else [urls]
    return bool(several) and all(isinstance(url, str) for url in several)


def _number(
    path: str, table: dict[str, Any], field: str, least: int, most: int, usual: int | None
) -> int | None:
    value = table.get(field.rpartition(".")[2], usual)
    if value is not None and (type(value) is not int or not least <= value <= most):
        raise InputError(f"{path}: {field}: {value!r} is no whole number from {least:,} to {most:,}")
    return value


def _given(path: str, table: dict[str, Any], setting: Setting) -> Any:
    """Give what a file says of a setting of edges, or what it is where nothing is said."""
    if setting.minimum is not None and setting.maximum is not None:
        return _number(path, table, setting.field, setting.minimum, setting.maximum, setting.default)
    chosen = table.get(setting.field.rpartition(".")[2], setting.default)
    if chosen not in setting.choices:
        raise InputError(f"{path}: {setting.field}: {chosen!r} is none: take {' or '.join(setting.choices)}")
    return chosen


def _backhaul(path: str, asked: str | None, own: dict[str, Any]) -> str:
    """Give the network behind the edge, and refuse one that is none."""
    place = f"{path}: {edge.SIMULATED}.backhaul" if asked is None else "--backhaul"
    network = own.get("backhaul") if asked is None else asked
    if network is None:
        raise InputError(
            "--edge: nothing says how far origins are from the edge: add --backhaul 1gbit,60ms, or write in "
            f'{path} [{edge.SIMULATED}] backhaul = "1gbit,60ms"'
        )
    return _network(place, network)


def _network(place: str, network: Any) -> str:
    if not isinstance(network, str):
        raise InputError(f"{place}: {network!r} is no network: write it like '1gbit,60ms'")
    return checked_backhaul(place, network)


def checked_backhaul(place: str, network: str) -> str:
    """Give the network behind an edge, and refuse one that is none; `place` is where it was given."""
    if traces_of(network):
        raise InputError(f"{place}: '{network}' follows a trace, which only --network can: state a rate")
    try:
        experiment.scenario(pages.of_document(_ONE), {"network": network})
    except LoadstoneError as error:
        raise InputError(f"{place}: {error.args[0]}") from None
    return network
