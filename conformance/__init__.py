"""Tests that others wrote, against `loadstone edge`.

`scripts/conformance` runs them. Read `tally.py` first, then the two suites (`cache_tests.py`, `h2spec.py`);
`programs.py` starts what they need. They know no other target than an edge that is started here, on
127.0.0.1.
"""
