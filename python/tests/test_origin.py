"""Loads of a page from servers that are there already: plain, over TLS, behind a link."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

import kernel
from conftest import EXAMPLES, Command, Result
from kernel import LOADSTONE
from loadstone import pages
from loadstone.origin import Probed, RealLoad
from test_serving import Serve, Served, serve

__all__ = ["serve"]

SHOP = str(EXAMPLES / "shop.har")
NEVER = "http://127.0.0.1:1"

Write = Callable[..., str]


def object_of(url: str, size: int = 1_000, **more: Any) -> dict[str, Any]:
    return {"url": url, "bytes": size, **more}


@pytest.fixture
def page(tmp_path: Path) -> Write:
    def write(*objects: dict[str, Any], **more: Any) -> str:
        path = tmp_path / "page.page.json"
        path.write_text(json.dumps({"objects": objects, **more}))
        return str(path)

    return write


class Noting(BaseHTTPRequestHandler):
    """Notes requests, and answers each with 1,000 bytes; what is not to be found with fewer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.requests.append((self.command, self.path, dict(self.headers.items())))
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = bytes(9) if "missing" in self.path else bytes(1_000)
        self.send_response(404 if "missing" in self.path else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass


class NotingServer(ThreadingHTTPServer):
    # More than come at once: where the queue is full, SYNs are sent again.
    request_queue_size = 100

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Noting)
        self.requests: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def noting() -> Iterator[NotingServer]:
    with NotingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def bodies() -> list[int]:
    """Give what the bodies of the shop have, as it was recorded."""
    return [entry["response"]["bodySize"] for entry in json.loads(Path(SHOP).read_text())["log"]["entries"]]


def words(result: Result) -> str:
    """Give what was said, without the ends of lines."""
    return " ".join(result.out.split())


def of(result: Result, run: int = 0) -> Any:
    """Give what a load from servers told beside its outcome."""
    return result.document["runs"][run]["origin"]


def secure(served: Served, *more: str) -> list[str]:
    return ["--origin", f"https://127.0.0.1:{served.port}", *more]


def assert_all_answered(answers: dict[str, Any]) -> None:
    """Check that the page's objects came as recorded, but those for which its load event does not wait."""
    objects = json.loads(pages.read(SHOP).json)["objects"]
    waited_for = [one for one in objects if one.get("needed") is not False]
    assert answers["unlike"] == []
    assert len(waited_for) <= answers["alike"] <= 42
    assert len(answers["unanswered"]) <= 42 - len(waited_for)


# --- what is asked for ---


@pytest.mark.parametrize("protocol", ["h2", "http/1.1", "spdy/3.1"])
def test_a_page_is_loaded_from_a_server_over_tls_under_the_names_of_its_hosts(
    serve: Serve, loadstone: Command, tmp_path: Path, protocol: str
) -> None:
    served = serve(SHOP, "--save-ca", "ca.pem", "--access-log", "log")
    trust = ["--cacert", str(tmp_path / "ca.pem")]
    result = loadstone("load", SHOP, *secure(served, *trust), "--protocol", protocol, "--json")
    run, told = result.document["runs"][0], of(result)
    assert (result.code, run["completed"], told["failures"]) == (0, True, [])
    assert_all_answered(told["answers"])
    spoken = {(one["protocol"], one["tls"]) for one in told["connections"] if one["protocol"]}
    assert spoken == {(protocol, "1.3")}
    assert run["connections"] == len(told["connections"]) and run["packets_down"] > 42
    assert run["bytes_down"] > sum(bodies())
    served.stop()
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    requests = [line for line in log if "path" in line]
    hosts = {line["host"] for line in requests}
    assert hosts == {"shop.example.test", "media.shop.example.test", "pay.example.test"}
    assert told["answers"]["alike"] <= len(requests) <= 42, "its own requests and no others"


