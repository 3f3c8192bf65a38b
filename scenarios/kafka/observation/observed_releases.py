"""Observed Kafka releases in a scenario: what is assumed about them, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scenarios.kafka.observation.observation import Observation
from scenarios.language.releases import NEWEST

_SAME_STREAMS_ASSIGNOR: Final = ("4.2", "4.3")
"""Releases of brokers whose assignor of streams groups is `streams_group_sticky`; see `docs/reference/assignors.md`."""


def release_assumptions(observation: Observation) -> Iterator[str]:
    """Yield what is assumed about the release of the clients."""
    if observation.client_release is None:
        yield f"Clients are assumed to run Kafka {NEWEST} (application.kafka); state another release with --kafka."


def release_warnings(observation: Observation) -> Iterator[str]:
    """Yield a warning if brokers assign the tasks in a way that is unknown or not supported."""
    release = observation.broker_release
    if observation.protocol != "streams" or release in _SAME_STREAMS_ASSIGNOR:
        return
    consequence = f"they assign the tasks of a streams group, and are simulated as Kafka {NEWEST}; results may differ"
    if release is None:
        yield (
            f"The release of the brokers is unknown: {consequence}. The complete output of "
            "kafka-broker-api-versions.sh shows it."
        )
    else:
        yield f"The brokers run Kafka {release}, which is not supported for streams groups: {consequence}."
