"""A user's project, as its type checker sees it: it must find the types of the whole API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

import pandas as pd

import assignor_sim as sim


@dataclass(frozen=True)
class Nearest:
    """An assignor of the user's."""

    limit: int = 1

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        clients = [client for client in state.kafka_streams_states if self.limit]
        empty: dict[sim.TaskId, sim.TaskType] = {}
        return sim.TaskAssignment([sim.KafkaStreamsAssignment(client, empty) for client in clients])


def keep(state: sim.ApplicationState) -> sim.TaskAssignment:
    problems: list[sim.AssignmentProblem] = sim.validate_assignment(state, Nearest().assign(state))
    assert_type(problems, list[sim.AssignmentProblem])
    return sim.HighAvailability().assign(state)


def simulate() -> None:
    scenario = sim.load("cold_start", overrides=[("duration", "20m")])
    assert_type(scenario, sim.Scenario)
    result = sim.run(scenario, ["high_availability", Nearest(), Nearest, keep, lambda state: keep(state)], seed=1)
    assert_type(result, sim.RunResult)
    assert_type(result.summary(), pd.DataFrame)
    assert_type(result.trace, sim.Trace)
    rounds: list[sim.Round] = [captured.round for captured in result.trace.captured_rounds]
    print(rounds, result.explain("0_0", 2).remarks, sim.open(result.save("out")).labels)
    comparison = sim.compare(["cold_start", scenario], [sim.Optimal(slack=1), keep], seeds=range(3))
    assert_type(comparison, sim.Comparison)
    assert_type(sim.frontier(scenario, round=1), sim.TrafficFrontier)
    assert_type(sim.verify("cold_start"), list[sim.Verification])
    partition = sim.TopicPartition("orders", 0)
    print(partition, sim.AssignmentConfigs(num_standby_replicas=1), sim.plan(scenario, "exact_flow").results)
