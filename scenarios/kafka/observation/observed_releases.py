"""Observed Kafka releases in a scenario: what is assumed about them, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from assignors.tasks.streams_group_sticky import RELEASES
from scenarios.kafka.observation.observation import Observation
from scenarios.language.releases import NEWEST, UnknownReleaseError, parse_release

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
