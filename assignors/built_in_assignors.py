"""The task assignors of this project: Kafka's, reimplemented, and alternatives to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from assignors.errors import UnknownAssignorError
from assignors.java.hash_order import CollectionOrder
from assignors.kafka_releases import CLIENT_RELEASES, registered_release
from assignors.model.assignment import TaskAssignor
from assignors.model.group_spec import StreamsGroupAssignor
from assignors.model.traffic_rates import RATES
from assignors.objective import EQUAL_WEIGHTS, Weights
from assignors.tasks.group_spec_assignor import GroupSpecAssignor
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.incremental import Incremental
from assignors.tasks.legacy_sticky import FallbackPrior, LegacySticky
from assignors.tasks.optimal import Optimal
from assignors.tasks.rack_aware_variant import CurrentOverlap, MinBytes, ReliableStandbys, SubtopologyBalance
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import RELEASES, StreamsGroupPreview, StreamsGroupSticky

NOT_PASSED_TO_BROKERS: Final = (
    "acceptable.recovery.lag",
    "max.warmup.replicas",
    "probing.rebalance.interval.ms",
    "rack.aware.assignment.strategy",
    "rack.aware.assignment.traffic_cost",
    "rack.aware.assignment.non_overlap_cost",
)
"""Config keys of clients that no coordinator passes to an assignor (`AssignmentConfigs`, Kafka 4.4.0)."""

_INTERNAL: Final = "org.apache.kafka.streams.processor.internals.assignment"
_PUBLIC: Final = "org.apache.kafka.streams.processor.assignment.assignors"
_BROKERS: Final = "org.apache.kafka.coordinator.group.streams.assignor"
"""Packages of Kafka's assignors."""

_ALL_CLIENTS: Final = f"{CLIENT_RELEASES[0]} to {CLIENT_RELEASES[-1]}"


@dataclass(frozen=True, slots=True)
class OfRelease:
    """Builds the assignor of one Kafka release. `make`: builds the assignor of any release."""

    make: Callable[..., TaskAssignor]
    release: str

    def __call__(self, **parameters: Any) -> TaskAssignor:
        """Build the assignor."""
        return self.make(release=self.release, **parameters)


@dataclass(frozen=True, slots=True)
class OfGroupSpec:
    """Builds an assignor of the user with the vocabulary of KIP-1357, which a group coordinator runs.

    `make`: builds the assignor itself.
    """

    make: Callable[..., StreamsGroupAssignor]

    def __call__(
        self,
        order: CollectionOrder = CollectionOrder.PRODUCTION,
        members: Mapping[str, str] = MappingProxyType({}),
        **parameters: Any,
    ) -> TaskAssignor:
        """Build the assignor; `order` and `members` are those of `GroupSpecAssignor`."""
        return GroupSpecAssignor(self.make(**parameters), order, members)


