"""Random assignments, and their costs, computed copy by copy."""

from __future__ import annotations

import random

import numpy as np

from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from assignors.objective import Weights


def plain_cost(state: ApplicationState, columns: AssignmentColumns, weights: Weights) -> int:
    """Return the cost, copy by copy, through the accessors of KIP-924."""
    total = 0
    clients = list(state.kafka_streams_states.values())
    for row, info in enumerate(state.all_tasks.values()):
        for column, client in enumerate(clients):
            had = info.id in client.previous_active_tasks
            if columns.active[row] == column:
                far = [p for p in info.topic_partitions if p.is_source and client.rack_id not in (p.rack_ids or ())]
                if info.is_stateful:
                    total += weights.traffic_cost * len(far) + weights.non_overlap_cost * (not had)
                else:
                    total += len(far)
            elif columns.standby[row, column]:
                far = [p for p in info.topic_partitions if p.is_changelog and client.rack_id not in (p.rack_ids or ())]
                had = had or info.id in client.previous_standby_tasks
                total += weights.traffic_cost * len(far) + weights.non_overlap_cost * (not had)
    return total


def random_answer(state: ApplicationState, rng: random.Random, most_standbys: int) -> AssignmentColumns:
    """Return a random client for each task, and a random number of standbys for stateful ones, up to a maximum."""
    clients = range(len(state.clients))
    active = np.array([rng.choice(clients) for _ in range(len(state.tasks))])
    standby = np.zeros((len(active), len(clients)), dtype=np.bool_)
    for row in np.flatnonzero(state.tasks.stateful):
        others = [client for client in clients if client != active[row]]
        standby[row, rng.sample(others, rng.randint(0, min(most_standbys, len(others))))] = True
    return AssignmentColumns(active, standby, None)