def test_a_request_has_the_recorded_fields_but_nothing_that_identifies_a_user(
    noting: NotingServer, loadstone: Command, page: Write
) -> None:
    fields = [["Cookie", "id=7"], ["authorization", "Basic x"], ["x-token", "t"], ["accept-language", "de"]]
    shown = page(
        object_of("https://a.test/?q=1", request_fields=fields),
        object_of("https://b.test:8443/b", request_header_bytes=700),
    )
    assert loadstone("load", shown, "--origin", noting.url).code == 0
    [(_, one, of_one), (_, other, of_other)] = noting.requests
    assert (one, of_one["host"], of_one["accept-language"]) == ("/?q=1", "a.test", "de")
    assert (other, of_other["host"]) == ("/b", "b.test:8443")
    named = {name.lower() for name in [*of_one, *of_other]}
    assert not named & {"cookie", "authorization", "x-token"}
    noting.requests.clear()
    assert loadstone("load", shown, "--origin", noting.url, "--keep-secrets").code == 0
    named = {name.lower() for name in noting.requests[0][2]}
    assert "x-token" in named and not named & {"cookie", "authorization"}


def test_what_may_change_something_is_sent_only_where_that_is_wanted(
    noting: NotingServer, loadstone: Command, page: Write
) -> None:
    shown = page(
        object_of("http://a.test/"),
        object_of("http://a.test/order", method="POST", upload_bytes=10),
        object_of("http://a.test/after", needs=[{"node": "http://a.test/order"}]),
    )
    result = loadstone("load", shown, "--origin", noting.url)
    assert [(method, path) for method, path, _ in noting.requests] == [("GET", "/"), ("GET", "/after")]
    assert "1 not sent" in result.out and "POST http://a.test/order" in result.out
    noting.requests.clear()
    result = loadstone("load", shown, "--origin", noting.url, "--all-methods", "--json")
    assert [method for method, _, _ in noting.requests] == ["GET", "POST", "GET"]
    assert result.document["origin"]["left_out"] == []


def test_two_hosts_can_have_servers_of_their_own(loadstone: Command, page: Write) -> None:
    shown = page(object_of("http://a.test/"), object_of("http://b.test/b"), object_of("http://b.test/c"))
    with NotingServer() as one, NotingServer() as other:
        threads = [threading.Thread(target=server.serve_forever, args=(0.01,)) for server in (one, other)]
        [thread.start() for thread in threads]
        result = loadstone("load", shown, "--origin", one.url, "--origin", f"b.test={other.url}", "--json")
        [server.shutdown() for server in (one, other)]
        [thread.join() for thread in threads]
    assert result.code == 0
    asked = [{(path, fields["host"]) for _, path, fields in server.requests} for server in (one, other)]
    assert asked == [{("/", "a.test")}, {("/b", "b.test"), ("/c", "b.test")}]
    assert [server["host"] for server in result.document["origin"]["servers"]] == ["a.test", "b.test"]


def test_recorded_is_where_the_urls_say(noting: NotingServer, loadstone: Command, page: Write) -> None:
    assert loadstone("load", page(object_of(f"{noting.url}/x")), "--origin", "recorded").code == 0
    assert [path for _, path, _ in noting.requests] == ["/x"]


def test_computing_is_waited_for_and_can_be_scaled(
    noting: NotingServer, loadstone: Command, page: Write
) -> None:
    shown = page(
        object_of("http://a.test/"),
        object_of("http://a.test/b", needs=[{"node": "script"}]),
        compute=[{"name": "script", "ms": 200, "needs": [{"node": "http://a.test/"}]}],
    )
    for factor, least in (("1", 200), ("2", 400)):
        result = loadstone(
            "load", shown, "--origin", noting.url, "--compute", factor, "--waterfall", "--json"
        )
        found = result.document["runs"][0]["waterfall"]["found_ms"]
        received = result.document["runs"][0]["waterfall"]["last_byte_ms"]
        assert found[1] - received[0] >= least


def test_each_load_has_a_path_and_the_pages_own_requests(
    noting: NotingServer, loadstone: Command, page: Write
) -> None:
    shown = page(object_of("http://a.test/"), object_of("http://a.test/b"))
    result = loadstone("load", shown, "--origin", noting.url, "--runs", "3", "--pause", "0", "--json")
    assert [path for _, path, _ in noting.requests] == ["/", "/b"] * 3
    assert result.document["variant"].get("names", "cached") == "cached", "none is looked up in a load"
    for run in range(3):
        path = of(result, run)["path"]
        assert len(path["before"]["round_trips_ms"]) == len(path["after"]["round_trips_ms"]) == 5
        assert path["before"]["syn_retransmissions"] == 0


# --- what goes wrong ---


