"""The gate: what assertions mean, when they fail and what is said then, from documents that are made up."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone import __version__, comparison, variants, verb_output
from loadstone.engine import engine
from loadstone.files import InputError
from loadstone.gate.assertion import FIGURES, FUNCTIONS, Assertion
from loadstone.gate.comparison_document import COUNTS, Findings, KeptFindings, Terms
from loadstone.gate.judgement import Check, judge
from loadstone.pages import Page, of_document

COMPARED = variants.variants([], ["http/1.1", "h2"], ["iw=3,10"])
VARIANTS = ("a 1", "a 2", "b 1", "b 2", "c")
"""The first is the baseline."""


def variant(name: str, times: list[float | None], **counted: int) -> dict[str, Any]:
    """Make a variant of which each load took so long; `None` was not completed."""
    runs = [
        {
            "seed": seed,
            "completed": time is not None,
            "plt_ms": 60_000.0 if time is None else time,
            **dict.fromkeys(COUNTS, 10),
            **counted,
        }
        for seed, time in enumerate(times, 1)
    ]
    return {
        "name": name,
        "variant": {"protocol": name, "tcp": {"iw": 3}},
        "runs": runs,
        "gain": None,
        "gain_low": None,
        "gain_high": None,
    }


def network(name: str = "dsl", best: str | None = "c", **times: list[float | None]) -> dict[str, Any]:
    """Make a network; variants (`a_1` for `a 1`) that are not mentioned took 100 ms, three times."""
    made = [variant(name, times.get(name.replace(" ", "_"), [100.0] * 3)) for name in VARIANTS]
    document = {"name": name, "network": f"{name} as it is", "random": True, "variants": made, "best": best}
    return {**document, "spread": {"network": 1, "times": 10}}


def document(*networks: dict[str, Any], page: str = "shop.har") -> dict[str, Any]:
    return {
        "version": __version__,
        "engine": engine(),
        "baseline": VARIANTS[0],
        "pages": [{"page": page, "networks": list(networks or [network()])}],
    }


def check(assertion: str, now: dict[str, Any], before: dict[str, Any] | None = None) -> Check:
    """Judge one assertion of one page on one network."""
    earlier = None if before is None else KeptFindings("before.json", Findings.of(before))
    (made,) = judge([Assertion.read(assertion, VARIANTS)], Findings.of(now), earlier)
    return made


def figure(call: str, of: dict[str, Any]) -> float:
    (case,) = check(f"{call} > -1", document(of)).cases
    (given,) = case.figures
    return given.value


# --- figures ---


def test_figures_of_times_are_those_of_the_completed_loads() -> None:
    times = [300.0, 100.0, 200.0, 500.0, 400.0]
    of = network(c=times)
    assert figure("plt(c)", of) == 300
    assert figure("mean(c)", of) == 300
    # Linear between order statistics: percentile p of n values stands at p / 100 * (n - 1).
    assert figure("p25(c)", of) == 200
    assert figure("p75(c)", of) == 400
    assert figure("p90(c)", of) == pytest.approx(460)
    assert figure("p99(c)", network(c=[70.0])) == 70


@settings(deadline=None)
@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=30), st.sampled_from([10, 25, 75, 90, 95, 99]))
def test_percentiles_are_numpy_s(times: list[float], percent: int) -> None:
    assert figure(f"p{percent}(c)", network(c=times)) == pytest.approx(np.percentile(times, percent))


@pytest.mark.parametrize("counted", COUNTS)
def test_what_is_counted_is_the_median_too(counted: str) -> None:
    of = network()
    of["variants"][4] = made = variant("c", [1.0, 2.0, 3.0])
    for run, count in zip(made["runs"], (7, 90, 8), strict=True):
        run[counted] = count
    assert figure(f"{counted}(c)", of) == 8


def test_gains_are_the_comparison_s_and_the_baseline_s_is_one() -> None:
    of = network()
    of["variants"][4].update(gain=1.5, gain_low=1.2, gain_high=1.9)
    assert [figure(f"{name}(c)", of) for name in ("gain", "gain_low", "gain_high")] == [1.5, 1.2, 1.9]
    assert [figure(f"{name}(baseline)", of) for name in ("gain", "gain_low", "gain_high")] == [1, 1, 1]


def test_without_chance_a_gain_is_its_own_interval() -> None:
    of = {**network(), "random": False}
    of["variants"][4].update(gain=1.5)
    assert [figure(f"{name}(best)", of) for name in ("gain_low", "gain_high")] == [1.5, 1.5]


# --- names ---


def meant(assertion: str) -> list[dict[str, str]]:
    return list(Assertion.read(assertion, VARIANTS).cases)


def test_a_name_is_a_variant_the_baseline_or_the_best() -> None:
    assert meant("plt('a 2') < plt(baseline) + plt(c) + plt(best)") == [
        {"a 2": "a 2", "baseline": "a 1", "c": "c", "best": "best"}
    ]
    assert [given.variant for given in check("plt(best) < 1", document()).cases[0].figures] == ["c"]


def test_the_beginning_of_names_is_each_variant_that_begins_so() -> None:
    assert meant("plt(a) < 1 and plt(c) < 1") == [{"a": "a 1", "c": "c"}, {"a": "a 2", "c": "c"}]


def test_beginnings_go_together_by_what_is_left_of_the_names() -> None:
    assert meant("plt(b) < plt(a) or plt(baseline) < 5") == [
        {"b": "b 1", "a": "a 1", "baseline": "a 1"},
        {"b": "b 2", "a": "a 2", "baseline": "a 1"},
    ]


def test_a_beginning_of_one_name_is_that_variant() -> None:
    (case,) = Assertion.read("plt(x) < plt(y)", ["x 1 fast", "y 3"]).cases
    assert case == {"x": "x 1 fast", "y": "y 3"}


def test_an_assertion_holds_only_if_it_holds_for_each_variant_of_a_name() -> None:
    times = {"a_1": [90.0], "a_2": [110.0], "b_1": [80.0], "b_2": [110.5]}
    judged = check("plt(b) <= plt(a)", document(network(**times)))
    assert [case.failure for case in judged.cases] == [
        None,
        "plt(b 2) = 110.5 > plt(a 2) = 110 (by 0.5, 0.45 %)",
    ]
    assert not judged.holds


BAD_ASSERTIONS = {
    "plt(d) < 1": "'d' is no variant: take one of a 1",
    "plt('a 3') < 1": "'a 3' is no variant: did you mean 'a 2'?",
    "plt(nothing) < 1": "'nothing' is no variant: take one of a 1, a 2, b 1, b 2, c, baseline, best",
    "plt(base) < 1": "did you mean 'baseline'?",
    "plx(c) < 1": "'plx' is no function that is known here: did you mean 'plt'?",
    "c < 1": "'c' stands alone: ask for a figure, as in plt(c)",
    "plt < 2500": "'plt' stands alone: say of which variant, as in plt(best)",
    "plt(a 1) < 1": "names with spaces stand in quotes",
    "plt(c)": "'plt(c)' is a number, not true or false",
    "plt(c) < 'fast'": "'fast' is a text",
    "1 < 2": "'1 < 2' asks for no figure: write one, as in plt(best)",
    "before(c) < 1": "'before(c)' is no figure: write it like plt(best) or before(plt(best))",
    "plt(plt(c)) < 1": "'plt(plt(c))' is no figure",
    "plt(before(plt(c))) < 1": "is no figure",
    "before(before(plt(c))) < 1": "is no figure",
}


@pytest.mark.parametrize("text", BAD_ASSERTIONS)
def test_a_bad_assertion_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        Assertion.read(text, VARIANTS)
    assert str(refused.value).startswith("--assert: ") and BAD_ASSERTIONS[text] in str(refused.value)


def test_beginnings_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(
        InputError, match="'x' stands for x 1, x 2 and 'y' for y 2, y 3, which do not go together"
    ):
        Assertion.read("plt(x) < plt(y)", ["x 1", "x 2", "y 2", "y 3"])


# --- verdicts ---

SLOW = network(c=[1000.0], a_1=[800.0])


@pytest.mark.parametrize(
    ("assertion", "why"),
    [
        ("plt(c) <= 1.05 * plt(baseline)", "plt(c) = 1,000 > 1.05 * plt(a 1) = 840 (by 160, 19 %)"),
        ("plt(c) < 1000", "plt(c) = 1,000 >= 1000"),
        ("plt(c) < 800 + 100", "plt(c) = 1,000 >= 800 + 100 = 900 (by 100, 11 %)"),
        ("gain(baseline) > 1.25", "gain(a 1) = 1 <= 1.25 (by 0.25, 20 %)"),
        ("plt(c) == plt(baseline)", "plt(c) = 1,000 != plt(a 1) = 800 (by 200, 25 %)"),
        ("plt(c) != 1000", "plt(c) = 1,000 == 1000"),
        ("900 < plt(c) < 950", "plt(c) = 1,000 >= 950 (by 50, 5.3 %)"),
        ("plt(c) in [800, 900]", "plt(c) = 1,000 not in [800, 900]"),
        ("not plt(c) > 900", "plt(c) = 1,000 > 900 (by 100, 11 %)"),
        ("plt(c) <= 1e9 and not plt(c) > 5", "plt(c) = 1,000 > 5 (by 995, 19,900 %)"),
        ("plt(c) < 900 and not plt(c) > 2000", "plt(c) = 1,000 >= 900 (by 100, 11 %)"),
        ("plt(c) < 900 and plt(c) > 500", "plt(c) = 1,000 >= 900 (by 100, 11 %)"),
        ("plt(c) < 900 or plt(baseline) < 700", "plt(c) = 1,000 >= 900 (by 100, 11 %)"
            " and plt(a 1) = 800 >= 700 (by 100, 14 %)"),
        ("plt(c) <= 0", "plt(c) = 1,000 > 0 (by 1,000)"),
        ("1 / (plt(c) - 1000) < 1", "'1 / (plt(c) - 1000)' cannot be computed: 'plt(c) - 1000' is 0"),
        ("(plt(c) > 1) == false", "plt(c) > 1 != false"),
        ("plt(c) < 1", "plt(c) = 1,000 >= 1 (by 999, 99,900 %)"),
    ],
)  # fmt: skip
def test_a_failure_says_both_figures_and_by_how_much(assertion: str, why: str) -> None:
    assert check(assertion, document(SLOW)).failures == [why]


def test_figures_that_differ_are_never_written_alike() -> None:
    one, other = 1234.5678, 1234.5679
    (failure,) = check("plt(c) <= plt(baseline)", document(network(c=[other], a_1=[one]))).failures
    assert failure == "plt(c) = 1,234.5679 > plt(a 1) = 1,234.5678 (by 0.0001, 8.1e-06 %)"


def test_a_reason_that_is_the_same_for_several_variants_is_given_once() -> None:
    assert len(check("plt(a) > 0 and plt(c) < 1", document()).failures) == 1


def test_loads_that_were_not_completed_fail_the_assertion_however_fast_the_others_were() -> None:
    judged = check("plt(c) < 1000", document(network(c=[1.0, None, 1.0])))
    assert judged.failures == ["1 of 3 loads of c did not complete, so there is no plt(c)"]
    # A gain is the baseline's loads as well.
    judged = check("gain(c) > 0", document(network(a_1=[None, None], c=[1.0, 1.0])))
    assert judged.failures == ["2 of 2 loads of a 1 did not complete, so there is no gain(c)"]
    assert check("plt(b) < 1000", document(network(c=[None]))).holds


def test_without_any_completed_load_there_is_no_best() -> None:
    judged = check("plt(best) < 1000", document(network(best=None, c=[None])))
    assert judged.failures == ["no load of any variant was completed, so there is no best"]


def test_an_interval_needs_loads() -> None:
    of = network(c=[50.0] * 3)
    of["variants"][4].update(gain=2.0)
    assert check("gain_low(c) > 1", document(of)).failures == [
        "gain_low(c) needs 6 loads and there are 3: give --runs 6 or more"
    ]


def test_each_page_is_judged_on_each_network() -> None:
    fast, slow = network("cable", c=[50.0]), network("3g", c=[900.0])
    both = document(fast, slow)
    both["pages"].append({"page": "news.har", "networks": [slow, fast]})
    checks = judge([Assertion.read("plt(c) < 100", VARIANTS)], Findings.of(both), None)
    assert [(check.page, check.network, check.holds) for check in checks] == [
        ("shop.har", "cable", True),
        ("shop.har", "3g", False),
        ("news.har", "3g", False),
        ("news.har", "cable", True),
    ]


# --- against what was before ---


def test_before_is_the_figure_of_then() -> None:
    now, then = document(network(c=[130.0])), document(network(c=[100.0]), page="shop of May.har")
    assert check("plt(c) <= 1.5 * before(plt(c))", now, then).holds
    judged = check("plt(c) <= 1.05 * before(plt(c))", now, then)
    assert judged.failures == ["plt(c) = 130 > 1.05 * before(plt(c)) = 105 (by 25, 24 %)"]
    assert [given.name for given in judged.cases[0].figures] == ["plt(c)", "before(plt(c))"]


def test_the_best_of_before_is_that_of_then() -> None:
    now = document(network(best="c", c=[130.0] * 3))
    then = document(network(best="b 2", b_2=[90.0] * 3))
    assert check("plt(best) <= before(plt(best))", now, then).failures == [
        "plt(c) = 130 > before(plt(b 2)) = 90 (by 40, 44 %)"
    ]


def test_loads_that_were_not_completed_then_fail_it_too() -> None:
    now, then = document(network(c=[100.0, 100.0])), document(network(c=[100.0, None]))
    judged = check("plt(c) <= before(plt(c))", now, then)
    assert judged.failures == ["before, 1 of 2 loads of c did not complete, so there is no plt(c)"]


def terms(of: dict[str, Any]) -> dict[str, dict[str, Terms]]:
    """Give the terms on which a document was made."""
    return {
        page: {name: Terms.of_findings(network) for name, network in networks.items()}
        for page, networks in Findings.of(of).pages.items()
    }


def changed(change: str) -> dict[str, Any]:
    of = document(network("dsl"), network("3g"))
    on_dsl = of["pages"][0]["networks"][0]
    match change:
        case "engine":
            of["engine"] = f"{__version__}+000000000000"
        case "version":
            # As documents were written before engines had names.
            of["version"] = "0.0.1"
            del of["engine"]
        case "page":
            of["pages"].append(copy.deepcopy(of["pages"][0]))
            of["pages"][0]["page"], of["pages"][1]["page"] = "news.har", "docs.har"
        case "fewer networks":
            del of["pages"][0]["networks"][1]
        case "more networks":
            of["pages"][0]["networks"].append(network("cable"))
        case "network":
            on_dsl["network"] = "1/1mbit,1ms"
        case "variants":
            del on_dsl["variants"][4]
            on_dsl["best"] = "b 1"
        case "settings":
            on_dsl["variants"][1]["variant"]["tcp"]["iw"] = 4
        case "runs":
            on_dsl["variants"][1] = variant("a 2", [1.0])
            on_dsl["variants"][1]["variant"] = network()["variants"][1]["variant"]
    return of


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "engine",
            f"written by loadstone {__version__}+000000000000, and figures of {engine()} may be others",
        ),
        ("version", f"written by loadstone 0.0.1, and figures of {engine()} may be others: write it again"),
        ("page", "has no page 'shop.har', only news.har, docs.har: write it again"),
        ("fewer networks", "shop.har was loaded on dsl and is now on dsl, 3g: give the same networks"),
        ("more networks", "shop.har was loaded on dsl, 3g, cable and is now on dsl, 3g"),
        ("network", "shop.har on dsl: the network was 1/1mbit,1ms and is dsl as it is"),
        ("variants", "shop.har on dsl: the variants were a 1, a 2, b 1, b 2 and are a 1, a 2, b 1, b 2, c"),
        ("settings", "shop.har on dsl: a 2 was set otherwise (tcp.iw was 4 and is 3)"),
        ("runs", "shop.har on dsl: a 2 had seed 1 alone and has 3 seeds from 1 on: give the same --runs"),
    ],
)
def test_what_cannot_be_compared_with_before_is_refused(tmp_path: Path, change: str, why: str) -> None:
    path = tmp_path / "before.json"
    path.write_text(json.dumps(changed(change)))
    with pytest.raises(InputError) as refused:
        KeptFindings.read(str(path), terms(document(network("dsl"), network("3g"))))
    assert str(refused.value).startswith(f"{path}: ") and why in str(refused.value)


def damaged() -> dict[str, str]:
    whole = json.dumps(document())
    return {
        "no JSON": "{",
        "a list": "[]",
        "another document": '{"page": "x"}',
        "a time in words": whole.replace("100.0", '"fast"'),
        "a time that is none": whole.replace("100.0", "NaN"),
        "a time beyond all numbers": whole.replace("100.0", "1e999"),
        "a whole number beyond all numbers": whole.replace("100.0", "9" * 400),
        "no seed": whole.replace('"seed"', '"sead"'),
        "no loads": whole.replace('"runs": [', '"runs": [], "loads": ['),
        "a baseline that is none": whole.replace('"baseline": "a 1"', '"baseline": "z"'),
        "a best that is none": whole.replace('"best": "c"', '"best": "z"'),
        "nothing but depth": "[" * 100_000,
    }


@pytest.mark.parametrize("how", damaged())
def test_a_file_that_is_no_document_of_a_comparison_is_refused(tmp_path: Path, how: str) -> None:
    path = tmp_path / "before.json"
    path.write_text(damaged()[how])
    with pytest.raises(InputError, match="no document of 'loadstone compare --json': write it again"):
        KeptFindings.read(str(path), terms(document()))


# --- a page that did not change ---

SIZES = st.lists(st.integers(0, 40_000), min_size=1, max_size=8)
RATES = st.sampled_from(["1mbit", "5/1mbit", "20/2mbit"])
DELAYS = st.sampled_from(["0ms", "20ms", "300ms"])
LOSSES = st.sampled_from(["", ",0.5%", ",3%"])
NETWORKS = st.tuples(RATES, DELAYS, LOSSES).map(lambda parts: f"{parts[0]},{parts[1]}{parts[2]}")


def found(page: Page, network: str, seed: int, threads: int) -> dict[str, Any]:
    results = comparison.compare(
        [page], COMPARED, [network], {"seed": seed}, 6, threads, lambda done, total: None
    )
    return verb_output.compare_document(results)


@settings(max_examples=12, deadline=None)
@given(SIZES, NETWORKS, st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4))
def test_an_unchanged_page_never_turns_red(
    sizes: list[int], network: str, seed: int, threads_then: int, threads_now: int
) -> None:
    objects = [{"url": f"https://{at % 3}.test/{at}", "bytes": size} for at, size in enumerate(sizes)]
    page = Page("random", of_document({"objects": objects}))
    kept = Findings.of(json.loads(json.dumps(found(page, network, seed, threads_then))))
    names = [*[variant.name for variant in COMPARED], "baseline", "best"]
    asserted = [
        f"{figure}('{name}') == before({figure}('{name}'))" for figure in FIGURES for name in names
    ] + ["plt(h2) <= before(plt(h2))"]
    assertions = [Assertion.read(text, [variant.name for variant in COMPARED]) for text in asserted]
    now = Findings.of(found(page, network, seed, threads_now))
    checks = judge(assertions, now, KeptFindings("before.json", kept))
    assert [check.failures for check in checks if not check.holds] == []


def test_every_function_has_its_place_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "gate.md").read_text()
    assert [name for name in FUNCTIONS if f"`{name}(" not in manual] == []
