"""The release of Java, as `java -version` prints it."""

from __future__ import annotations

import re

# A program that only pretends to be Java may print thousands of digits, which Python does not convert.
_VERSION = re.compile(r'version "(?:1\.)?([0-9]{1,4})([^"0-9][^"]{0,40})?"')


def java_release(output: str) -> tuple[int, str] | None:
    """Return the release, such as 17, and the version without a leading `1.`, such as 17.0.15; None without one."""
    found = _VERSION.search(output)
    return None if found is None else (int(found[1]), f"{found[1]}{found[2] or ''}")
