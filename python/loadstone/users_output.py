"""What `compare` prints of users."""

from collections.abc import Sequence
from typing import Any

from loadstone import text
from loadstone.users import Effect, UsersResult
from loadstone.verb_output import wrapped

_SHOWN = 10
"""The most losers that are named."""

_FACTORS = {0.5: "halved", 2.0: "doubled"}


def added_to(document: dict[str, Any], found: Sequence[UsersResult]) -> dict[str, Any]:
    """Add what was found to the document of the comparison."""
    return {**document, "users": [_document(result) for result in found]} if found else document


def _document(result: UsersResult) -> dict[str, Any]:
    return {
        "page": result.page,
        "file": result.file,
        "kinds": [
            {"name": kind.name, "weight": kind.weight, "network": kind.network()} for kind in result.kinds
        ],
        "variants": [_effect(effect) for effect in result.effects],
        **{
            f"loss_{_FACTORS[factor]}": [_effect(effect) for effect in effects]
            for factor, effects in result.by_loss.items()
        },
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "name": effect.variant,
        "gains": effect.gains,
        "loses": effect.loses,
        "median_gain": effect.median_gain,
        "losers": [{"name": kind.name, "gain": gain} for kind, gain in effect.losers],
    }


def below(shown: str, found: Sequence[UsersResult], baseline: str) -> str:
    """Add what was found below the tables of the comparison."""
    return "\n\n".join([*([shown] if shown else []), *(_block(result, baseline) for result in found)])


def _block(result: UsersResult, baseline: str) -> str:
    page, file = text.printable(result.page), text.printable(result.file)
    lines = [f"{page} for {text.count(len(result.kinds), 'kind')} of users ({file}), against {baseline}"]
    rows = [["variant", "median gain", "gain", "lose", "not clear"]]
    for effect in result.effects:
        rows.append([effect.variant, *_shares(effect)])
        for factor, effects in result.by_loss.items():
            (same,) = [one for one in effects if one.variant == effect.variant]
            rows.append([f"  loss {_FACTORS[factor]}", *_shares(same)])
    lines.append(text.table(rows))
    total = sum(kind.weight for kind in result.kinds)
    for effect in result.effects:
        losers = [
            f"{text.printable(kind.name)} ({100 * kind.weight / total:.0f} %) {gain:.2f}"
            for kind, gain in effect.losers
        ]
        if losers:
            more = f" and {len(losers) - _SHOWN} more" if len(losers) > _SHOWN else ""
            lines += wrapped(f"Slower with {effect.variant}: {', '.join(losers[:_SHOWN])}{more}.")
    return "\n".join(lines)


def _shares(effect: Effect) -> list[str]:
    median = "-" if effect.median_gain is None else f"{effect.median_gain:.2f}"
    shares = (effect.gains, effect.loses, 1 - effect.gains - effect.loses)
    return [median, *(f"{100 * abs(share):.0f} %" for share in shares)]