def test_other_answers_than_recorded_are_named_and_harm_nothing(
    noting: NotingServer, loadstone: Command, page: Write
) -> None:
    urls = [f"http://a.test/{name}" for name in ("", "missing", "large", "gone")]
    shown = page(
        object_of(urls[0]),
        object_of(urls[1]),
        object_of(urls[2], size=5_000),
        object_of(urls[3] + "-missing", size=9, status=404),
    )
    result = loadstone("load", shown, "--origin", noting.url)
    assert result.code == 0
    assert "2 of 4 requests answered as recorded" in result.out
    assert f"404 instead of 200: {urls[1]}" in result.out
    assert f"1,000 bytes instead of 5,000: {urls[2]}" in result.out
    told = of(loadstone("load", shown, "--origin", noting.url, "--json"))["answers"]
    assert [one["url"] for one in told["unlike"]] == urls[1:3]


def test_a_certificate_that_is_not_trusted_ends_the_load_with_its_remedy(
    serve: Serve, loadstone: Command, tmp_path: Path, page: Write
) -> None:
    serve(SHOP, "--save-ca", "other.pem")
    served = serve(SHOP)
    wrong = loadstone("load", SHOP, *secure(served, "--cacert", str(tmp_path / "other.pem")))
    assert wrong.code == 1 and "incomplete" in wrong.out
    assert f"shop.example.test at 127.0.0.1:{served.port}: TLS: invalid peer certificate" in words(wrong)
    assert "trust the certificate" in words(wrong)
    # A host that the certificate does not have.
    strange = page(object_of("https://strange.test/"))
    document = of(loadstone("load", strange, *secure(served, "--insecure"), "--json"))
    assert document["failures"] == []
    refused = of(loadstone("load", strange, *secure(served), "--json"))
    assert "strange.test" in refused["failures"][0]


def test_a_port_on_which_nobody_listens_is_named_before_anything_is_loaded(
    loadstone: Command, page: Write
) -> None:
    with create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    result = loadstone("load", page(object_of("http://a.test/")), "--origin", f"http://{address}")
    assert (result.code, result.out) == (1, "")
    assert f"a.test at {address}: cannot connect: connection refused; see that a server listens" in result.err


def test_a_server_that_never_answers_is_waited_for_as_long_as_is_said(
    loadstone: Command, page: Write
) -> None:
    with create_server(("127.0.0.1", 0), backlog=100) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        shown = page(object_of("http://a.test/never"))
        result = loadstone("load", shown, "--origin", f"http://{address}", "--timeout", "0.5")
        secured = loadstone("load", shown, "--origin", f"https://{address}", "--insecure", "--timeout", "0.5")
    assert result.code == secured.code == 1
    assert f"a.test at {address}: no answer within 0.5 s to http://a.test/never" in words(result)
    assert f"a.test at {address}: no answer within 0.5 s" in words(secured)


def test_a_server_that_answers_but_agrees_on_no_tls_needs_no_second_connection(
    loadstone: Command, page: Write
) -> None:
    def accepted(**more: Any) -> int:
        with create_server(("127.0.0.1", 0), backlog=100) as silent:
            address = f"https://127.0.0.1:{silent.getsockname()[1]}"
            shown = page(object_of("http://a.test/never"), **more)
            loadstone("load", shown, "--origin", address, "--insecure", "--timeout", "0.6")
            silent.settimeout(0)
            number = 0
            with suppress(BlockingIOError):
                while True:
                    silent.accept()[0].close()
                    number += 1
        return number

    assert accepted(scheduling="chromium") == accepted() > 0