@dataclass(frozen=True, slots=True)
class AssignorInfo:
    """The description of a task assignor, and the callable that builds it.

    Attributes:
        name: registered name, or import path `package.module:attribute`.
        make: builds the assignor; its keyword arguments are the parameters.
        kafka_version: Kafka releases whose answers it gives; empty for an assignor that is not Kafka's.
        releases: Kafka releases that can be chosen as `name@release`, oldest first; empty for an assignor that is not
            Kafka's. The name alone is the newest release.
        release: the chosen release; empty for the newest.
        kafka_class: simple name of Kafka's class; empty for an assignor that is not Kafka's.
        kafka_package: package of Kafka's class.
        identical: whether its assignments were verified to equal Kafka's, task for task.
        weights: costs that apply where `rack.aware.assignment.traffic_cost` and `non_overlap_cost` are not configured.
        ignored_configs: Kafka config keys, or prefixes of keys, that have no effect on it.
        needs_costs: whether it is rack-aware only if both costs are configured.
        in_streams_groups: whether the group coordinator runs it (KIP-1071), not the leader of a classic group.
    """

    name: str
    make: Callable[..., TaskAssignor]
    kafka_version: str = ""
    kafka_class: str = ""
    summary: str = ""
    aliases: tuple[str, ...] = ()
    identical: bool = False
    weights: Weights = EQUAL_WEIGHTS
    ignored_configs: tuple[str, ...] = ()
    needs_costs: bool = False
    in_streams_groups: bool = False
    releases: tuple[str, ...] = ()
    release: str = ""
    kafka_package: str = ""

    @property
    def qualified_class(self) -> str:
        """Kafka's class with its package, as in the config `task.assignor.class`; empty if it is not Kafka's."""
        return f"{self.kafka_package}.{self.kafka_class}" if self.kafka_class else ""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of Kafka's class, with and without its package; empty if it is not Kafka's."""
        return (self.qualified_class, self.kafka_class) if self.kafka_class else ()

    def at(self, release: str) -> AssignorInfo:
        """Return the assignor of a release, which is named `name@release`; that of a patch has its registered release.

        Raises UnknownAssignorError if the assignor has no such release.
        """
        name = self.name.partition("@")[0]
        registered = registered_release(release, self.releases)
        if registered is None:
            if not self.releases:
                raise UnknownAssignorError(
                    f"unknown assignor '{name}@{release}': {name} is not Kafka's; omit the release"
                )
            known = ", ".join(f"{name}@{known}" for known in self.releases)
            raise UnknownAssignorError(f"unknown release '{release}' of {name} (known: {known})")
        make = OfRelease(self._class, registered) if self.differs_by_release else self.make
        return replace(
            self, name=f"{name}@{registered}", make=make, kafka_version=registered, aliases=(), release=registered
        )

    def in_group(self, brokers: str | None, clients: str | None) -> AssignorInfo:
        """Return the assignor as the coordinator or the leader of a group runs it; a named release stays as it is.

        `brokers` and `clients` are their releases; None for the newest. Raises UnknownAssignorError if the side that
        runs it has no such assignor in its release, or if the assignor is not supported.
        """
        release = brokers if self.in_streams_groups else clients
        if release is None or not self.follows_release or self.release:
            return self
        if registered_release(release, self.releases) is None:
            known, runner = ", ".join(self.releases), "brokers" if self.in_streams_groups else "clients"
            raise UnknownAssignorError(f"{self.name} is not known for {runner} of Kafka {release} (known: {known})")
        return self.at(release)

    @property
    def follows_release(self) -> bool:
        """Return whether its answers depend on the release of who runs it: the brokers, or the group's leader."""
        return self.runs_on_brokers or (self.differs_by_release and not self.in_streams_groups)

    @property
    def runs_on_brokers(self) -> bool:
        """Return whether brokers run the assignor, so that its release is theirs."""
        return self.in_streams_groups and bool(self.releases)

    @property
    def differs_by_release(self) -> bool:
        """Return whether the answers depend on the Kafka release."""
        made = self._class
        return is_dataclass(made) and any(parameter.name == "release" for parameter in fields(made))

    @property
    def name_without_release(self) -> str:
        """Return the name that all releases have in common."""
        return self.name.partition("@")[0] if self.release else self.name

    @property
    def _class(self) -> Callable[..., TaskAssignor]:
        return self.make.make if isinstance(self.make, OfRelease) else self.make

    @property
    def parameter_names(self) -> tuple[str, ...] | None:
        """Return the parameters that may be set; None if they are unknown."""
        if isinstance(self.make, OfGroupSpec):
            own = self.make.make
            return None if not is_dataclass(own) else ("order", "members", *(field.name for field in fields(own)))
        if not (isinstance(self._class, type) and is_dataclass(self._class)):
            return None
        hidden = {RATES, "release"} if self.releases else {RATES}
        return tuple(parameter.name for parameter in fields(self._class) if parameter.name not in hidden)

    def ignores(self, key: str) -> bool:
        """Return whether a config key has no effect on the assignor."""
        return key.startswith(self.ignored_configs) if self.ignored_configs else False


