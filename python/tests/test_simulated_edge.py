"""`loadstone compare --edge`: what an edge would gain, before it is installed."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from loadstone import edge as edges
from loadstone import pages, simulated_edge

NAMES = [
    *("straight http/1.1", "straight h2"),
    *("edge http/1.1 cold", "edge h2 cold", "edge http/1.1 warm", "edge h2 warm"),
]
FAST = ("--network", "1000gbit,100ms,queue=100000p", "--exact", "--json")
"""A network whose rate does not matter."""
BACKHAUL = ("--backhaul", "1000gbit,80ms,queue=100000p")


@pytest.fixture
def page(tmp_path: Path) -> str:
    """Give a page of one object of the edge's, and one of another host that the first one needs."""
    objects = [{"url": "https://own.test/", "bytes": 1000}, {"url": "https://other.test/x.js", "bytes": 1000}]
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"objects": objects}))
    return str(path)


def edge_file(tmp_path: Path, more: str = "", scheme: str = "http", name: str = "own.test") -> str:
    """Write an edge's file."""
    path = tmp_path / "edge.toml"
    path.write_text(f'[origins]\n"{name}" = "{scheme}://127.0.0.1:8080"\n{more}')
    return str(path)


def medians(document: dict[str, Any]) -> dict[str, float]:
    """Give the median of each variant."""
    (network,) = document["pages"][0]["networks"]
    return {variant["name"]: variant["median_plt_ms"] for variant in network["variants"]}


def test_several_servers_of_a_name_are_as_one(loadstone: Command, page: str, tmp_path: Path) -> None:
    path = tmp_path / "several.toml"
    path.write_text('[origins]\n"own.test" = ["http://10.0.0.1", "http://10.0.0.2"]\n')
    files = (str(path), edge_file(tmp_path))
    found = [medians(loadstone("compare", page, "--edge", file, *BACKHAUL, *FAST).document) for file in files]
    assert found[0] == found[1]
    path.write_text('[origins]\n"own.test" = []\n')
    refused = loadstone("compare", page, "--edge", str(path), *BACKHAUL, *FAST)
    assert (refused.code, "origins: write names and URLs" in refused.err) == (2, True)


def test_what_is_spoken_behind_is_the_files(loadstone: Command, tmp_path: Path) -> None:
    objects = [{"url": f"https://own.test/{number}", "bytes": 1000} for number in range(5)]
    page = tmp_path / "page.json"
    page.write_text(json.dumps({"objects": objects}))
    found = []
    for spoken in ("http/1.1", "h2"):
        file = edge_file(tmp_path, f'[behind]\nconnections = 1\nprotocol = "{spoken}"')
        asking = ("compare", str(page), "--edge", file, *BACKHAUL, *FAST)
        found.append(medians(loadstone(*asking).document)["edge h2 warm"])
    # Four come at once. One after the other, the last waits for three round trips behind the edge.
    assert found[0] - found[1] == pytest.approx(240, abs=6)
    file = edge_file(tmp_path, '[behind]\nprotocol = "spdy/3"')
    refused = loadstone("compare", str(page), "--edge", file, *BACKHAUL, *FAST)
    assert refused.code == 2
    assert "behind.protocol: 'spdy/3' is none: take http/1.1 or h2" in refused.err


def test_each_protocol_is_compared_straight_and_through_a_cold_and_a_warm_edge(
    loadstone: Command, page: str, tmp_path: Path
) -> None:
    document = loadstone("compare", page, "--edge", edge_file(tmp_path), *BACKHAUL, *FAST).document
    found = medians(document)
    assert [*found] == NAMES and document["baseline"] == NAMES[0]
    (network,) = document["pages"][0]["networks"]
    assert "access 1000gbit,100ms" in network["network"] and "backhaul 1000gbit,80ms" in network["network"]
    # To the other host, which is not behind the backhaul, handshakes and request are 300 ms. The root comes
    # first: straight three round trips of 180 ms; by the edge three of 100 ms and, without TLS, two behind it
    # or, once a connection is open, one.
    wanted = {"straight": 540, "cold": 300 + 160, "warm": 300 + 80}
    for name, median in found.items():
        (expected,) = [ms for state, ms in wanted.items() if state in name]
        assert median == pytest.approx(expected + 300, abs=6), name
    assert document["edge"]["notes"][1].endswith("not through the edge, nor over the backhaul: other.test.")


