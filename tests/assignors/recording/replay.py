"""Replay recorded steps, and check each step and number against the state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskType
from assignors.model.configs import LONG_MAX, RackAwareStrategy
from assignors.model.state import LATEST_OFFSET, ApplicationState
from assignors.recording import Exchange, PlacementStep, StepKind

FRESH = {
    StepKind.DEALT,
    StepKind.KEPT,
    StepKind.STOOD_BY,
    StepKind.LEAST_LOADED,
    StepKind.FEWEST_ACTIVES,
    StepKind.MIXED,
    StepKind.TAGS,
    StepKind.WARM_UP,
}


class Replay:
    """An empty placement to which steps are applied; each step is checked before."""

    def __init__(self, state: ApplicationState, costs: tuple[int, int], *, changelogs_count: bool) -> None:
        self.state = state
        self.costs = costs
        self.changelogs_count = changelogs_count
        self.owner = [UNASSIGNED] * len(state.tasks)
        self.standby = np.zeros((len(state.tasks), len(state.clients)), dtype=np.bool_)
        self.dealt = 0
        self.kinds: Counter[StepKind | str] = Counter()

    def run(self, steps: Sequence[PlacementStep | Exchange]) -> None:
        for step in steps:
            if isinstance(step, PlacementStep):
                self.check(step)
                self.do(step)
                self.kinds[step.kind] += 1
            else:
                self.check_exchange(step)
                self.do_exchange(step)
                self.kinds[f"exchange of {step.role}"] += 1

    def assert_leads_to(self, columns: AssignmentColumns) -> None:
        assert self.owner == columns.active.tolist()
        assert (self.standby == columns.standby).all()

    def load(self, client: int) -> float:
        tasks = self.owner.count(client) + int(self.standby[:, client].sum())
        return tasks / int(self.state.clients.threads[client])

    def holds(self, client: int, task: int) -> bool:
        return self.owner[task] == client or bool(self.standby[task, client])

    def is_ready(self, task: int, client: int) -> bool:
        lag, acceptable = int(self.state.lags[task, client]), self.state.assignment_configs.acceptable_recovery_lag
        return lag == LATEST_OFFSET or 0 <= lag <= acceptable or acceptable == LONG_MAX

    def do(self, step: PlacementStep) -> None:
        for client, holds in ((step.source, False), (step.destination, True)):
            if client == UNASSIGNED:
                continue
            if step.role is TaskType.STANDBY:
                self.standby[step.task, client] = holds
            elif holds:
                self.owner[step.task] = client

    def check(self, step: PlacementStep) -> None:
        state, task, source, destination = self.state, step.task, step.source, step.destination
        assert (source == UNASSIGNED) == (step.kind in FRESH)
        if step.role is TaskType.ACTIVE:
            assert self.owner[task] == source
        elif source != UNASSIGNED:
            assert self.standby[task, source]
        lags = {
            client: int(state.lags[task, client]) if client != UNASSIGNED else None for client in (source, destination)
        }
        if step.source_lag is not None:
            assert step.source_lag == lags[source]
        if step.destination_lag is not None:
            assert step.destination_lag == lags[destination]
        if step.source_load is not None:
            assert step.source_load == self.load(source)
        check = self.check_previous_standby if step.kind is StepKind.STOOD_BY else getattr(self, f"check_{step.kind}")
        check(step)

    def check_dealt(self, step: PlacementStep) -> None:
        assert step.destination == self.dealt % len(self.state.clients)
        self.dealt += 1

    def check_kept(self, step: PlacementStep) -> None:
        assert self.state.tasks.ids[step.task] in self.state.previous_active[step.destination]
        self.check_room(step)

    def check_previous_standby(self, step: PlacementStep) -> None:
        assert self.state.tasks.ids[step.task] in self.state.previous_standby[step.destination]
        self.check_room(step)

    def check_room(self, step: PlacementStep) -> None:
        if step.room is not None:
            assert step.held is not None
            assert step.held < step.room
        if step.destination_load is not None:
            assert step.destination_load == self.load(step.destination)

    def check_least_loaded(self, step: PlacementStep) -> None:
        able = [client for client in range(len(self.state.clients)) if not self.holds(client, step.task)]
        assert step.destination in able
        assert step.destination_load == self.load(step.destination) == min(map(self.load, able))

    def check_fewest_actives(self, step: PlacementStep) -> None:
        loads = [
            self.owner.count(client) / threads for client, threads in enumerate(self.state.clients.threads.tolist())
        ]
        assert step.destination_load == loads[step.destination] == min(loads)

    def check_mixed(self, step: PlacementStep) -> None:
        able = [client for client in range(len(self.state.clients)) if not self.holds(client, step.task)]
        assert step.destination in able
        assert step.destination_load == self.load(step.destination)
        assert any(self.holds(step.destination, task) for task in range(len(self.owner)) if task != step.task)

    def check_tags(self, step: PlacementStep) -> None:
        """Check that the client has a value of a key that no other copy has, or that the key has too few values."""
        tags, keys = self.state.clients.tags, self.state.assignment_configs.rack_aware_assignment_tags
        assert keys
        assert step.destination_load == self.load(step.destination)
        others = [client for client in range(len(tags)) if self.holds(client, step.task)]
        for key in keys:
            values = {value for tags_of in tags for name, value in tags_of.items() if name == key}
            used = {tags[client][key] for client in others if key in tags[client]}
            # A key whose values are all used does not count any more.
            if len(values) > len(others):
                assert tags[step.destination].get(key) not in used

    def check_balanced(self, step: PlacementStep) -> None:
        threads = self.state.clients.threads
        assert step.source_load is not None
        assert step.destination_load == self.load(step.destination)
        assert not self.holds(step.destination, step.task)
        before = step.source_load - step.destination_load
        after = before - 1 / threads[step.source] - 1 / threads[step.destination]
        assert -1e-9 <= after < before

    def check_caught_up(self, step: PlacementStep) -> None:
        assert step.source == step.destination
        assert self.is_ready(step.task, step.destination)

    def check_closest(self, step: PlacementStep) -> None:
        assert step.source == step.destination
        assert not self.is_ready(step.task, step.destination)
        assert step.destination_lag == self.state.lags[step.task].min()

    def check_waits(self, step: PlacementStep) -> None:
        assert not self.is_ready(step.task, step.source)
        others = [
            client
            for client in range(len(self.state.clients))
            if step.role is TaskType.ACTIVE or not self.holds(client, step.task)
        ]
        if any(self.is_ready(step.task, client) for client in others):
            assert self.is_ready(step.task, step.destination)
        else:
            assert step.destination_lag == min(int(self.state.lags[step.task, client]) for client in others)
            assert step.source_lag is not None
            assert step.destination_lag is not None
            assert step.destination_lag <= step.source_lag

    def check_warm_up(self, step: PlacementStep) -> None:
        assert not self.holds(step.destination, step.task)
        assert not self.is_ready(step.task, step.destination)
        assert not self.standby[step.task, step.destination]

    def check_swapped(self, step: PlacementStep) -> None:
        assert self.owner[step.task] == step.source
        assert not self.is_ready(step.task, step.destination)

    def check_exchange(self, exchange: Exchange) -> None:
        state = self.state
        strategy = state.assignment_configs.rack_aware_assignment_strategy
        assert strategy is not RackAwareStrategy.NONE
        traffic_cost, non_overlap_cost = self.costs
        stateless = exchange.role is TaskType.ACTIVE and not state.tasks.stateful[exchange.tasks].any()
        if stateless:
            traffic_cost, non_overlap_cost = 1, 0
        assert exchange.non_overlap_cost == non_overlap_cost
        for task, source, destination, before, after in zip(
            exchange.tasks.tolist(),
            exchange.sources.tolist(),
            exchange.destinations.tolist(),
            exchange.source_traffic.tolist(),
            exchange.destination_traffic.tolist(),
            strict=True,
        ):
            assert source != destination
            if exchange.role is TaskType.ACTIVE:
                assert self.owner[task] == source
            else:
                assert self.standby[task, source]
                assert not self.holds(destination, task)
            assert before == traffic_cost * self.remote(exchange.role, task, source)
            assert after == traffic_cost * self.remote(exchange.role, task, destination)
        assert Counter(exchange.sources.tolist()) == Counter(exchange.destinations.tolist())
        if not exchange.spreads:
            assert exchange.costs.sum() < 0

    def remote(self, role: TaskType, task: int, client: int) -> int:
        """Return the number of partitions of the task without a replica in the client's rack."""
        tasks, rack = self.state.tasks, self.state.clients.rack[client]
        counted = set(tasks.changelog.row(task).tolist()) if role is TaskType.STANDBY else set()
        if role is TaskType.ACTIVE:
            counted |= set(tasks.source.row(task).tolist())
            if self.changelogs_count:
                counted |= set(tasks.changelog.row(task).tolist())
        return sum(not self.state.partitions.in_rack[partition, rack] for partition in counted)

    def do_exchange(self, exchange: Exchange) -> None:
        tasks = exchange.tasks.tolist()
        for task, source in zip(tasks, exchange.sources.tolist(), strict=True):
            if exchange.role is TaskType.STANDBY:
                self.standby[task, source] = False
        for task, destination in zip(tasks, exchange.destinations.tolist(), strict=True):
            if exchange.role is TaskType.STANDBY:
                self.standby[task, destination] = True
            else:
                self.owner[task] = destination
