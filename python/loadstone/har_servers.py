"""At which addresses the hosts of a HAR were, as it says itself."""

import json
from typing import Any
from urllib.parse import urlsplit

from loadstone import files


def addresses_of(path: str) -> dict[str, set[str]]:
    """Give the addresses of each host in a HAR, where it says any; none of what is no HAR."""
    hosts: dict[str, set[str]] = {}
    for entry in _entries(path):
        request, address = entry.get("request"), entry.get("serverIPAddress")
        url = request.get("url") if isinstance(request, dict) else None
        if isinstance(address, str) and isinstance(url, str) and (host := _host(url)):
            hosts.setdefault(host, set()).add(address.strip("[]"))
    return hosts


def _entries(path: str) -> list[dict[str, Any]]:
    try:
        log = json.loads(files.read(path))["log"]
        return [entry for entry in log["entries"] if isinstance(entry, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _host(url: str) -> str:
    """Give host and port as pages have them: without the scheme's own port."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(f":{port}")
    return host if port in (None, 80, 443) else f"{host}:{port}"
