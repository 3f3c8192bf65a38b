"""The release that clients log when they start, as a release that is simulated.

Source: `AppInfoParser`; the versions of Confluent Platform (`7.9.0-ccs` contains Kafka 3.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from scenarios.kafka.observation.observation import Observation
from scenarios.language.releases import NEWEST_RELEASE, OLDEST_RELEASE

_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d{1,3})(?!\d))?(.*)")
_CONFLUENT: Final = re.compile(r"-(ccs|ce|cp)\b")


@dataclass(frozen=True, slots=True)
class LoggedRelease:
    """The release that clients of a group have logged.

    Attributes:
        version: As logged last, such as `3.9.1` or `7.9.0-ccs`.
        file: Name of the log.
        others: Other releases in the logs, sorted.
    """

    version: str
    file: str
    others: tuple[str, ...] = ()

    @property
    def simulated(self) -> str:
        """The release as which the clients are simulated: theirs, or the nearest supported one."""
        major, minor, patch = self._kafka()
        nearest = min(max((major, minor), OLDEST_RELEASE), NEWEST_RELEASE)
        release = ".".join(map(str, nearest))
        return release if patch is None or not self.is_supported else f"{release}.{patch}"

    @property
    def is_supported(self) -> bool:
        """Whether the release of the clients is simulated as such."""
        return OLDEST_RELEASE <= self._kafka()[:2] <= NEWEST_RELEASE

    def assumptions(self) -> Iterator[str]:
        """Yield the source of a supported release."""
        if self.is_supported:
            yield f"{self._described()}{self._others()}."

    def warnings(self) -> Iterator[str]:
        """Yield what is simulated for a release that is not supported."""
        if not self.is_supported:
            yield (
                f"{self._described()}, which is not supported{self._others()}: they are simulated as Kafka "
                f"{self.simulated}, the nearest supported release; results may differ."
            )

    def _described(self) -> str:
        major, minor, patch = self._kafka()
        release = ".".join(str(part) for part in (major, minor, patch) if part is not None)
        logged = "" if release == self.version else f" ({self.version})"
        return f"Clients run Kafka {release}{logged} according to {self.file}"

    def _others(self) -> str:
        return f"; the logs also contain {', '.join(self.others)}" if self.others else ""

    def _kafka(self) -> tuple[int, int, int | None]:
        """Return major, minor and patch of Kafka's release; the patch is unknown for Confluent Platform."""
        match = _VERSION.match(self.version)
        assert match is not None  # as the log has it
        major, minor, patch = int(match[1]), int(match[2]), match[3]
        if _CONFLUENT.match(match[4]):
            # 5.5 contains Kafka 2.5, 6.0 contains 2.6, 7.9 contains 3.9, 8.0 contains 4.0.
            return (major - 4, minor, None) if major >= 7 else (2, minor + 6 * (major - 5), None)
        return major, minor, None if patch is None else int(patch)


def with_logged_release(observation: Observation, logged: LoggedRelease | None) -> Observation:
    """Return an observation with the release that its clients logged, if any, and what is assumed about it."""
    if logged is None:
        return observation
    return replace(
        observation,
        client_release=logged.simulated,
        assumptions=(*observation.assumptions, *logged.assumptions()),
        warnings=(*observation.warnings, *logged.warnings()),
    )