def test_of_several_edges_dns_names_the_nearest_and_each_has_its_own_round_trips_yahoo_2_1(
    loadstone: Command, tmp_path: Path
) -> None:
    page = tmp_path / "page.json"
    page.write_text(json.dumps({"objects": [{"url": "https://own.test/", "bytes": 1000}]}))
    far = 'far = { rtt_ms = 60, backhaul = "1000gbit,20ms,queue=100000p" }'
    near = 'near = { rtt_ms = 10, backhaul = "1000gbit,80ms,queue=100000p" }'
    file = edge_file(tmp_path, f"[simulated.edges]\n{far}\n{near}")
    document = loadstone("compare", str(page), "--edge", file, *BACKHAUL, *FAST).document
    found = medians(document)
    assert [name for name in found if " h2 " in name] == [
        *("near h2 cold", "near h2 warm", "far h2 cold", "far h2 warm")
    ]
    # Three round trips to the edge, and behind it two, or, once a connection is open, one.
    wanted = {"straight h2": 3 * 180, "near h2 cold": 3 * 110 + 160, "near h2 warm": 3 * 110 + 80}
    wanted |= {"far h2 cold": 3 * 160 + 40, "far h2 warm": 3 * 160 + 20}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=6)
    assert document["edge"]["notes"][1].endswith("DNS names near, the nearest.")


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ("edges = 3", "simulated.edges: name each edge, as in frankfurt = {"),
        ("edges = { a = { rtt_ms = 1 } }", "simulated.edges.a: give rtt_ms and backhaul, and nothing else"),
        ('edges = { a = { rtt_ms = -1, backhaul = "1gbit,1ms" } }', "a.rtt_ms: -1 is no number from 0 to 10"),
        ('edges = { a = { rtt_ms = 1, backhaul = "x" } }', "simulated.edges.a.backhaul: "),
    ],
)
def test_edges_that_are_none_are_refused(
    loadstone: Command, page: str, tmp_path: Path, edges: str, said: str
) -> None:
    refused = loadstone("compare", page, "--edge", edge_file(tmp_path, f"[simulated]\n{edges}"), *BACKHAUL)
    assert refused.code == 2 and said in refused.err


def test_tls_behind_the_edge_is_as_its_urls_say(loadstone: Command, page: str, tmp_path: Path) -> None:
    def cold(scheme: str) -> float:
        file = edge_file(tmp_path, scheme=scheme)
        return medians(loadstone("compare", page, "--edge", file, *BACKHAUL, *FAST).document)["edge h2 cold"]

    assert cold("https") - cold("http") == pytest.approx(80, abs=2)


def test_a_hit_rate_says_what_a_warm_cache_has_and_fields_do_if_it_is_not_given(
    loadstone: Command, page: str, tmp_path: Path
) -> None:
    file = edge_file(tmp_path, "[cache]\nbytes = 1_000_000\n")

    def warm(*options: str) -> tuple[float, list[str]]:
        document = loadstone("compare", page, "--edge", file, *BACKHAUL, *FAST, *options).document
        return medians(document)["edge h2 warm"], document["edge"]["notes"]

    by_fields, notes = warm()
    assert "no response of the edge's hosts has fields" in notes[-1] and "--hit-rate" in notes[-1]
    none, notes = warm("--hit-rate", "0")
    assert none == by_fields and "0 % of URLs" in notes[0]
    assert by_fields - warm("--hit-rate", "100")[0] == pytest.approx(80, abs=2)