def test_a_server_that_speaks_no_tls_is_told_from_one_that_does(
    noting: NotingServer, loadstone: Command, page: Write
) -> None:
    shown = page(object_of("https://a.test/"))
    result = loadstone("load", shown, "--origin", noting.url.replace("http", "https"), "--insecure")
    assert result.code == 1 and "a.test at 127.0.0.1" in words(result)
    assert noting.requests == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--origin", NEVER, "--live"], "is live"),
        (["--origin", NEVER, "--network", "cable"], "is measured"),
        (["--origin", NEVER, "--threads", "2"], "one after the other"),
        (["--origin", NEVER, "--packets", "p.csv"], "tcpdump"),
        (["--origin", NEVER, "--pcap", "p.pcapng"], "tcpdump"),
        (["--origin", NEVER, "--names", "looked-up"], "knows the addresses"),
        (["--origin", NEVER, "--tls", "none"], "http://"),
        (["--origin", NEVER, "--tls", "1.1"], "1.2 or 1.3"),
        (["--origin", "127.0.0.1"], "--origin: '127.0.0.1' names no server"),
        (["--origin", "http://127.0.0.1/page"], "but no path"),
        (["--origin", f"other.test={NEVER}"], "it has a.test"),
        (["--origin", NEVER, "--origin", NEVER], "give one of them a host"),
        (["--pause", "2"], "--pause is about real servers"),
        (["--insecure"], "--insecure is about real servers"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_remedy(
    loadstone: Command, page: Write, arguments: list[str], why: str
) -> None:
    result = loadstone("load", page(object_of("http://a.test/")), *arguments)
    assert (result.code, result.out) == (2, "") and why in result.err


# --- the path ---


def real_load(before: list[float], after: list[float], **counts: int) -> RealLoad:
    usual = dict.fromkeys(
        ("data_segments_down", "out_of_order_down", "holes_down", "data_segments_up", "retransmissions_up"), 0
    )
    connection = {
        "host": "a.test",
        "address": "127.0.0.1:1",
        "round_trip_ms": 120.0,
        "tls": None,
        **usual,
        **counts,
    }
    measured = {"rate_bps": 10_000_000, "connections": [connection]}
    outcome: Any = None
    return RealLoad(outcome, Probed(before, 0), Probed(after, 0), measured)


def test_a_path_has_changed_if_its_least_round_trip_has_by_a_tenth_and_a_millisecond() -> None:
    for before, after, changed in ((100, 110, False), (100, 111, True), (100, 89, True), (2, 2.9, False)):
        assert real_load([before, *[150] * 4], [*[9_999] * 4, after]).has_changed == changed


def test_loss_is_what_was_certainly_lost_beyond_what_queues_drop() -> None:
    counts = {"data_segments_down": 900, "holes_down": 9, "out_of_order_down": 90}
    load = real_load([101.0], [100.0], **counts, data_segments_up=100, retransmissions_up=1)
    assert (load.lost_down_pct, load.sent_again_pct) == ((1, 10), 1)
    assert (load.random_loss_pct(0), load.random_loss_pct(4)) == (1, 0.6)
    assert load.network == "10.000mbit,100.00ms"


def test_hosts_at_other_addresses_have_round_trips_of_their_own() -> None:
    load = real_load([100.0], [100.0])
    [first] = load.connections
    others = [
        {**first, "host": host, "address": at}
        for host, at in (("b.test", "::2"), ("c.test", first["address"]))
    ]
    load = replace(load, measured={**load.measured, "connections": [first, *others]})
    assert load.distances_ms == {"a.test": 100, "b.test": 120, "c.test": 100}


# --- behind a link that is known ---

NETWORK = "10/1mbit,100ms"


def on_bed(network: str, *arguments: str) -> Result:
    load = [*LOADSTONE, "load", SHOP, "--origin", "recorded", "--json", *arguments]
    return kernel.run("bed", SHOP, "--network", network, "--", *load)


@pytest.mark.usefixtures("access")
@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
def test_what_is_measured_behind_a_link_is_the_links(protocol: str) -> None:
    result = on_bed(NETWORK, "--protocol", protocol)
    assert result.code == 0, result.err
    run, told = result.document["runs"][0], of(result)
    path = told["path"]
    assert_all_answered(told["answers"])
    assert (path["lost_down_most_pct"], path["sent_again_pct"]) == (0, 0)
    assert all(
        100 <= ms < 200 for ms in [*path["before"]["round_trips_ms"], *path["after"]["round_trips_ms"]]
    )
    assert not path["has_changed"]
    assert 5e6 < path["rate_bps"] < 20e6
    # Alike are the load over the same link and servers of our own, and the simulator's on the measured path.
    live = kernel.run("load", SHOP, "--live", "--network", NETWORK, "--protocol", protocol, "--json")
    for other in (live.document["runs"][0]["plt_ms"], told["simulated_plt_ms"]):
        assert 0.5 < run["plt_ms"] / other < 2


@pytest.mark.usefixtures("access")
def test_losses_are_seen_where_there_are_some() -> None:
    result = on_bed("10/1mbit,20ms,loss=5%/0%", "--protocol", "h2")
    path = of(result)["path"]
    assert 0.3 < path["lost_down_least_pct"] < 10 < 5 * path["lost_down_most_pct"]
