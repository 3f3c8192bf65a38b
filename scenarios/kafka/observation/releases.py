"""Observed Kafka releases as releases that are simulated: what clients log when they start, and what brokers show.

Source: `AppInfoParser`; the versions of Confluent Platform (`7.9.0-ccs` contains Kafka 3.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from assignors.tasks.streams_group_sticky import RELEASES
from scenarios.kafka.observation.observation import Observation
from scenarios.language.releases import NEWEST, NEWEST_RELEASE, OLDEST_RELEASE, UnknownReleaseError, parse_release

_OR_LATER: Final = " or later"
"""End of an inferred release that has no upper limit, such as `4.4 or later`."""
_OR_EARLIER: Final = " or earlier"
"""End of an inferred release that has no lower limit, such as `3.8 or earlier`."""
_FIRST_WITH_CONSUMER_PROTOCOL: Final = (4, 0, 0)


def simulated_broker_release(observation: Observation) -> str | None:
    """Return the release as which the brokers of a streams group are simulated; None if theirs is not supported."""
    if observation.protocol != "streams" or observation.broker_release is None:
        return None
    release = observation.broker_release.removesuffix(_OR_LATER)
    return release if release in RELEASES else None


def simulated_client_release(observation: Observation) -> str | None:
    """Return the release of the clients in the scenario; None for the default.

    Only clients of Kafka 4.4 or later are static members of a streams group.
    """
    is_static = any(process.is_static for process in observation.processes)
    if observation.client_release is None and observation.protocol == "streams" and is_static:
        return NEWEST
    return observation.client_release


def release_assumptions(observation: Observation) -> Iterator[str]:
    """Yield what is assumed about the releases of the clients and of the brokers."""
    if observation.client_release is None:
        clients = simulated_client_release(observation) or NEWEST
        yield f"Clients are assumed to run Kafka {clients} (application.kafka); state another release with --kafka."
    simulated = simulated_broker_release(observation)
    if simulated is not None and simulated != observation.broker_release:
        yield (
            f"The brokers run Kafka {observation.broker_release}, and are assumed to run {simulated} (cluster.kafka); "
            "a later release may assign tasks in another way."
        )
    if simulated == "4.2":  # Requests do not show the patch.
        yield (
            "Brokers of Kafka 4.2 are assumed to run 4.2.2; 4.2.0 and 4.2.1 place some standbys in another way: "
            "for them, set cluster.kafka to 4.2.1."
        )


def release_warnings(observation: Observation) -> Iterator[str]:
    """Yield a warning if brokers assign the tasks in a way that is unknown or not supported."""
    release = observation.broker_release
    if observation.protocol != "streams" or simulated_broker_release(observation) is not None:
        return
    consequence = f"they assign the tasks of a streams group, and are simulated as Kafka {NEWEST}; results may differ"
    if release is None:
        yield (
            f"The release of the brokers is unknown: {consequence}. The complete output of "
            "kafka-broker-api-versions.sh shows it."
        )
    else:
        yield f"The brokers run Kafka {release}, which is not supported for streams groups: {consequence}."


def simulated_coordinator_release(observation: Observation) -> str | None:
    """Return the release as which the brokers of a consumer group are simulated; None for the default."""
    release = (observation.broker_release or "").removesuffix(_OR_LATER).removesuffix(_OR_EARLIER)
    try:
        parsed = parse_release(release)
    except UnknownReleaseError:
        return None
    return None if observation.protocol == "consumer" and parsed < _FIRST_WITH_CONSUMER_PROTOCOL else release


def consumer_release_remarks(observation: Observation) -> Iterator[str]:
    """Yield what is assumed about the releases of consumers and brokers of a consumer group."""
    if observation.client_release is None:
        yield f"Consumers are assumed to run Kafka {NEWEST} (consumers[0].kafka); state another release with --kafka."
    simulated = simulated_coordinator_release(observation)
    if simulated is None:
        release = "an unknown release" if observation.broker_release is None else f"Kafka {observation.broker_release}"
        yield f"The brokers run {release}, and are assumed to run Kafka {NEWEST} (cluster.kafka)."
    elif simulated != observation.broker_release:
        yield f"The brokers run Kafka {observation.broker_release}, and are assumed to run {simulated} (cluster.kafka)."


_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d{1,3})(?!\d))?(.*)")
_CONFLUENT: Final = re.compile(r"-(ccs|ce|cp)\b")


@dataclass(frozen=True, slots=True)
class LoggedRelease:
    """The release that clients of a group have logged.

    Attributes:
        version: As logged last, such as `3.9.1` or `7.9.0-ccs`.
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
