"""What a comparison that was kept says beside the one that is now: each variant before and after."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loadstone import stats, text
from loadstone.gate.comparison_document import Findings, KeptFindings, VariantFindings


@dataclass(frozen=True)
class VariantChange:
    """One variant of one page on one network, before and now."""

    page: str
    network: str
    variant: str
    before_ms: float | None
    now_ms: float | None
    gain: stats.Gain | None
    """How much faster it is now, by the loads of the same seeds."""

    def document(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {
            "page": self.page,
            "network": self.network,
            "variant": self.variant,
            "before_ms": self.before_ms,
            "now_ms": self.now_ms,
            "gain": self.gain and self.gain.ratio,
            "gain_low": self.gain and self.gain.low,
            "gain_high": self.gain and self.gain.high,
        }


def changes(now: Findings, kept: KeptFindings) -> list[VariantChange]:
    """Hold every variant against what it was."""
    return list(_changes(now, kept))


def _changes(now: Findings, kept: KeptFindings) -> Iterator[VariantChange]:
    for page, networks in now.pages.items():
        then = kept.page(page, len(now.pages))
        for name, network in networks.items():
            for variant in network.variants.values():
                before = then[name].variants[variant.name]
                gain = None
                if not (variant.incomplete or before.incomplete):
                    gain = stats.gain(
                        _times(before), _times(variant), variant.seeds[0], random=network.is_random
                    )
                yield VariantChange(page, name, variant.name, _median(before), _median(variant), gain)


def _times(variant: VariantFindings) -> list[float]:
    return [load["plt_ms"] for load in variant.loads]


def _median(variant: VariantFindings) -> float | None:
    return statistics.median(_times(variant)) if variant.loads else None


def in_words(found: list[VariantChange]) -> str:
    """Give a table: what each variant took before, what it takes now."""
    rows = [["page", "network", "variant", "before", "now", "gain", "95 % interval"]]
    for one in found:
        place = [text.shorten(text.printable(one.page), 30), text.printable(one.network), one.variant]
        gain = one.gain
        ends = "" if gain is None or gain.low is None else f"{gain.low:.2f} - {gain.high:.2f}"
        shown = f"{gain.ratio:.2f}" if gain else "-"
        rows.append([*place, text.ms(one.before_ms), text.ms(one.now_ms), shown, ends])
    return text.table(rows, left=3)
