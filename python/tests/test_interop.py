"""Our servers and clients with those of others: every body whole, in every protocol, with TLS and without.

What the others do oddly stands in docs/interop.md; a test that depends on it names it.
"""

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import peers
from conftest import need
from peers import GO, NETTY, NODE, OURS, Foreign, Identity, Request, Response, Server, Way, run, wanted

UPLOAD = 1_000_000
# As many as a server of ours pushes with one response.
PUSHES = 100

MULTIPLEXED = [
    (peer, Way(protocol, transport))
    for peer, protocols in (
        (NODE, ("spdy/2", "spdy/3", "spdy/3.1", "h2")),
        (GO, ("spdy/3.1",)),
        (NETTY, ("spdy/3.1",)),
    )
    for protocol in protocols
    for transport in ("plain", "tls")
]
# Node's own HTTP/1.1 answers as well as the package does.
SERVERS = MULTIPLEXED + [
    (NODE, Way(protocol, transport))
    for protocol in ("http/1.1", "http/1.1+pipelining")
    for transport in ("plain", "tls")
]

Serve = Callable[[Any, Way], str]


def each(pairs: list[tuple[Foreign, Way]]) -> Any:
    return pytest.mark.parametrize(
        ("peer", "way"),
        [pytest.param(peer, way, id=f"{peer.name}-{way.protocol}-{way.transport}") for peer, way in pairs],
    )


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    folder = tmp_path_factory.mktemp("identity")
    made = Identity(folder / "certificate.pem", folder / "key.pem")
    command = [need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-addext", "basicConstraints=critical,CA:FALSE"]
    run([*command, "-keyout", made.key, "-out", made.certificate])
    return made


@pytest.fixture(scope="module")
def serve(identity: Identity) -> Iterator[Serve]:
    """Give where a peer serves; it is started once, and goes on after a client that it did not like."""
    running: dict[tuple[str, Way], Server] = {}

    def where(peer: Any, way: Way) -> str:
        if (peer.name, way) not in running:
            running[peer.name, way] = peer.serve(way, identity)
        return running[peer.name, way].address

    yield where
    for server in running.values():
        server.stop()


@pytest.fixture(scope="module")
def upload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("upload") / "upload"
    path.write_bytes(peers.pattern(UPLOAD))
    return path


def few(upload: Path) -> list[Request]:
    """Give some of each kind of request, uploads several at a time."""
    return [
        *[Request("POST", "/echo", upload)] * 3,
        Request("HEAD", "/bytes/70000"),
        Request("GET", "/bytes/70000"),
        Request("GET", "/missing"),
    ]


def complaints(came: list[Response], requests: list[Request], pushed: int = 0) -> list[str]:
    return peers.differences(came, [*map(wanted, requests), *peers.pushes(pushed)])


@each(MULTIPLEXED)
def test_a_thousand_objects_of_ours_reach_their_client_whole(serve: Serve, peer: Foreign, way: Way) -> None:
    requests = peers.objects()
    assert complaints(peer.fetch(way, serve(OURS, way), requests), requests) == []


@each(SERVERS)
def test_a_thousand_objects_of_theirs_reach_our_client_whole(serve: Serve, peer: Foreign, way: Way) -> None:
    requests = peers.objects()
    assert complaints(OURS.fetch(way, serve(peer, way), requests), requests) == []


@each(MULTIPLEXED)
def test_our_server_gives_back_what_their_client_sends(
    serve: Serve, upload: Path, peer: Foreign, way: Way
) -> None:
    assert complaints(peer.fetch(way, serve(OURS, way), few(upload)), few(upload)) == []


@each(SERVERS)
def test_their_server_gives_back_what_our_client_sends(
    serve: Serve, upload: Path, peer: Foreign, way: Way
) -> None:
    assert complaints(OURS.fetch(way, serve(peer, way), few(upload)), few(upload)) == []


@each(MULTIPLEXED)
def test_what_our_server_pushes_reaches_their_client(serve: Serve, peer: Foreign, way: Way) -> None:
    requests = [Request("GET", f"/push/{PUSHES}")]
    # A client of spdystream can read no stream that it may not reply to: ours refuses all of them.
    pushed = 0 if peer is GO else PUSHES
    assert complaints(peer.fetch(way, serve(OURS, way), requests), requests, pushed) == []


@each(MULTIPLEXED)
def test_what_their_server_pushes_reaches_our_client(serve: Serve, peer: Foreign, way: Way) -> None:
    requests = [Request("GET", f"/push/{PUSHES}")]
    # npm's spdy calls all that it pushes https:, which on http: is another origin (draft 3, section 3.3).
    pushed = 0 if peer is NODE and way.transport == "plain" else PUSHES
    assert complaints(OURS.fetch(way, serve(peer, way), requests), requests, pushed) == []


def ways(*pairs: tuple[str, str]) -> list[Any]:
    return [pytest.param(Way(*pair), id="-".join(pair)) for pair in pairs]


WAYS_OF_H2 = ways(("h2", "plain"), ("h2", "tls"))
WAYS_OF_BROWSERS = ways(("http/1.1", "plain"), ("http/1.1", "tls"), ("h2", "tls"))
WAYS_OF_WEB = [*WAYS_OF_BROWSERS, *ways(("h2", "plain"))]


class Nghttpd:
    """The server of nghttp2, over a folder of what the patterns are."""

    name = "nghttpd"

    def __init__(self, folder: Path) -> None:
        for name, size in [("push", 500), *((f"pushed/{at}", 1000 + at) for at in range(PUSHES))]:
            path = folder / (f"{name}/{PUSHES}" if name == "push" else name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(peers.pattern(size))
        (folder / "bytes").mkdir()
        for size in {int(path.split("/")[2]) for _, path, _ in peers.objects()} | {70_000}:
            (folder / "bytes" / str(size)).write_bytes(peers.pattern(size))
        self._folder = folder

    def serve(self, way: Way, identity: Identity) -> Server:
        pushed = ",".join(f"/pushed/{at}" for at in range(PUSHES))
        command = [need("nghttpd"), "-a", "127.0.0.1", "-d", str(self._folder), "--echo-upload"]
        # It allows far fewer streams than a client may open before it hears of that.
        command += [f"-p/push/{PUSHES}={pushed}", "-m", "7", "-b", "255", "--trailer", "x: y"]
        port = peers.free_port()
        tls = [str(port), str(identity.key), str(identity.certificate)]
        return Server([*command, *(tls if way.transport == "tls" else ["--no-tls", str(port)])], port=port)


@pytest.fixture(scope="module")
def nghttpd(tmp_path_factory: pytest.TempPathFactory) -> Nghttpd:
    return Nghttpd(tmp_path_factory.mktemp("nghttpd"))


@pytest.mark.parametrize("way", WAYS_OF_H2)
def test_everything_of_nghttpd_reaches_our_client(
    serve: Serve, nghttpd: Nghttpd, upload: Path, way: Way
) -> None:
    requests = [*peers.objects(), Request("GET", f"/push/{PUSHES}"), *few(upload)]
    came = OURS.fetch(way, serve(nghttpd, way), requests)
    # Its page that says 404 is its own.
    came = [one._replace(size=0, sha256=peers.sha256(0)) if one.status == 404 else one for one in came]
    assert complaints(came, requests, PUSHES) == []


@pytest.mark.parametrize("way", WAYS_OF_H2)
def test_nghttp_takes_a_thousand_objects_of_ours_and_what_we_push(serve: Serve, way: Way) -> None:
    requests = [*peers.objects(), Request("GET", f"/push/{PUSHES}")]
    due = [*map(wanted, requests), *peers.pushes(PUSHES)]
    # It asks for each URL once, and says how long what came is, not what it is.
    urls = [way.url(serve(OURS, way), path) for path in dict.fromkeys(request.path for request in requests)]
    har = json.loads(run([need("nghttp"), "-n", "-y", "--har=-", *urls]))
    came = [
        (peers.path_of(entry["request"]["url"]), response["status"], response["content"]["size"])
        for entry in har["log"]["entries"]
        for response in [entry["response"]]
    ]
    assert sorted(came) == sorted({response[:3] for response in due})


@pytest.mark.parametrize("way", WAYS_OF_H2)
def test_nghttp_sends_and_gets_back_with_all_its_options(serve: Serve, upload: Path, way: Way) -> None:
    url = way.url(serve(OURS, way), "/echo")
    command = [need("nghttp"), "-y", "-b", "255", "--continuation", "--expect-continue", "--trailer", "x: y"]
    command += ["-w", "14", "-W", "16", "-d", str(upload), url]
    came = subprocess.run(command, capture_output=True, timeout=peers.VAIN, check=True).stdout
    assert hashlib.sha256(came).hexdigest() == peers.sha256(UPLOAD)


@pytest.mark.parametrize("way", WAYS_OF_WEB)
def test_h2load_gets_all_it_asks_for(serve: Serve, way: Way) -> None:
    streams = ["-c", "2", "-m", str(peers.CONCURRENCY), "-w", "14", "-W", "16", "--header-table-size", "0"]
    how = ["--h1", "-c", "10"] if way.protocol == "http/1.1" else streams
    said = run([need("h2load"), "-n", "2000", *how, way.url(serve(OURS, way), "/bytes/20000")])
    assert "2000 done" in said and "0 errored, 0 timeout" in said
    # With an empty reason phrase (RFC 9112, section 4, allows that) it overlooks the status of HTTP/1.1.
    assert way.protocol == "http/1.1" or "2000 succeeded, 0 failed" in said
    assert "(40000000) data" in said


def curl(way: Way, address: str, requests: list[Request], folder: Path) -> list[Response]:
    """Fetch by one command, as few connections as may be, requests of one method and body."""
    [(method, body)] = {(request.method, request.body) for request in requests}
    paths = {str(folder / str(at)): request.path for at, request in enumerate(requests)}
    lines = [f'url = "{way.url(address, path)}"\noutput = "{file}"' for file, path in paths.items()]
    version = "--http1.1" if way.protocol == "http/1.1" else "--http2"
    prior = "-prior-knowledge" if way == ("h2", "plain") else ""
    command = [need("curl"), "-sS", "--insecure", "--parallel", "--parallel-max", "20", version + prior]
    command += ["-w", "%{http_version} %{http_code} %{filename_effective}\n", "-K", "-"]
    command += ["--head"] if method == "HEAD" else []
    command += ["--data-binary", f"@{body}"] if body is not None else []
    came = []
    for line in run(command, "\n".join(lines)).splitlines():
        version, status, file = line.split(maxsplit=2)
        assert version == ("2" if way.protocol == "h2" else "1.1")
        # With --head it writes the head into the file.
        content = b"" if method == "HEAD" else Path(file).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        came.append(Response(paths[file], int(status), len(content), digest))
    return came


@pytest.mark.parametrize("way", WAYS_OF_WEB)
def test_curl_exchanges_few_things_of_each_kind(serve: Serve, upload: Path, tmp_path: Path, way: Way) -> None:
    for request in set(few(upload)):
        assert complaints(curl(way, serve(OURS, way), [request], tmp_path), [request]) == []


# By prior knowledge curl 7.88 breaks a connection that it uses a second time, nghttpd's as well.
@pytest.mark.parametrize("way", WAYS_OF_BROWSERS)
def test_a_thousand_objects_of_ours_reach_curl_whole(serve: Serve, tmp_path: Path, way: Way) -> None:
    requests = peers.objects()
    assert complaints(curl(way, serve(OURS, way), requests, tmp_path), requests) == []


# A page that asks for everything, this many at a time, and says what came by which protocol.
IN_A_PAGE = """async ({ paths, upload, most }) => {
    performance.setResourceTimingBufferSize(10000);
    const came = [];
    const hash = async content => {
        const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
        return [...digest].map(byte => byte.toString(16).padStart(2, "0")).join("");
    };
    const ask = async (path, options) => {
        const response = await fetch(path, { ...options, cache: "no-store" });
        const content = await response.arrayBuffer();
        came.push([path, response.status, content.byteLength, await hash(content)]);
        return content;
    };
    const queue = [...paths];
    const worker = async () => { while (queue.length > 0) await ask(queue.shift()); };
    await Promise.all(Array.from({ length: most }, worker));
    const content = await (await fetch(upload)).arrayBuffer();
    await ask("/echo", { method: "POST", body: content });
    await ask("/bytes/70000", { method: "HEAD" });
    await ask("/missing");
    const fetched = performance.getEntriesByType("resource").filter(entry => entry.initiatorType === "fetch");
    return { came, protocols: [...new Set(fetched.map(entry => entry.nextHopProtocol))] };
}"""


@pytest.mark.parametrize("way", WAYS_OF_BROWSERS)
def test_chromium_gets_a_thousand_objects_of_ours_whole(
    browser: Any, serve: Serve, upload: Path, way: Way
) -> None:
    requests = peers.objects()
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    start = way.url(serve(OURS, way), "/start")
    page.route(start, lambda route: route.fulfill(content_type="text/html", body="<title>start</title>"))
    page.goto(start)
    paths = [request.path for request in requests]
    given = {"paths": paths, "upload": f"/bytes/{UPLOAD}", "most": peers.CONCURRENCY}
    found = page.evaluate(IN_A_PAGE, given)
    context.close()
    exchanged = set(few(upload)) - {Request("GET", "/bytes/70000")}
    assert complaints([Response(*one) for one in found["came"]], [*requests, *exchanged]) == []
    assert found["protocols"] == [way.protocol]


@pytest.mark.parametrize("way", WAYS_OF_H2)
def test_h2spec_finds_nothing_amiss_in_our_server(serve: Serve, way: Way) -> None:
    GO.check()
    host, port = serve(OURS, way).split(":")
    tls = ["--tls", "--insecure"] if way.transport == "tls" else []
    said = run([peers.H2SPEC, "--strict", "-h", host, "-p", port, "--path", "/bytes/1000", *tls])
    assert "146 tests, 146 passed, 0 skipped, 0 failed" in said
