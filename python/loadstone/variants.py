"""Which variants a comparison has: those of today, or those that are asked for."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadstone.experiment import Chosen
from loadstone.files import InputError
from loadstone.pages import Page
from loadstone.settings import OF_SCENARIOS, Setting
from loadstone.text import count

RECORDED = "recorded"
"""What each host spoke when the page was recorded."""

_TODAY = ("http/1.1", "h2")

_SPOKEN = {"spdy": "spdy/3.1", "h3": "h2"}
"""What stands for a recorded protocol that has another name here, or no engine yet."""

OTHER_HOSTS = ("domains", "one")
"""Ways of sharding by which hosts of a page are no more."""

_SETTINGS = {
    setting.flag.removeprefix("--"): setting
    for setting in OF_SCENARIOS.values()
    if setting.field.startswith("variant.")
}


@dataclass(frozen=True)
class Variant:
    """One way to serve a page."""

    name: str
    chosen: Chosen
    """The scenario's fields that it sets."""
    is_recorded: bool = False
    """Whether hosts speak what they spoke when the page was recorded."""
    topology: Callable[[Page], dict[str, Any]] | None = None
    """Gives hosts and links for a page, where these are not a browser behind one access link."""

    def fields(self, page: Page, common: Chosen) -> Chosen:
        """Give the fields of a scenario of this page that has `common` besides."""
        fields = {**common, **(recorded(page) if self.is_recorded else {}), **self.chosen}
        if fields.get("variant.servers") is not None or fields.get("variant.sharding") in OTHER_HOSTS:
            # On other hosts its objects come by what most hosts spoke.
            fields.pop("variant.protocol_of", None)
        return fields if self.topology is None else {**fields, "topology": self.topology(page)}


def variants(
    pages: Sequence[Page], asked: Sequence[str] = (), varied: Sequence[str] = (), baseline: str | None = None
) -> list[Variant]:
    """Give what is compared, the baseline first.

    Where nothing is asked for: what was recorded, if all pages are recordings that say it, HTTP/1.1 and
    HTTP/2. `asked` are variants as in "protocol=h2,iw=32,name=large"; one alone is held against the first of
    those. `varied` are settings with values, as in "iw=4,10,32": each variant is compared under each of them.
    """
    today = ([_read(RECORDED)] if all(page.protocols for page in pages) else []) + [*map(_read, _TODAY)]
    given = [_read(text) for text in asked]
    found = [today[0], *given] if len(given) == 1 and given[0] != today[0] and not varied else given or today
    for text in varied:
        found = [under for variant in found for under in _varied(variant, text)]
    _refuse_doubles(found)
    for page in pages:
        if not page.protocols and any(variant.is_recorded for variant in found):
            why = f"{page.name} does not say what its hosts spoke"
            raise InputError(f"--variant {RECORDED}: {why}: leave it out")
    return baseline_first(found, baseline)


def given(asked: Sequence[str]) -> list[Variant]:
    """Give the variants that are asked for; if none is, one without settings of its own."""
    found = [_read(text) for text in asked] or [Variant("as given", {})]
    _refuse_doubles(found)
    return found


def _refuse_doubles(found: Sequence[Variant]) -> None:
    doubled = [name for name, times in Counter(variant.name for variant in found).items() if times > 1]
    if doubled:
        raise InputError(f"--variant: two are called '{doubled[0]}': give them names, as in name=first")


def baseline_first(found: list[Variant], baseline: str | None) -> list[Variant]:
    """Put what the others are compared with before them; if nothing is named, they stay as they are."""
    if baseline is None:
        return found
    names = [variant.name for variant in found]
    if baseline not in names:
        raise InputError(f"--baseline: '{baseline}' is no variant: take one of {', '.join(names)}")
    first = found[names.index(baseline)]
    return [first, *(variant for variant in found if variant is not first)]


def spoken(page: Page) -> str | None:
    """Say what the hosts of a recording spoke, the most frequent first: "3 hosts h2, 1 host http/1.1"."""
    counts = Counter(page.protocols.values()).most_common()
    said = [
        f"{count(hosts, 'host')} {protocol}{f' (taken as {own})' if (own := _SPOKEN.get(protocol)) else ''}"
        for protocol, hosts in counts
    ]
    return ", ".join(said) or None


def recorded(page: Page) -> Chosen:
    """Let each host of a recording speak what it spoke, as far as that is known."""
    return by_host(page.protocols)


def by_host(protocols: Mapping[str, str]) -> Chosen:
    """Let each host speak what it is said to, where there is one that is."""
    known = {host: _SPOKEN.get(protocol, protocol) for host, protocol in protocols.items()}
    if not known:
        return {}
    usual = Counter(known.values()).most_common(1)[0][0]
    others = {host: protocol for host, protocol in known.items() if protocol != usual}
    return {"variant.protocol": usual, "variant.protocol_of": others}


def _read(text: str) -> Variant:
    """Read a variant: settings, a protocol by its name alone, and what it is called."""
    name, is_recorded, chosen, said = None, False, {}, []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if key == "name" and equals:
            name = value
        elif piece.lower() == RECORDED:
            is_recorded = True
            said.append(RECORDED)
        else:
            setting = _setting("--variant", text, key if equals else "protocol")
            chosen[setting.field] = _value("--variant", setting, value if equals else piece)
            said.append(_in_words(setting, value if equals else piece))
    if not said:
        raise InputError(f"--variant: '{text}' sets nothing: write it like protocol=h2,iw=32")
    if is_recorded and "variant.protocol" in chosen:
        raise InputError(f"--variant: '{text}' names a protocol beside what was recorded: leave out one")
    return Variant(name or " ".join(said), chosen, is_recorded)


def _varied(variant: Variant, text: str) -> Iterable[Variant]:
    """Give a variant under each value of a setting."""
    key, equals, values = (part.strip() for part in text.partition("="))
    listed = [value.strip() for value in values.split(",") if value.strip()]
    if not (equals and listed):
        raise InputError(f"--vary: '{text}' has no values: write it like iw=4,10,32")
    setting = _setting("--vary", text, key)
    for value in listed:
        chosen = {**variant.chosen, setting.field: _value("--vary", setting, value)}
        yield replace(variant, name=f"{variant.name} {_in_words(setting, value)}", chosen=chosen)


def _setting(option: str, text: str, key: str) -> Setting:
    name = key.lower().replace("_", "-")
    if name not in _SETTINGS:
        close = difflib.get_close_matches(name, _SETTINGS, 1)
        remedy = f"did you mean {close[0]}?" if close else f"take one of {', '.join(_SETTINGS)}"
        raise InputError(f"{option}: '{text}' sets '{key}', which is no setting of a variant: {remedy}")
    return _SETTINGS[name]


def _value(option: str, setting: Setting, value: str) -> Any:
    if setting.type != "integer":
        return value
    try:
        return int(value)
    except ValueError:
        raise InputError(f"{option}: '{value}' is no whole number for {setting.flag}") from None


def _in_words(setting: Setting, value: str) -> str:
    return value if setting.field == "variant.protocol" else f"{setting.flag.removeprefix('--')}={value}"