def test_options_come_before_the_file_which_an_edge_reads_as_well(
    loadstone: Command, page: str, tmp_path: Path
) -> None:
    file = edge_file(
        tmp_path,
        '[cache]\nbytes = 1_000_000\n[simulated]\nbackhaul = "1000gbit,40ms,queue=100000p"\nhit_rate = 100\n'
        "request_us = 20_000\n",
    )
    ours = loadstone("compare", page, "--edge", file, *FAST).document
    assert (ours["edge"]["hit_rate"], ours["edge"]["request_us"]) == (100, 20_000)
    found = medians(ours)
    # The edge's processor has one request.
    assert found["edge h2 warm"] == pytest.approx(600 + 20, abs=6)
    assert found["straight h2"] == pytest.approx(3 * 140 + 300, abs=6)
    farther = medians(loadstone("compare", page, "--edge", file, *BACKHAUL, *FAST).document)
    assert farther["straight h2"] - found["straight h2"] == pytest.approx(120, abs=2)
    # To an edge on sockets this table says nothing.
    assert edges.open_edge(file, [], {"front.listen": "127.0.0.1:0"}).ways


def test_a_comparison_with_an_earlier_one_sees_that_the_edge_is_another(
    loadstone: Command, page: str, tmp_path: Path
) -> None:
    file = edge_file(tmp_path, "[cache]\nbytes = 1_000_000\n")
    asked = ["compare", page, "--edge", file, *BACKHAUL, *FAST, "--hit-rate"]
    earlier = tmp_path / "earlier.json"
    earlier.write_text(loadstone(*asked, "50", "--runs", "3").out)
    condition = "plt('edge h2 warm') <= 1.01 * before(plt('edge h2 warm'))"
    gate = ["--against", str(earlier), "--assert", condition]
    assert loadstone(*asked, "50", "--runs", "3", *gate).code == 0
    other = loadstone(*asked, "60", "--runs", "3", *gate)
    assert other.code == 2 and "hit_rate" in other.err


def test_where_chance_has_a_part_in_one_variant_all_are_run_as_often(
    loadstone: Command, page: str, tmp_path: Path
) -> None:
    file = edge_file(tmp_path, "[cache]\nbytes = 1_000_000\n")
    asked = ("compare", page, "--edge", file, *BACKHAUL, *FAST, "--runs", "3")
    for rate, is_random in (("50", True), ("100", False)):
        (network,) = loadstone(*asked, "--hit-rate", rate).document["pages"][0]["networks"]
        runs = [len(variant["runs"]) for variant in network["variants"]]
        assert (network["random"], runs) == (is_random, [3 if is_random else 1] * len(NAMES))


def test_the_bound_and_growth_of_connections_are_those_of_the_file(
    loadstone: Command, tmp_path: Path
) -> None:
    page = tmp_path / "many.json"
    objects = [{"url": f"https://own.test/{at}", "bytes": 1000} for at in range(5)]
    page.write_text(json.dumps({"objects": objects}))

    def warm(more: str) -> float:
        asked = ("compare", str(page), "--edge", edge_file(tmp_path, more), *BACKHAUL, *FAST)
        return medians(loadstone(*asked).document)["edge h2 warm"]

    # Four objects come at once; the last waits for three round trips behind the edge.
    at_once = warm('[behind]\ngrowth = "at-once"\n')
    assert warm("[behind]\nconnections = 1\n") - at_once == pytest.approx(240, abs=3)
    quarter = '[behind]\nconnections = 4\nclient_share = 25\ngrowth = "at-once"\n'
    assert warm(quarter) - at_once == pytest.approx(240, abs=3), "a user's share is one connection"
    # It is worth a round trip to an edge not to open a connection for each.
    assert warm("") - at_once == pytest.approx(80, abs=3)


def test_what_the_front_says_holds_through_the_edge_alone(tmp_path: Path) -> None:
    file = edge_file(tmp_path, '[front]\nprotocol = "h2"\nmultiplexing = {policy = "round-robin"}\n')
    edge = simulated_edge.read(file, "1gbit,10ms", None, {})
    from loadstone import variants

    page = pages.Page.of({"objects": [{"url": "https://own.test/", "bytes": 1}]})
    made = edge.variants([page], variants.variants([page], ["http/1.1", "h2"]), {})
    assert [one.name for one in made] == ["straight http/1.1", "straight h2", "edge h2 cold", "edge h2 warm"]
    policies = [one.chosen.get("variant.multiplexing.policy") for one in made]
    assert policies == [None, None, "round-robin", "round-robin"]


