"""What becomes of each claim of the study `ece540`."""

from loadstone.reproduce.claims import Claims, Judged

from .laboratory import FOLDER, Lab, Shop
from .sensitivity import Setting

_FITTED = "its rates and page are not known; ours were chosen to be consistent with its times"
_TWO_BROWSERS = "two browsers at a production site, whose servers need not have spoken SPDY"


def judge(labs: dict[str, Lab], gains: dict[Setting, float], shop: Shop) -> list[Judged]:
    """Judge every claim."""
    claims = Claims(FOLDER)
    _labs(claims, labs, gains)
    _site(claims, shop)
    return claims.judged()


def _labs(claims: Claims, labs: dict[str, Lab], gains: dict[Setting, float]) -> None:
    ec2, virtual = labs["ec2"], labs["virtual"]
    for id, lab in (("EC01", ec2), ("EC08", virtual)):
        range_of_all = f"{min(gains.values()):.0f} to {max(gains.values()):.0f} %"
        ours = f"{lab.reduction('time_s'):.0f} %; {range_of_all} elsewhere"
        claims.not_testable(id, _FITTED, ours)
    claims.number(
        "EC02", ec2.reduction("connections"), "three other servers, as SPDY's four connections say", digits=0
    )
    claims.number("EC05", virtual.ours["spdy"]["connections"], digits=0)
    claims.number("EC06", virtual.ours["http"]["connections"], digits=0)
    claims.number("EC07", virtual.reduction("connections"), digits=0)
    claims.not_testable(
        "EC10", "a load ends with the page; what servers do with connections later is no part of it"
    )
    rates = [virtual.ours[protocol]["mbps"] for protocol in ("spdy", "http")]
    claims.finding(
        "EC11",
        rates[0] > rates[1],
        f"{rates[0]:.1f} against {rates[1]:.1f} Mbit/s",
        f"so in {sum(gain > 0 for gain in gains.values())} of {len(gains)} settings",
    )
    claims.same("EC16", "20 seeds where chance has a part")


def _site(claims: Claims, shop: Shop) -> None:
    def compared(place: int, cache: str) -> str:
        spdy, http = (shop[protocol, cache][place] for protocol in ("spdy", "http"))
        return f"{spdy:.2f} against {http:.2f} s" if place == 0 else f"{spdy:.0f} against {http:.0f}"

    claims.not_testable("EC12", _TWO_BROWSERS, compared(0, "cold"))
    claims.not_testable("EC13", _TWO_BROWSERS, compared(0, "warm"))
    claims.not_testable("EC14", _TWO_BROWSERS, f"{compared(1, 'cold')}, warm {compared(1, 'warm')}")
    fewer = {
        protocol: 1 - shop[protocol, "warm"][1] / shop[protocol, "cold"][1] for protocol in ("http", "spdy")
    }
    claims.finding(
        "EC15",
        fewer["http"] > fewer["spdy"] >= 0 and fewer["http"] > 0,
        f"HTTP -{fewer['http']:.0%}, SPDY -{fewer['spdy']:.0%}",
        "a stated page, where every host keeps something that is not cached; else both fall alike",
    )
