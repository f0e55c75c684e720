"""Why a variant wins: one sentence, computed from the accounts of two median runs."""

import math
from dataclasses import dataclass

from loadstone.account import PARTS, Account
from loadstone.comparison import NetworkResult, VariantResult

_MOST = 0.8
"""What the named parts have to explain, unless there are too many of them."""
_MOST_NAMED = 3
_SUBSTANTIAL = 0.1
"""What speaks against the winner is named from this share of what speaks for it."""
_TENTHS_BELOW_MS = 100
"""As `text.ms` writes it: below this, times have a decimal."""


@dataclass(frozen=True)
class Saving:
    """What one median run saves against another, in steps of `1 / scale` ms.

    Rounded like the medians that are shown, and so that the parts sum to the total as nearly as they can.
    """

    scale: int
    total: int
    parts: dict[str, int]

    @classmethod
    def between(cls, slow_ms: float, slow: Account, fast_ms: float, fast: Account) -> "Saving":
        """Compare two median runs."""
        scale = 10 if min(slow_ms, fast_ms) < _TENTHS_BELOW_MS else 1
        total = _steps(slow_ms, scale) - _steps(fast_ms, scale)
        exact = {part: (slow[part] - fast[part]) * scale for part in PARTS}
        return cls(scale, total, _apportioned(total, exact))

    def ms(self, steps: int) -> str:
        """Write a number of steps as a time."""
        return f"{steps:,} ms" if self.scale == 1 else f"{steps / self.scale:,.1f} ms"


def _steps(ms: float, scale: int) -> int:
    return round(round(ms, scale // 10) * scale)


def _apportioned(total: int, exact: dict[str, float]) -> dict[str, int]:
    """Round the parts up or down, those nearest to the next step up, so that they sum to the total.

    Parts of less than half a step are left out; what they and the rounding of the total amount to is
    left over.
    """
    small = sum(value for value in exact.values() if abs(value) < 0.5)
    large = {part: value for part, value in exact.items() if abs(value) >= 0.5}
    parts = {part: math.floor(value) for part, value in large.items()}
    missing = total - round(small) - sum(parts.values())
    by_fraction = sorted(
        (part for part in large if large[part] > parts[part]), key=lambda part: parts[part] - large[part]
    )
    for part in by_fraction[: max(0, missing)]:
        parts[part] += 1
    return {part: parts.get(part, 0) for part in exact}


def sentence(result: NetworkResult) -> str | None:
    """Say why the best variant wins; `None` where there is nothing to compare or no account."""
    best = result.best
    other = _opponent(result)
    if best is None or other is None:
        return None
    fast, slow = best.median_plt_ms, other.median_plt_ms
    fast_account, slow_account = best.account, other.account
    if fast is None or slow is None or fast_account is None or slow_account is None:
        return None
    if slow < fast:
        return (
            f"{best.name} is best because {_completed(best)} of its runs were completed, "
            f"against {_completed(other)} of {other.name}."
        )
    saving = Saving.between(slow, slow_account, fast, fast_account)
    if saving.total == 0:
        return _equal(best.name, other.name, saving)
    against = f"{other.name}{_standing(best, other, result)}"
    if result.is_random and other.name in result.rivals:
        head = f"In the median runs {best.name} saves {saving.ms(saving.total)} against {against}"
        return f"{head}, which chance alone may explain{_explanation(saving)}."
    return f"{best.name} saves {saving.ms(saving.total)} against {against}{_explanation(saving)}."


def _opponent(result: NetworkResult) -> VariantResult | None:
    """Choose what the best is compared with: the baseline, the best of another protocol, or the next."""
    best, base = result.best, result.variants[0]
    if best is None:
        return None
    others = [variant for variant in result.variants if variant is not best and variant.completed]
    others.sort(key=lambda variant: (-variant.completed, variant.median_plt_ms or 0.0))
    if base in others:
        return base
    foreign = [variant for variant in others if _protocol(variant) != _protocol(best)]
    return next(iter(foreign or others), None)


def _protocol(variant: VariantResult) -> str:
    protocol: str = variant.cell.variant["protocol"]
    return protocol


def _standing(best: VariantResult, other: VariantResult, result: NetworkResult) -> str:
    if other is result.variants[0]:
        return ""
    return ", the next best" if _protocol(other) == _protocol(best) else ", the best of another protocol"


def _completed(variant: VariantResult) -> str:
    return f"{variant.completed} of {len(variant.outcomes)}"


def _equal(best: str, other: str, saving: Saving) -> str:
    to_what = "the millisecond" if saving.scale == 1 else "a tenth of a millisecond"
    head = f"{best} and {other} take equally long to {to_what}"
    return f"{head}: {_explained(saving)}." if any(saving.parts.values()) else f"{head}, part by part."


def _explanation(saving: Saving) -> str:
    named = [part for part, steps in saving.parts.items() if steps]
    if not named:
        return ", spread over several parts"
    if saving.parts[named[0]] == saving.total and len(named) == 1:
        return f", all of it {PARTS[named[0]].spent}"
    return f": {_explained(saving)}"


def _explained(saving: Saving) -> str:
    """Name the parts that explain most of the saving, and what works against it if it is much."""
    gains = {part: steps for part, steps in saving.parts.items() if steps > 0}
    losses = {part: -steps for part, steps in saving.parts.items() if steps < 0}
    named_gains = _largest(gains)
    is_much = sum(losses.values()) >= _SUBSTANTIAL * sum(gains.values())
    named_losses = _largest(losses) if is_much else {}
    rest = saving.total - sum(named_gains.values()) + sum(named_losses.values())
    less = [f"{saving.ms(steps)} less {PARTS[part].spent}" for part, steps in named_gains.items()]
    more = [f"{saving.ms(steps)} more {PARTS[part].spent}" for part, steps in named_losses.items()]
    if rest > 0:
        less.append(f"{saving.ms(rest)} less elsewhere")
    elif rest < 0:
        more.append(f"{saving.ms(-rest)} more elsewhere")
    return _listed(less) + (f", against {_listed(more)}" if more else "")


def _largest(parts: dict[str, int]) -> dict[str, int]:
    """Choose the parts that make up most; the last one too if it alone would be left out."""
    ranked = sorted(parts, key=lambda part: -parts[part])
    most = _MOST * sum(parts.values())
    named = 0
    while named < min(len(ranked), _MOST_NAMED) and sum(parts[part] for part in ranked[:named]) < most:
        named += 1
    named += named == len(ranked) - 1 < _MOST_NAMED
    return {part: parts[part] for part in ranked[:named]}


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
