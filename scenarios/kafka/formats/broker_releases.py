"""The release of a broker, inferred from the API versions that it supports.

A broker does not report its release. Each release raises the latest version of some request; patch releases do not.

Source: `validVersions` of `common/message/*Request.json` in `kafka-clients` 3.9.1, 4.1.1, 4.2.0, 4.3.1 and 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NEWER: Final = "4.4 or later"
"""A release newer than the newest one that can be inferred."""

OLDER: Final = "3.8 or earlier"
"""A release older than the oldest one that can be inferred."""

_PRODUCE: Final = 0
_FETCH: Final = 1
_LIST_OFFSETS: Final = 2
_API_VERSIONS: Final = 18
_DESCRIBE_LOG_DIRS: Final = 35

_FIRST_RELEASE_WITH: Final = (
    (NEWER, _API_VERSIONS, 5),
    ("4.3", _DESCRIBE_LOG_DIRS, 5),
    ("4.2", _LIST_OFFSETS, 11),
    ("4.1", _PRODUCE, 13),
    ("4.0", _LIST_OFFSETS, 10),
    ("3.9", _FETCH, 17),
)
"""The first release that supports a version of a request, newest first."""


def infer_release(latest_versions: Mapping[int, int]) -> str | None:
    """Return the release of a broker, such as `4.3`, `NEWER` or `OLDER`.

    `latest_versions`: the latest supported version of each request, by API key. The result is None if a request is
    missing, as in truncated output.
    """
    if not {key for _, key, _ in _FIRST_RELEASE_WITH} <= set(latest_versions):
        return None
    releases = (release for release, key, version in _FIRST_RELEASE_WITH if latest_versions[key] >= version)
    return next(releases, OLDER)
