"""Attacks on web servers, and what they cost those: memory, processor time, other clients' time.

`scripts/attacks` runs them on `loadstone serve` and on its peers, nghttpd and nginx (`servers.py`), or on
`loadstone edge` and on nghttpx and nginx (`relays.py`). Read `attack.py` first, then the attacks
(`memory.py`, `floods.py`), then `measurement.py`. They know no other target than servers that are started
here, on 127.0.0.1.
"""
