"""What a HAR has of a user's secrets is in nothing that is written, unless that is asked for."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from loadstone import pages, serving

SHAPES = ["{}", "{}.{}", "{}-{}", "{}%2B{}%3D", "{}_{}=="]


class Planted:
    """Secrets, each found nowhere else."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __str__(self) -> str:
        digest = hashlib.sha256(str(len(self.words)).encode()).hexdigest()
        self.words.append(f"Xy{digest[:14]}")
        return self.words[-1]


def _entry(at: int, secret: Planted) -> dict[str, Any]:
    def value(number: int) -> str:
        shape = SHAPES[number % len(SHAPES)]
        return shape.format(*[str(secret) for _ in range(shape.count("{}"))])

    names = ["Cookie", "COOKIE2", "authorization", "Proxy-Authorization", "X-API-Key", "x-csrf-token"]
    names += ["X-CSRFToken", "x-auth-token", "x-amz-security-token", "From", "X-Forwarded-For"]
    request = [{"name": name, "value": f"Bearer {value(at)}"} for name in names]
    request += [{"name": "cookie", "value": f"sid={value(at)}; theme={value(at + 1)}; {secret}"}]
    request += [{"name": "REFERER", "value": f"https://me:{secret}@a.test/x?q={value(at)}#t={secret}"}]
    response = [{"name": "Set-Cookie", "value": f"sid={secret}; Path=/; HttpOnly\nb={secret}; Max-Age=9"}]
    response += [{"name": "Location", "value": f"/y;v={secret}?code={value(at)}#access_token={secret}"}]
    response += [{"name": "link", "value": f"</z.css?k={secret}>; rel=preload; as=style"}]
    response += [{"name": "x-session", "value": f"{secret}"}, {"name": "content-type", "value": "text/html"}]
    url = f"https://me:{secret}@a{at % 3}.test/p{at}.html;jsessionid={secret}?k={value(at)}&{secret}"
    return {
        "startedDateTime": f"2024-05-01T10:00:00.{10 * at:03}Z",
        "time": 40,
        "request": {
            "method": "POST", "url": url, "headers": request, "bodySize": 40,
            "queryString": [{"name": "k", "value": f"{secret}"}],
            "cookies": [{"name": "sid", "value": f"{secret}"}],
            "postData": {"text": f"{secret}", "params": [{"name": "a", "value": f"{secret}"}]},
        },
        "response": {
            "status": 200, "headers": response, "redirectURL": f"/y?{secret}", "bodySize": 4000,
            "cookies": [{"name": "sid", "value": f"{secret}"}],
            "content": {"size": 4000, "mimeType": "text/html", "text": f"{secret}"},
        },
        "timings": {"send": 1, "wait": 20, "receive": 19},
        "_initiator": {"type": "script", "url": f"https://a.test/?k={secret}"},
    }  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    secret = Planted()
    page = {"id": "p", "title": f"https://a.test/?t={secret}"}
    log = {"pages": [page], "entries": [_entry(at, secret) for at in range(10)]}
    path = tmp_path / "mine.har"
    path.write_text(json.dumps({"log": log}))
    assert len(set(secret.words)) == len(secret.words) > 300
    yield path, secret.words


def _found(text: str, secrets: list[str]) -> list[str]:
    return [secret for secret in secrets if secret.lower() in text.lower()]


@pytest.mark.parametrize(
    "words",
    [
        ["page", "{har}"],
        ["page", "{har}", "--json"],
        ["page", "{har}", "--survey", "--json"],
        ["load", "{har}", "--waterfall"],
        ["load", "{har}", "--waterfall", "--json", "--protocol", "h2", "--packets", "{out}/packets.csv"],
        ["load", "{har}", "--pcap", "{out}/load.pcapng"],
        ["compare", "{har}", "--network", "cable", "--json", "--html", "{out}/report.html"],
        ["compare", "{har}", "--network", "cable", "--assert", "plt(h2) < 1", "--junit", "{out}/a.xml"],
        ["sweep", "{matrix}", "-o", "{out}/store"],
    ],
)
def test_no_verb_gives_a_secret_out(
    loadstone: Command, tmp_path: Path, recorded: tuple[Path, list[str]], words: list[str]
) -> None:
    har, secrets = recorded
    out = tmp_path / "out"
    out.mkdir()
    matrix = tmp_path / "m.toml"
    matrix.write_text('common.page = "mine.har"\nfactors.iw = [3, 10]\n')
    result = loadstone(*[word.format(har=har, out=out, matrix=matrix) for word in words])
    assert result.code in (0, 1)
    written = [path.read_bytes().decode(errors="replace") for path in out.rglob("*") if path.is_file()]
    for text in (result.out, result.err, *written):
        assert _found(text, secrets) == []


def test_a_page_and_what_is_served_have_none_unless_they_are_to_be_kept(
    recorded: tuple[Path, list[str]],
) -> None:
    har, secrets = recorded
    assert _found(pages.read(str(har)).json, secrets) == []
    assert _found(json.dumps(serving.setting(str(har), "localhost:0", {})), secrets) == []
    kept = json.dumps(serving.setting(str(har), "localhost:0", {}, keep_secrets=True))
    assert len(_found(kept, secrets)) > 200
    # Again the same, whatever the file is called.
    again = har.rename(har.with_name("again.har"))
    assert pages.read(str(again)).json == pages.read(str(again)).json


def test_figures_are_what_they_were(loadstone: Command, recorded: tuple[Path, list[str]]) -> None:
    har, _ = recorded

    def both(*words: str) -> tuple[Any, Any]:
        replaced, kept = (
            loadstone(*words, har, "--json", *keep).document for keep in ([], ["--keep-secrets"])
        )
        return replaced, kept

    page, before = both("page")
    for count in ("objects", "bytes", "hosts", "depth", "request_header_bytes", "response_header_bytes"):
        assert page[count] == before[count]
    # To the last digit without compression. Codes in HPACK are as long, but for three letters.
    load, before = both("load")
    assert load["median_plt_ms"] == before["median_plt_ms"] and load["runs"] == before["runs"]
    for protocol in ("h2", "spdy/3.1"):
        load, before = both("load", "--protocol", protocol)
        assert load["median_plt_ms"] == pytest.approx(before["median_plt_ms"], rel=1e-3)
