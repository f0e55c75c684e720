"""When to look, and how sure a look has to be."""

import pytest

from loadstone import stats
from loadstone.files import InputError


@pytest.mark.parametrize(("text", "half_width"), [("1%", 0.01), ("0.5%", 0.005), (" 10 % ", 0.1)])
def test_what_is_wanted_is_a_percentage(text: str, half_width: float) -> None:
    assert stats.Until.parse(text) == stats.Until(half_width)


@pytest.mark.parametrize(
    "text", ["", "1", "%", "0%", "-1%", "100%", "nan%", "inf%", "one%", "1%%", "1% 2", "0.01"]
)
def test_anything_else_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match=r"^--until: .*: write a percentage, such as 1%$"):
        stats.Until.parse(text)


def test_one_looks_after_twice_as_many_runs_each_time_and_at_the_end() -> None:
    assert list(stats.Until(0.01).looks()) == [21, 42, 84, 168, 336, 672, 1344, 2000]
    assert list(stats.Until(0.01, 84).looks()) == [21, 42, 84]
    assert list(stats.Until(0.01, 10).looks()) == [10]


def test_all_looks_together_may_err_in_5_percent() -> None:
    # 1/2 + 1/6 + 1/12 + ... telescopes to 1 - 1/(n + 1).
    spent = sum(1 - stats.Until.confidence(look) for look in range(1, 1001))
    assert spent == pytest.approx(0.05 * 1000 / 1001)


@pytest.mark.parametrize(
    ("gain", "settled"),
    [
        (stats.Gain(2.0, 1.981, 2.02), True),
        (stats.Gain(2.0, 1.97, 2.02), False),
        (stats.Gain(1.0, is_exact=True), True),
        (stats.Gain(1.0), False),
        (None, True),
    ],
)
def test_a_gain_is_settled_when_half_its_interval_is_small_enough(
    gain: stats.Gain | None, settled: bool
) -> None:
    assert stats.Until(0.01).is_settled(gain) == settled


def test_it_is_written_as_it_was_given() -> None:
    assert [str(stats.Until.parse(text)) for text in ("1%", "0.5%")] == ["1 %", "0.5 %"]