BUILT_IN = (
    AssignorInfo(
        name="high_availability",
        make=HighAvailability,
        kafka_version=_ALL_CLIENTS,
        releases=CLIENT_RELEASES,
        kafka_class="HighAvailabilityTaskAssignor",
        kafka_package=_INTERNAL,
        summary="the default: balanced; tasks run where their state is while other clients warm up (KIP-441, 708, 925)",
        aliases=("ha",),
        identical=True,
        weights=HighAvailability.default_weights,
    ),
    AssignorInfo(
        name="legacy_sticky",
        make=LegacySticky,
        kafka_version=_ALL_CLIENTS,
        releases=CLIENT_RELEASES,
        kafka_class="LegacyStickyTaskAssignor",
        kafka_package=_INTERNAL,
        summary="keeps tasks on their clients within each client's share; ignores lags (KIP-925)",
        aliases=("sticky",),
        identical=True,
        weights=LegacySticky.default_weights,
    ),
    AssignorInfo(
        name="sticky_task_assignor",
        make=Sticky,
        kafka_version=CLIENT_RELEASES[-1],
        releases=CLIENT_RELEASES,
        kafka_class="StickyTaskAssignor",
        kafka_package=_PUBLIC,
        summary="the sticky assignor, rewritten for the pluggable interface, with small differences (KIP-924)",
        aliases=("sticky_public",),
        identical=True,
        weights=Sticky.default_weights,
        needs_costs=True,
    ),
    AssignorInfo(
        name="fallback_prior",
        make=FallbackPrior,
        kafka_version=_ALL_CLIENTS,
        releases=CLIENT_RELEASES,
        kafka_class="FallbackPriorTaskAssignor",
        kafka_package=_INTERNAL,
        summary="Kafka's fallback for unknown lags: tasks stay, and a probing rebalance follows (KIP-441)",
        identical=True,
    ),
    AssignorInfo(
        name="streams_group_sticky",
        make=StreamsGroupSticky,
        kafka_version=RELEASES[-1],
        kafka_class="StickyTaskAssignor",
        kafka_package=_BROKERS,
        summary="the broker's assignor for streams groups: sticky, with even shares (KIP-1071)",
        identical=True,
        ignored_configs=(
            "acceptable.recovery.lag",
            "max.warmup.replicas",
            "probing.rebalance.interval.ms",
            "rack.aware.assignment.",
            "client.rack",
            "client.tag.",
        ),
        in_streams_groups=True,
        releases=RELEASES,
    ),
    AssignorInfo(
        name="ha_reliable_standbys",
        make=ReliableStandbys,
        summary="separates standbys, then minimizes their cost: option II of KIP-925, which Kafka did not ship",
        weights=HighAvailability.default_weights,
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="ha_current_overlap",
        make=CurrentOverlap,
        summary="min_traffic with moves measured from the current assignment",
        weights=HighAvailability.default_weights,
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="ha_subtopology_balance",
        make=SubtopologyBalance,
        summary="exact balance_subtopology: minimum cost with each subtopology spread evenly",
        weights=HighAvailability.default_weights,
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="ha_min_bytes",
        make=MinBytes,
        summary="min_traffic by bytes instead of partitions",
        weights=HighAvailability.default_weights,
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="incremental",
        make=Incremental,
        summary="reaches the cheapest balanced assignment with minimum restoration, the most valuable moves first",
        weights=HighAvailability.default_weights,
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="optimal",
        make=Optimal,
        summary="minimum traffic and movement for a given balance, proven optimal: KIP-925's costs, bytes or dollars",
        weights=Optimal.default_weights,
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
)
"""The assignors of this project, in the order of listings."""

PREVIEWS = (
    AssignorInfo(
        name="streams_group_sticky@trunk",
        make=StreamsGroupPreview,
        kafka_class="StickyTaskAssignor",
        kafka_package=_BROKERS,
        summary="preview: the broker's assignor of Kafka 4.4 with the announced warm-ups; needs the parameter preview",
        ignored_configs=(
            "probing.rebalance.interval.ms",
            "rack.aware.assignment.",
            "client.rack",
            "client.tag.",
        ),
        in_streams_groups=True,
        release="trunk",
    ),
)
"""Assignors of unreleased Kafka, which only their full names find."""
