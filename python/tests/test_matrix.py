"""Matrices: what a file says becomes cells, each a scenario."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EXAMPLES
from loadstone.files import InputError
from loadstone.stores import Matrix
from loadstone.stores.plan import Plan

SHOP = """
runs = 9
seed = 3
where = "loss > 0 or rtt == 20"
[factors]
rtt = [20, 100]
loss = [0, 1.5]
[variants.old]
protocol = "http/1.1"
[variants."h2 IW 30"]
protocol = "h2"
iw = 30
[common]
page = "shop.har"
network = "10/1mbit,{rtt}ms,loss={loss}%"
frame-bytes = 4096
[analysis]
around = { rtt = 20 }
high = { loss = 1 }
"""


def read(folder: Path, text: str) -> Matrix:
    (folder / "m.toml").write_text(text)
    (folder / "shop.har").write_bytes((EXAMPLES / "shop.har").read_bytes())
    return Matrix.read(str(folder / "m.toml"))


def fields(plan: Plan, at: int) -> dict:
    return json.loads(plan.cells[at].fields)


def test_a_matrix_is_every_combination_for_which_where_holds(tmp_path: Path) -> None:
    plan = Plan.of(read(tmp_path, SHOP))
    levels = [tuple(cell.levels.values()) for cell in plan.cells]
    assert levels == [
        (20, 0, "old"),
        (20, 0, "h2 IW 30"),
        (20, 1.5, "old"),
        (20, 1.5, "h2 IW 30"),
        (100, 1.5, "old"),
        (100, 1.5, "h2 IW 30"),
    ]
    # Chance has no part without loss: one run says all.
    assert [len(cell.seeds) for cell in plan.cells] == [1, 1, 9, 9, 9, 9]
    assert fields(plan, 2)["network"] == "10/1mbit,20ms,loss=1.5%"
    variant = fields(plan, 5)["variant"]
    assert (variant["protocol"], variant["tcp"]["iw"]) == ("h2", 30)
    assert variant["multiplexing"]["frame_bytes"] == 4096
    question = plan.matrix.question
    assert (question.compared, question.baseline, question.others) == ("variant", "old", ["rtt", "loss"])


def test_a_factor_has_its_names_in_braces_too() -> None:
    common = {"page": "synthetic:A", "network": "{link-rate}/{link_rate}mbit,{variant.tcp.iw}ms"}
    matrix = Matrix(factors={"link-rate": [5], "iw": [10]}, common=common)
    assert fields(Plan.of(matrix), 0)["network"] == "5mbit,10ms"


def test_linked_factors_go_together(tmp_path: Path) -> None:
    matrix = Matrix(
        factors={"protocol": ["http/1.1", "h2"]},
        linked=[{"iw": [3, 10, 16, 32], "loss": [0.9, 1.1, 1.1, 2.5]}],
        common={"page": "synthetic:A", "network": "10mbit,100ms,loss={loss}%"},
        analysis={"compare": "iw"},
    )
    cells = [tuple(levels.values()) for levels in matrix.cells()]
    assert cells[:4] == [
        ("http/1.1", 3, 0.9),
        ("http/1.1", 10, 1.1),
        ("http/1.1", 16, 1.1),
        ("http/1.1", 32, 2.5),
    ]
    assert matrix.levels["loss"] == (0.9, 1.1, 2.5)
    # What changes with the compared factor is part of no condition.
    assert matrix.question.others == ["protocol"]


def test_a_cell_is_known_by_what_it_runs_not_by_its_name() -> None:
    def digests(**given: object) -> list[str]:
        page = {"page": "synthetic:A", "network": "dsl"}
        return [cell.digest for cell in Plan.of(Matrix(common=page, **given)).cells]

    one = digests(factors={"iw": [10, 20]})
    assert digests(variants={"a": {"iw": 10}, "b": {"iw": 20}}) == one
    # What is the default need not be said, and the seeds are not part of it.
    assert digests(variants={"a": {}, "b": {"iw": 20}}, seed=5) == one
    assert len(set(one)) == 2


def test_fields_that_are_no_option_are_set_by_their_path() -> None:
    path = "variant.tcp.mechanisms.hystart"
    plan = Plan.of(Matrix(factors={path: [True, False]}, common={"page": "synthetic:A", "network": "dsl"}))
    assert fields(plan, 1)["variant"]["tcp"]["mechanisms"]["hystart"] is False


def test_traces_are_part_of_a_cell(tmp_path: Path) -> None:
    def plan(trace: str) -> Plan:
        (tmp_path / "t.up").write_text(trace)
        common = {"page": "synthetic:A", "network": "10mbit,40ms,trace=t.up"}
        return Plan.of(Matrix(factors={"iw": [3]}, common=common, folder=tmp_path))

    assert plan("5\n10\n").cells[0].digest != plan("5\n11\n").cells[0].digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("runs = 9", "runs = 0"), "runs: 0 is out of range"),
        (("runs = 9", "run = 9"), "run: there is no such key: did you mean runs?"),
        (("runs = 9", 'runs = "9"'), "runs: this is no whole number: give one"),
        (("rtt = [20, 100]", "rtt = 20"), "factors.rtt: a factor needs a list of levels"),
        (("rtt = [20, 100]", "rtt = []"), "factors.rtt: a factor needs a list of levels"),
        (("rtt = [20, 100]", "rtt = [20, 20]"), "factors.rtt: a level is given twice"),
        (("rtt = [20, 100]", 'rtt = [20, "a"]'), "the levels are of several kinds"),
        (("rtt = [20, 100]", "rtt = [[1]]"), "a level is a number, a text"),
        (("rtt = [20, 100]", "RTT = [20]"), "a factor's name is small letters"),
        (("rtt = [20, 100]", "seed = [20]"), "analyses have a column of this name"),
        (("rtt = [20, 100]", "rtt = [20]\ngain = [3]"), "analyses have a column of this name"),
        (("rtt = [20, 100]", "rtt = [20]\nclass = [3]"), "conditions cannot speak of"),
        (("rtt = [20, 100]", "rtt = [20]\nqueue = [3]"), "queue: this factor changes nothing"),
        (("rtt = [20, 100]", "rtt = [20]\niww = [3]"), "iww: this factor changes nothing"),
        (("{rtt}ms", "{rttt}ms"), "{rttt}: there is no such factor: did you mean rtt?"),
        (("iw = 30", "iww = 30"), "variants.h2 IW 30.iww: there is no such field: did you mean iw?"),
        (("iw = 30", "iw = 0"), "iw = 0: "),
        (('"10/1mbit,{rtt}ms', '"10/1mbit;{rtt}ms'), "network = "),
        (('page = "shop.har"', ""), "there is no page"),
        (('page = "shop.har"', 'page = "no.har"'), "no.har: there is no such file"),
        (('page = "shop.har"', "page = 3"), "page: 3 is no name of a page"),
        (('where = "loss > 0 or rtt == 20"', 'where = "los > 0"'), "where: "),
        (('where = "loss > 0 or rtt == 20"', 'where = "rtt > 200"'), "where: no combination is so"),
        (("{ rtt = 20 }", "{ rtt = 21 }"), "analysis: rtt has no level 21: use 20, 100"),
        (("[analysis]", '[analysis]\ncompare = "iw"'), "analysis: iw is no factor"),
        (("[analysis]", "[analysis]\nby = 3"), "analysis.by: there is no such key"),
        (
            ("[factors]", "[[linked]]\niw = [3, 3]\nqueue = [1, 1]\n[factors]"),
            "the same levels go together twice",
        ),
        (("seed = 3", "seed = -1"), "seed: -1 is below 0"),
        (("seed = 3", "seed = 1.5"), "seed: this is no whole number"),
        (("frame-bytes = 4096", "frame-bytes = 2020-01-01"), "this is no value"),
        (("frame-bytes = 4096", "frame-bytes = 1\nframe_bytes = 2"), "this is said twice"),
        (("iw = 30", 'iw = 30\n"variant.tcp.iw" = 4'), "this is said twice"),
        (("frame-bytes = 4096", '"variant.tcp.cc.x" = 4\ncc = "reno"'), "one field lies within another"),
        (("[factors]", "[[linked]]\na = [1]\nb = [1, 2]\n[factors]"), "a has 1, b has 2"),
        (("[factors]", "[factors"), "not a matrix in TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    assert change[0] in SHOP
    with pytest.raises(InputError) as error:
        Plan.of(read(tmp_path, SHOP.replace(*change)))
    assert said in str(error.value)
    assert "m.toml: " in str(error.value) or "no.har" in str(error.value)


NAMES = "iw rtt page network variant protocol x a.b seed compare baseline around high"
names = st.sampled_from([*NAMES.split(), ""])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*Matrix.__dataclass_fields__])


sound = st.fixed_dictionaries(
    {"factors": st.just({"iw": [3, 10]}), "common": st.just({"page": "synthetic:A"})},
    optional={
        "analysis": st.dictionaries(st.sampled_from(["compare", "baseline", "around", "high"]), values),
        "variants": st.dictionaries(st.text(max_size=3), st.dictionaries(names, values, max_size=2) | values),
        "linked": st.lists(st.dictionaries(names, st.lists(values, max_size=2), max_size=2), max_size=2),
    },
)


mutated = st.builds(lambda one, key, value: {**one, key: value}, sound, keys, values)


@settings(max_examples=1000)
@given(st.dictionaries(keys, values, max_size=5) | sound | mutated)
def test_whatever_a_file_says_is_a_matrix_or_a_clear_error(document: dict) -> None:
    try:
        matrix = Matrix.of(document)
        list(matrix.cells())
        assert matrix.question.compared in matrix.levels
    except InputError as error:
        assert "matrix: " in str(error)


def test_loads_that_come_before_a_run_are_work_too() -> None:
    common = {"page": "synthetic:A", "network": "10mbit,20ms,loss=1%"}
    alone, third = (
        Plan.of(Matrix(factors={"iw": [3]}, common={**common, "variant.earlier_loads": earlier}))
        for earlier in (0, 2)
    )
    assert third.seconds == pytest.approx(3 * alone.seconds)
    assert third.runs == alone.runs