def test_the_edge_s_sockets_take_as_much_as_its_file_says_or_an_edge_does_by_itself(tmp_path: Path) -> None:
    """And options come before both."""
    from loadstone import variants

    field = "variant.tcp.notsent_lowat"
    page = pages.Page.of({"objects": [{"url": "https://own.test/", "bytes": 1}]})

    def taken(more: str, chosen: dict[str, Any]) -> list[Any]:
        edge = simulated_edge.read(edge_file(tmp_path, more), "1gbit,10ms", None, {})
        made = edge.variants([page], variants.variants([page], ["h2"]), chosen)
        return [one.chosen.get(field) for one in made if one.name in ("straight h2", *NAMES[3::2])]

    assert taken("", {}) == [None, 131_072, 131_072]
    assert taken("[front]\nnotsent_lowat = 16384\n", {}) == [None, 16_384, 16_384]
    assert taken("[front]\nnotsent_lowat = 16384\n", {field: 4096}) == [None, None, None]


@pytest.mark.parametrize(
    ("more", "options", "why"),
    [
        ("", [], "--edge: nothing says how far origins are from the edge: add --backhaul"),
        ('[simulated]\nbackhaul = "near"\n', [], "edge.toml: simulated.backhaul: network 'near'"),
        ("", ["--backhaul", "1gbit"], "--backhaul: network '1gbit'"),
        ("", ["--backhaul", "trace:x.down,20ms"], "--backhaul: "),
        ("[simulated]\nhits = 3\n", [], "edge.toml: simulated.hits: there is no such field: take backhaul"),
        ("[simulated]\nhit_rate = 101\n", [], "edge.toml: simulated.hit_rate: 101 is no whole number"),
        ("[simulated]\nhit_rate = true\n", [], "edge.toml: simulated.hit_rate: True is no whole number"),
        ("[casche]\n", [], "edge.toml: casche: there is no such table: take front, origins, behind, cache"),
        ("", ["--backhaul", "1gbit,9ms", "--hit-rate", "9"], "cache.bytes: without a cache nothing is a hit"),
        ('[front]\ntransport = "plaintext"\n', [], "front.transport: there is no TLS in front: add"),
        (
            "",
            ["--backhaul", "1gbit,9ms", "--servers", "3"],
            "page's own hosts: leave out servers",
        ),
        ("", ["--backhaul", "1gbit,9ms", "--html", "x.html"], "--html says what helps a page without"),
        ("", ["--backhaul", "1gbit,9ms", "--baseline", "h2"], "'h2' is no variant: take one of straight"),
    ],
)
def test_what_cannot_be_simulated_is_refused_with_place_and_remedy(
    loadstone: Command, page: str, tmp_path: Path, more: str, options: list[str], why: str
) -> None:
    result = loadstone("compare", page, "--edge", edge_file(tmp_path, more), *options)
    assert result.code == 2 and why in " ".join(result.err.split()), result.err


def test_an_edge_that_has_nothing_of_a_page_is_refused(loadstone: Command, page: str, tmp_path: Path) -> None:
    result = loadstone("compare", page, "--edge", edge_file(tmp_path, name="a.test"), *BACKHAUL)
    assert result.code == 2
    assert "it names a.test, but page.json has own.test, other.test" in " ".join(result.err.split())


def test_options_of_an_edge_need_one(loadstone: Command, page: str) -> None:
    for options in (BACKHAUL, ("--hit-rate", "5")):
        result = loadstone("compare", page, *options)
        assert result.code == 2 and "add --edge FILE" in result.err


def test_a_name_of_an_origin_is_meant_with_any_port_or_with_its_own(tmp_path: Path) -> None:
    urls = ["https://own.test/", "https://own.test:8443/x"]
    page = pages.Page.of({"objects": [{"url": url, "bytes": 1} for url in urls]})

    def served(name: str) -> list[str]:
        return simulated_edge.read(edge_file(tmp_path, name=name), "1gbit,9ms", None, {}).names_of(page)[0]

    assert served("Own.test") == ["own.test", "own.test:8443"]
    assert served("own.test:8443") == ["own.test:8443"]
