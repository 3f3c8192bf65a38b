"""Kafka releases: the patches whose answers are compared, and the names under which assignors are registered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

RECORDED_3_9: Final = "3.9.1"
"""The patch of 3.9 on which clusters were observed and answers recorded."""

PATCHES: Final = ("3.8.1", RECORDED_3_9, "3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.1", "4.2.2", "4.3.1", "4.4.0")
"""The published releases that this project uses, oldest first."""

CLIENTS: Final = {patch.rpartition(".")[0]: patch for patch in PATCHES}
"""The last patch of each minor release: the one whose answers are compared."""

BROKERS: Final = {"4.2.1": "4.2.1", **{minor: CLIENTS[minor] for minor in ("4.2", "4.3", "4.4")}}
"""A patch of each registered release of `kafka-group-coordinator` with streams groups, oldest first."""

CLIENT_RELEASES: Final = tuple(CLIENTS)
"""Kafka releases under which assignors of clients are registered, oldest first."""

_PATCH_RELEASE = re.compile(r"(\d{1,3}\.\d{1,3})\.(\d{1,3})")


def patch_of(release: str) -> str:
    """Return the last patch of a minor release that this project uses, or the release itself.

    Examples:
        >>> [patch_of(release) for release in ("4.3", "4.3.0", "5.0")]
        ['4.3.1', '4.3.0', '5.0']
    """
    return CLIENTS.get(release, release)


def registered_release(release: str, registered: Sequence[str]) -> str | None:
    """Return the registered release that a release belongs to.

    A minor release, such as `4.2`, means its last patches. A patch, such as `4.2.1`, is registered if later ones of the
    same minor release give other answers; earlier patches then belong to it. `release`: a minor release or a patch. The
    result is None if there is none for the minor release.

    Examples:
        >>> [registered_release(release, ("4.2.1", "4.2", "4.3")) for release in ("4.2", "4.2.0", "4.2.2", "4.3.1")]
        ['4.2', '4.2.1', '4.2', '4.3']
    """
    if release in registered:
        return release
    parts = _PATCH_RELEASE.fullmatch(release)
    if parts is None:
        return None
    minor, patch = parts[1], int(parts[2])
    patches = [
        (int(found[2]), name)
        for name in registered
        if (found := _PATCH_RELEASE.fullmatch(name)) and found[1] == minor and int(found[2]) >= patch
    ]
    return min(patches)[1] if patches else minor if minor in registered else None
