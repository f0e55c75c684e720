"""Which variants a comparison has."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from loadstone import variants
from loadstone.files import InputError
from loadstone.pages import Page, of_document, read

PLAIN = Page("made.up", of_document({"objects": [{"url": "http://a.test/", "bytes": 1}]}))


def entry(url: str, version: str) -> dict[str, Any]:
    return {
        "startedDateTime": "2026-01-01T00:00:00.000Z",
        "time": 50,
        "request": {"method": "GET", "url": url, "httpVersion": version, "headers": [], "headersSize": -1},
        "response": {
            "status": 200,
            "httpVersion": version,
            "headers": [],
            "content": {"size": 5000, "mimeType": "text/html"},
            "bodySize": 5000,
            "headersSize": -1,
        },
        "timings": {"wait": 40, "receive": 10},
    }


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """A page of four hosts of which each speaks something else, the first two of them HTTP/2."""
    spoken = [("a", "h2"), ("b", "HTTP/2.0"), ("c", "http/1.1"), ("d", "h3"), ("d", "h2"), ("d", "h3-29")]
    entries = [entry(f"https://{host}.test/{at}", version) for at, (host, version) in enumerate(spoken)]
    path = tmp_path / "mixed.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    return str(path)


def test_today_is_what_was_recorded_http_1_1_and_h2(recording: str) -> None:
    page = read(recording)
    assert page.protocols == {"a.test": "h2", "b.test": "h2", "c.test": "http/1.1", "d.test": "h3"}
    found = variants.variants([page])
    assert [variant.name for variant in found] == ["recorded", "http/1.1", "h2"]
    fields = found[0].fields(page, {})
    assert fields == {"variant.protocol": "h2", "variant.protocol_of": {"c.test": "http/1.1"}}
    assert variants.spoken(page) == "2 hosts h2, 1 host http/1.1, 1 host h3 (taken as h2)"
    assert [variant.name for variant in variants.variants([page, PLAIN])] == ["http/1.1", "h2"]


def test_hosts_speak_what_they_spoke_when_it_was_recorded(loadstone: Command, recording: str) -> None:
    document = loadstone("compare", recording, "--network", "cable", "--exact", "--json").document
    (page,) = document["pages"]
    assert page["recorded"]["spoken"] == "2 hosts h2, 1 host http/1.1, 1 host h3 (taken as h2)"
    recorded, one, two = page["networks"][0]["variants"]
    assert recorded["variant"]["protocol_of"] == {"c.test": "http/1.1"}
    assert "protocol_of" not in one["variant"]
    times = [variant["median_plt_ms"] for variant in (recorded, one, two)]
    assert len(set(times)) == 3, "it is neither of the two"


def test_objects_that_are_dealt_come_by_what_most_hosts_spoke(loadstone: Command, recording: str) -> None:
    for verb in ("compare", "whatif"):
        result = loadstone(verb, recording, "--network", "cable", "--exact", "--servers", "2", "--json")
        assert (result.code, result.err) == (0, "")
    assert result.document["variant"]["protocol"] == "h2"
    assert "protocol_of" not in result.document["variant"]


def test_a_recording_that_spoke_one_protocol_is_run_once(loadstone: Command, tmp_path: Path) -> None:
    path = tmp_path / "h2.har"
    path.write_text(
        json.dumps({"log": {"entries": [entry(f"https://a.test/{at}", "h2") for at in range(60)]}})
    )
    result = loadstone("compare", str(path), "--network", "cable")
    assert result.out.startswith("h2.har, as recorded: 1 host h2.\n")
    assert "\n*  recorded" in result.out and "Best: recorded, the baseline; so is h2." in result.out
    network = loadstone("compare", str(path), "--network", "cable", "--json").document["pages"][0][
        "networks"
    ][0]
    recorded, _, two = network["variants"]
    assert recorded["runs"] == two["runs"]
    assert (network["best"], network["equally_fast"], network["not_clearly_slower"]) == (
        "recorded",
        ["h2"],
        [],
    )


def test_variants_are_options_without_dashes() -> None:
    found = variants.variants(
        [PLAIN], ["h2", "protocol=h2,iw=32", "spdy/3.1, cc=bbr, name=fast"], baseline="fast"
    )
    assert [(variant.name, variant.chosen) for variant in found] == [
        ("fast", {"variant.protocol": "spdy/3.1", "variant.tcp.cc": "bbr"}),
        ("h2", {"variant.protocol": "h2"}),
        ("h2 iw=32", {"variant.protocol": "h2", "variant.tcp.iw": 32}),
    ]


def test_one_alone_is_held_against_today(recording: str) -> None:
    page = read(recording)
    assert [variant.name for variant in variants.variants([page], ["h2,iw=32"])] == ["recorded", "h2 iw=32"]
    assert [variant.name for variant in variants.variants([PLAIN], ["h2"])] == ["http/1.1", "h2"]
    assert [variant.name for variant in variants.variants([PLAIN], ["http/1.1"])] == ["http/1.1"]


def test_each_is_varied_by_every_value() -> None:
    found = variants.variants([PLAIN], varied=["iw=4,10", "cc=cubic, bbr"])
    assert [variant.name for variant in found] == [
        f"{protocol} iw={iw} cc={cc}"
        for protocol in ("http/1.1", "h2")
        for iw in (4, 10)
        for cc in ("cubic", "bbr")
    ]
    assert found[-1].chosen == {"variant.protocol": "h2", "variant.tcp.iw": 10, "variant.tcp.cc": "bbr"}
    windows = variants.variants([PLAIN], ["h2"], ["iw=4,10"])
    assert [variant.name for variant in windows] == ["h2 iw=4", "h2 iw=10"]


@pytest.mark.parametrize(
    ("asked", "varied", "baseline", "says"),
    [
        (["h2,window=3"], [], None, "sets 'window', which is no setting of a variant"),
        (["h2,iw=ten"], [], None, "'ten' is no whole number for --iw"),
        (["h2,conections=3"], [], None, "did you mean connections?"),
        (["name=x"], [], None, "sets nothing"),
        (["h2", "protocol=h2"], [], None, "two are called 'h2'"),
        (["recorded,h2"], [], None, "names a protocol beside what was recorded"),
        (["recorded"], [], None, "made.up does not say what its hosts spoke"),
        ([], ["iw"], None, "'iw' has no values"),
        ([], ["network=3g,4g"], None, "no setting of a variant"),
        ([], [], "h3", "'h3' is no variant: take one of http/1.1, h2"),
    ],
)
def test_what_is_no_variant_is_said(
    asked: list[str], varied: list[str], baseline: str | None, says: str
) -> None:
    with pytest.raises(InputError, match=r"--(variant|vary|baseline)") as refused:
        variants.variants([PLAIN], asked, varied, baseline)
    assert says in str(refused.value)


def test_what_the_engine_refuses_names_the_option(loadstone: Command, small: str) -> None:
    result = loadstone("compare", small, "--variant", "h3")
    assert (result.code, result.out) == (2, "") and "--protocol: unknown protocol 'h3'" in result.err
    result = loadstone("compare", small, "--variant", "HTTP/2,iw=0")
    assert (result.code, result.out) == (2, "") and "--iw" in result.err
