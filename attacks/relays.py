"""The relays that are attacked: `loadstone edge` and others, all before one server."""

from collections.abc import Sequence
from pathlib import Path

from attacks.protocol import HOST
from attacks.servers import Server, installed, nginx_listens, nginx_options


def found(loadstone: Sequence[str], origin: int) -> list[Server]:
    """Give the relays that are here, ours first; `origin` is the server's port, of HTTP/1.1."""

    def edge(_folder: Path, port: int, protocol: str) -> list[str]:
        listen = ["--plaintext", "--protocol", protocol, "--listen", f"127.0.0.1:{port}"]
        return ["edge", "--origin", f"{HOST}=http://127.0.0.1:{origin}", *listen]

    def nghttpx(_folder: Path, port: int, _protocol: str) -> list[str]:
        # No file of settings, whatever the machine has.
        alone = ["--conf=/dev/null", "--workers=1"]
        return [*alone, f"--frontend=127.0.0.1,{port};no-tls", f"--backend=127.0.0.1,{origin}"]

    def nginx(folder: Path, port: int, protocol: str) -> list[str]:
        upstream = f"upstream origin {{ server 127.0.0.1:{origin}; keepalive 64; }}"
        passed = 'proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";'
        server = f"{nginx_listens(port, protocol)} location / {{ {passed} proxy_set_header Host $host; }}"
        return nginx_options(folder, f"{upstream}\nserver {{ {server} }}")

    ours = Server("loadstone", tuple(loadstone), ("h2", "spdy/3.1", "http/1.1"), edge)
    others = [
        *installed("nghttpx", ("h2", "http/1.1"), nghttpx),
        *installed("nginx", ("h2", "http/1.1"), nginx),
    ]
    return [ours, *others]
