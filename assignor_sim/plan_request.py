"""What the options of `plan` ask of a cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assignors.model.columns import NO_RACK, IntArray
from assignors.replicas.plan import PlanRequest, ReplicaAssignor
from assignors.replicas.planning import PlanError, check_request
from assignors.replicas.registry import load, make
from assignors.replicas.state import BrokerState, ClusterState
from scenarios.kafka.formats.broker_list import parse_broker
from scenarios.kafka.plan_files.changes import LogDirs
from scenarios.language.errors import format_list


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options, as they stand on the command line.

    Attributes:
        remove: ids of brokers to be taken out of use.
        add: brokers to come, as ID:RACK:CAPACITY.
        replication_factor: that every partition shall have; None for what it has.
        topics: that may change, each text with one or several; none for all.
        rack_aware: whether racks count.
    """

    remove: Sequence[int] = ()
    add: Sequence[str] = ()
    replication_factor: int | None = None
    topics: Sequence[str] = ()
    rack_aware: bool = True


@dataclass(frozen=True, slots=True)
class PlanInput:
    """The input of strategies; `remarks` are warnings for the user.

    `log_dirs` are the log directories known today, which files of plans keep.
    """

    state: ClusterState
    request: PlanRequest
    topics: tuple[str, ...] | None
    remarks: tuple[str, ...]
    log_dirs: LogDirs = field(default_factory=dict)

    @property
    def rows(self) -> IntArray:
        """The partitions that may change."""
        if self.topics is None:
            return np.arange(self.state.num_partitions)
        wanted = [place for place, name in enumerate(self.state.topics) if name in self.topics]
        return np.flatnonzero(np.isin(self.state.topic, wanted))


def build_plan_input(state: ClusterState, wishes: PlanOptions, log_dirs: LogDirs | None = None) -> PlanInput:
    """Understand the options.

    Raises:
        PlanError: they name what is not there, or ask for what cannot be.
    """
    there = sorted(broker.id for broker in state.brokers if broker.is_alive)
    added = [_added(text, there) for text in wishes.add]
    if len({broker.id for broker in added}) < len(added):
        raise PlanError(f"--add-broker: a broker stands here twice ({format_list('to add', wishes.add)})")
    for broker in wishes.remove:
        if broker not in there:
            raise PlanError(f"--remove-broker {broker}: there is no such broker ({format_list('brokers', there)})")
    grown = _grown(state, added)
    left = {*there, *(broker.id for broker in added)} - set(wishes.remove)
    topics = tuple(dict.fromkeys(name.strip() for text in wishes.topics for name in text.split(",") if name.strip()))
    if wishes.topics and not topics:
        raise PlanError("--topics: no topic is named")
    request = PlanRequest(
        brokers=tuple(sorted(left)) if wishes.remove else None,
        replication_factor=wishes.replication_factor,
        rack_aware=wishes.rack_aware,
    )
    if wishes.remove and not left:
        raise PlanError("--remove-broker: no broker is left that may hold replicas")
    check_request(grown, request, topics or None)
    asked = PlanInput(grown, request, topics or None, tuple(_remarks(state, grown, request, added)), log_dirs or {})
    _check_factors(asked)
    return asked


def build_strategies(
    names: Sequence[str], parameters: Mapping[str, Any], needed: Mapping[str, str] | None = None
) -> dict[str, ReplicaAssignor]:
    """Build strategies by name.

    Args:
        names: built-in ones, installed ones, or package.module:Class; behind each, parameters of its own, as in
            `leader_max_flow,costs=published,pruning=none`.
        parameters: given to those that have them, and were not given one of their own.
        needed: the options of those parameters that at least one strategy has to have, by parameter.

    Raises:
        UnknownAssignorError: there is no such strategy.
        PlanError: none takes a parameter that is needed, or one of its own is no NAME=VALUE.
    """
    found: dict[str, ReplicaAssignor] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(names):
        name, *own = text.split(",")
        info = load(name)
        has = getattr(info.find_class(), "__dataclass_fields__", {})
        given = {key: value for key, value in parameters.items() if key in has}
        taken |= given.keys()
        found[text] = make(info, {**given, **dict(_parameter(name, each) for each in own)})
    for key, option in (needed or {}).items():
        if key not in taken:
            raise PlanError(f"{option}: none of the strategies takes it ({format_list('strategies', found)})")
    return found


def _parameter(strategy: str, text: str) -> tuple[str, Any]:
    """A parameter and its value: a number, true, false or null as in JSON, and text otherwise."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise PlanError(f"--strategy {strategy}: '{text}' is not a parameter (NAME=VALUE, as in pruning=none)")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _added(text: str, there: Sequence[int]) -> BrokerState:
    try:
        listed = parse_broker(text)
    except ValueError as error:
        raise PlanError(f"--add-broker {text}: {error} (ID:RACK or ID:RACK:CAPACITY, as in 7:az1)") from None
    if listed.id in there:
        raise PlanError(f"--add-broker {text}: broker {listed.id} is there already ({format_list('brokers', there)})")
    return BrokerState(listed.id, listed.rack, listed.capacity_bytes, listed.capacity_bytes_per_s)


def _grown(state: ClusterState, added: Sequence[BrokerState]) -> ClusterState:
    """The cluster with further brokers; one that is gone and comes back stays in its row."""
    back = {broker.id: broker for broker in added}
    kept = [back.pop(broker.id, broker) for broker in state.brokers]
    return replace(state, brokers=(*kept, *back.values()))


def _remarks(state: ClusterState, grown: ClusterState, request: PlanRequest, added: Sequence[BrokerState]) -> list[str]:
    said = [
        f"--add-broker: {broker.rack!r} is a new rack ({format_list('racks', state.racks)})"
        for broker in added
        if broker.rack is not None and state.racks and broker.rack not in state.racks
    ]
    racks = len(set(grown.rack[request.is_allowed(grown)].tolist()) - {NO_RACK})
    most = int(request.factors(grown).max(initial=0))
    if request.is_rack_aware(grown) and most > racks:
        share = int(request.rack_limits(grown).max(initial=0))
        said.append(f"{most} replicas over {racks} racks: a rack holds up to {share} of a partition")
    return said


def _check_factors(asked: PlanInput) -> None:
    state, request, rows = asked.state, asked.request, asked.rows
    factors, allowed = request.factors(state)[rows], int(request.is_allowed(state).sum())
    if (factors > allowed).any():
        hardest = int(factors.argmax())
        option = "" if request.replication_factor is None else f"--replication-factor {request.replication_factor}: "
        needed = f"{factors[hardest]} replicas of {state.name(int(rows[hardest]))} need as many brokers"
        raise PlanError(f"{option}{needed}, and {allowed} may hold replicas")
