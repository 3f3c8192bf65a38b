"""Resolve the assignors of consumer groups, by name and by the configs that choose one."""

from __future__ import annotations

from collections.abc import Sequence

from assignors.built_in_assignors import AssignorInfo
from assignors.consumer_groups import find_consumer_assignor
from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY, UNIFORM, is_eager
from assignors.errors import UnknownAssignorError
from assignors.model.configs import AssignmentConfigs
from scenarios.language.consumer_entries import ConsumerAssignorSettings, ConsumerGroupEntry
from scenarios.language.errors import format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import NEWEST
from scenarios.language.validation import SourceMap
from scenarios.resolution.assignors import AssignorSpec
from simulator.world.group_configs import GroupProtocol


def resolve_consumer_assignors(
    entry: ConsumerGroupEntry,
    broker_release: str | None,
    first: str,
    rollouts: Sequence[Sequence[str]],
    source_map: SourceMap,
    converting_release: str | None = None,
) -> tuple[AssignorSpec, ...]:
    """Resolve the assignors of a consumer group, and report mistakes to `source_map`.

    `broker_release`: the release of the brokers; None for the newest. `first`: the assignor that a coordinator selects
    at the start. `rollouts`: the lists of assignors that rolling restarts give to members, in order of time; the
    assignor of the coordinator for members of the consumer protocol. `source_map`: collects the mistakes, at the paths
    of the group. `converting_release`: the release of the brokers after all upgrades; None for the newest. Returns the
    known assignors in the order of the scenario; by default the one that the configs choose.
    """
    if entry.assignors is None:
        return (_configured(entry, broker_release, first, rollouts, source_map, converting_release),)
    specs: dict[str, AssignorSpec] = {}
    for i, choice in valid_entries(entry.assignors):
        path: ScenarioPath = ("assignors", i)
        spec = _chosen(choice, entry, broker_release, path, source_map, converting_release)
        if spec is None:
            continue
        if spec.label in specs:
            message = f"{format_value(spec.label)} is also the label of another assignor; set a unique label"
            source_map.add_mistake((*path, "label"), message)
        specs[spec.label] = spec
    return tuple(specs.values())


def consumer_assignor_spec(name: str, entry: ConsumerGroupEntry, broker_release: str | None) -> AssignorSpec:
    """Return the spec of an assignor of a consumer group.

    `name`: its name, or Kafka's class. `entry`: the group, with the release of its clients. `broker_release`: the
    release of the brokers; None for the newest.
    """
    info = find_consumer_assignor(name, entry.group, entry.kafka or NEWEST, broker_release or NEWEST)
    return _spec(info, info.name)


def _configured(
    entry: ConsumerGroupEntry,
    broker_release: str | None,
    first: str,
    rollouts: Sequence[Sequence[str]],
    source_map: SourceMap,
    converting_release: str | None,
) -> AssignorSpec:
    """Return the assignor that the configs of a group choose."""
    configs = entry.configs
    releases = entry.kafka or NEWEST, broker_release or NEWEST
    if configs.group_protocol == GroupProtocol.CONSUMER.value:
        name = BROKER_RANGE if configs.remote_assignor == "range" else UNIFORM
        if releases[1].startswith("3."):
            return consumer_assignor_spec(name, entry, None)  # The release is reported already.
        return consumer_assignor_spec(name, entry, broker_release)
    info = find_consumer_assignor(
        first,
        entry.group,
        *releases,
        strategies=configs.strategies,
        converting_release=converting_release or NEWEST,
    )
    last = rollouts[-1] if rollouts else (first, *configs.strategies)
    if last[0] == COOPERATIVE_STICKY and is_eager(last):
        others = ", ".join(name for name in last if name != COOPERATIVE_STICKY)
        source_map.add_warning(
            ("application", "configs", "partition.assignment.strategy"),
            f"the group rebalances eagerly: {others} does not support the cooperative protocol; after all members "
            f"have {COOPERATIVE_STICKY}, remove the others",
        )
        return _spec(info, f"{COOPERATIVE_STICKY} (eager)" if first == last[0] else f"{first} then {last[0]} (eager)")
    return _spec(info, first if first == last[0] else f"{first} then {last[0]}")


def _chosen(
    choice: ConsumerAssignorSettings,
    entry: ConsumerGroupEntry,
    broker_release: str | None,
    path: ScenarioPath,
    source_map: SourceMap,
    converting_release: str | None,
) -> AssignorSpec | None:
    try:
        info = find_consumer_assignor(
            choice.assignor,
            entry.group,
            entry.kafka or NEWEST,
            broker_release or NEWEST,
            converting_release=converting_release or NEWEST,
        )
    except UnknownAssignorError as error:
        source_map.add_mistake((*path, "assignor"), str(error))
        return None
    return _spec(info, choice.label or info.name)


def _spec(info: AssignorInfo, label: str) -> AssignorSpec:
    protocol = GroupProtocol.CONSUMER if info.in_streams_groups else GroupProtocol.CLASSIC
    return AssignorSpec(label, info, {}, AssignmentConfigs(), protocol=protocol)
