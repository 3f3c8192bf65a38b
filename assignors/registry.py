"""Which assignors there are, by name.

Built-in assignors are found by name or alias. Those of other people come from the entry-point group
`assignor_sim.assignors`, or as `package.module:Class`; both import code, so only `load`, which a person calls by name
(on the command line or from Python), does that. What a file says goes through `find`, which never does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from assignors.errors import UnknownAssignorError
from assignors.model.assignment import TaskAssignor
from assignors.objective.cost import EQUAL_WEIGHTS, Weights
from assignors.tasks.fallback_prior import FallbackPrior
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.incremental import Incremental
from assignors.tasks.legacy_sticky import LegacySticky
from assignors.tasks.optimal import Optimal
from assignors.tasks.rack_aware_variant import CurrentOverlap, MinBytes, ReliableStandbys, SubtopologyBalance
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import StreamsGroupSticky

ENTRY_POINT_GROUP = "assignor_sim.assignors"


@dataclass(frozen=True, slots=True)
class AssignorInfo:
    """An assignor as it is listed.

    Attributes:
        name: what it is called.
        make: builds it; keyword arguments are its parameters.
        kafka_version: the releases whose answers it gives; empty if it is not Kafka's.
        kafka_class: Kafka's name for it.
        summary: one line on what it is.
        aliases: other names for it.
        identical: whether its answers were checked to be Kafka's, task for task.
        weights: what it takes a remote partition and a moved task to cost where nothing is configured.
        ignored_configs: Kafka's keys, or beginnings of keys, that have no effect with it.
        needs_costs: whether it looks at racks only if traffic and non-overlap cost are both configured.
        in_streams_groups: whether Kafka's group coordinator assigns by it, and not a member that leads a classic group.
    """

    name: str
    make: Callable[..., TaskAssignor]
    kafka_version: str
    kafka_class: str
    summary: str
    aliases: tuple[str, ...] = ()
    identical: bool = False
    weights: Weights = EQUAL_WEIGHTS
    ignored_configs: tuple[str, ...] = ()
    needs_costs: bool = False
    in_streams_groups: bool = False

    def ignores(self, key: str) -> bool:
        """Whether a config has no effect with it."""
        return key.startswith(self.ignored_configs) if self.ignored_configs else False


_BUILT_IN = (
    AssignorInfo(
        name="high_availability",
        make=HighAvailability,
        kafka_version="3.8 to 4.3",
        kafka_class="HighAvailabilityTaskAssignor",
        summary="the default: balanced, keeps tasks where their state is while others warm up (KIP-441, 708, 925)",
        aliases=("ha",),
        identical=True,
        weights=Weights(HighAvailability.default_traffic_cost, HighAvailability.default_non_overlap_cost),
    ),
    AssignorInfo(
        name="legacy_sticky",
        make=LegacySticky,
        kafka_version="3.8 to 4.3",
        kafka_class="LegacyStickyTaskAssignor",
        summary="keeps tasks where they were, as far as every client gets its share; asks nothing of lags (KIP-925)",
        aliases=("sticky",),
        identical=True,
        weights=Weights(LegacySticky.default_traffic_cost, LegacySticky.default_non_overlap_cost),
    ),
    AssignorInfo(
        name="sticky_task_assignor",
        make=Sticky,
        kafka_version="3.8 to 4.3",
        kafka_class="StickyTaskAssignor",
        summary="the sticky assignor rewritten for the pluggable interface, with small differences (KIP-924)",
        aliases=("sticky_public",),
        identical=True,
        weights=Weights(Sticky.default_traffic_cost, Sticky.default_non_overlap_cost),
        needs_costs=True,
    ),
    AssignorInfo(
        name="fallback_prior",
        make=FallbackPrior,
        kafka_version="3.8 to 4.3",
        kafka_class="FallbackPriorTaskAssignor",
        summary="what Kafka falls back on when lags cannot be had: everything stays, and a rebalance is asked for",
        identical=True,
    ),
    AssignorInfo(
        name="streams_group_sticky",
        make=StreamsGroupSticky,
        kafka_version="4.2 and 4.3",
        kafka_class="StickyTaskAssignor",
        summary="what the broker does for streams groups: tasks stay where they are, shares are even (KIP-1071)",
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
    ),
    AssignorInfo(
        name="ha_reliable_standbys",
        make=ReliableStandbys,
        kafka_version="",
        kafka_class="",
        summary="standbys apart first, then at the least cost: option II of KIP-925, which Kafka did not ship",
        weights=Weights(HighAvailability.default_traffic_cost, HighAvailability.default_non_overlap_cost),
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="ha_current_overlap",
        make=CurrentOverlap,
        kafka_version="",
        kafka_class="",
        summary="min_traffic that weighs traffic against moving from where tasks run now",
        weights=Weights(HighAvailability.default_traffic_cost, HighAvailability.default_non_overlap_cost),
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="ha_subtopology_balance",
        make=SubtopologyBalance,
        kafka_version="",
        kafka_class="",
        summary="balance_subtopology made exact: the least cost with every subtopology even to the task",
        weights=Weights(HighAvailability.default_traffic_cost, HighAvailability.default_non_overlap_cost),
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="ha_min_bytes",
        make=MinBytes,
        kafka_version="",
        kafka_class="",
        summary="min_traffic by the bytes that are read, not by partitions",
        weights=Weights(HighAvailability.default_traffic_cost, HighAvailability.default_non_overlap_cost),
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="incremental",
        make=Incremental,
        kafka_version="",
        kafka_class="",
        summary="to the cheapest even assignment with the least restored, the most valuable moves first",
        weights=Weights(HighAvailability.default_traffic_cost, HighAvailability.default_non_overlap_cost),
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
    AssignorInfo(
        name="optimal",
        make=Optimal,
        kafka_version="",
        kafka_class="",
        summary="the least traffic and movement of all as balanced, with a proof: KIP-925's costs, bytes or dollars",
        weights=Weights(Optimal.default_traffic_cost, Optimal.default_non_overlap_cost),
        ignored_configs=("rack.aware.assignment.strategy",),
    ),
)


def built_in() -> tuple[AssignorInfo, ...]:
    """The assignors of this project, in the order in which they are listed."""
    return _BUILT_IN


def find(name: str) -> AssignorInfo:
    """Look a built-in assignor up by its name or an alias; imports nothing.

    Raises:
        UnknownAssignorError: there is none; says which there are, and how to use an installed one.
    """
    for info in _BUILT_IN:
        if name == info.name or name in info.aliases:
            return info
    known = ", ".join(info.name for info in _BUILT_IN)
    hint = ""
    if ":" in name or name in installed():
        hint = f"; to run code of your own, say so on the command line: --assignor {name}"
    raise UnknownAssignorError(f"'{name}' is not a built-in assignor (built in: {known}){hint}")


def installed() -> tuple[str, ...]:
    """The names that installed distributions registered in the entry-point group; imports none of them."""
    return tuple(sorted(entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)))


def load(name: str) -> AssignorInfo:
    """Look an assignor up by built-in name, installed entry point or `package.module:Class`; may import code.

    Raises:
        UnknownAssignorError: nothing of that name, or what is there is not an assignor.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            return _of_class(name, getattr(importlib.import_module(module), attribute))
        except (ImportError, AttributeError) as error:
            raise UnknownAssignorError(f"'{name}' cannot be imported: {error}") from error
    entries = entry_points(group=ENTRY_POINT_GROUP, name=name)
    if entries and not any(name == info.name or name in info.aliases for info in _BUILT_IN):
        return _of_class(name, next(iter(entries)).load())
    return find(name)


def make(info: AssignorInfo, parameters: Mapping[str, Any] | None = None) -> TaskAssignor:
    """Build an assignor with its parameters.

    Raises:
        UnknownAssignorError: it has no such parameter, or does not take that value.
    """
    try:
        return info.make(**(parameters or {}))
    except (TypeError, ValueError) as error:
        raise UnknownAssignorError(f"assignor '{info.name}' cannot be built: {error}") from error


def _of_class(name: str, candidate: object) -> AssignorInfo:
    if not callable(candidate) or not callable(getattr(candidate, "assign", None)):
        raise UnknownAssignorError(f"'{name}' is not an assignor (it has no method assign(state))")
    doc = (candidate.__doc__ or "").strip().splitlines()
    return AssignorInfo(name=name, make=candidate, kafka_version="", kafka_class="", summary=doc[0] if doc else "")
