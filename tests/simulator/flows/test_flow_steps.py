"""Steps in time give the same numbers by NumPy, by the kernel in plain Python, and compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.compilation import CHOICE, COMPILED, PLAIN
from scenarios.load import load
from scenarios.run import run
from scenarios.shipped import list_scenarios
from simulator.flows import flow_steps
from simulator.flows.assigned_copies import AssignedCopies, CopyPositions, CopyRates, CopyReads
from simulator.flows.flow_steps import AssignedFlows, pass_time, steps_between, take_steps
from simulator.flows.processing import Processing
from simulator.flows.shared_bandwidth import SharedBandwidth
from simulator.results.tabulation import tabulate
from simulator.world.layout import FloatArray

TASKS, CLIENTS = 12, 4


class Flows(NamedTuple):
    """The flows of one moment."""

    processing: Processing
    write_bytes_per_s: FloatArray
    end_bytes: FloatArray
    copies: AssignedFlows

    def state(self) -> list[bytes]:
        """Return everything that changes as time passes."""
        positions, reads = self.copies.positions, self.copies.reads
        totals = np.array([reads.restored_bytes, reads.restored_again_bytes])
        arrays = (
            *self.processing.flows(),
            self.end_bytes,
            positions.held,
            positions.max_held,
            reads.read_bytes,
            totals,
        )
        return [array.tobytes() for array in (*arrays, positions.table)]


def random_flows(seed: int, *, is_behind: bool, has_standbys: bool) -> Flows:
    rng = np.random.default_rng(seed)
    processing = Processing(rng.uniform(1, 9, TASKS), np.full(CLIENTS, 30.0))
    processing.set_input(rng.uniform(0, 3, TASKS))
    processing.backlog_s[:] = rng.choice([0.0, 0.3, 70.0], TASKS)
    processing.update_rates(rng.random(TASKS) < 0.8, rng.integers(0, CLIENTS, TASKS))
    owner, standby = rng.integers(0, CLIENTS, TASKS), rng.random((TASKS, CLIENTS)) < 0.4 * has_standbys
    standby[np.arange(TASKS), owner] = False
    copies = AssignedCopies.of(owner, standby)
    end_bytes = rng.uniform(0, 1e9, TASKS)
    positions = CopyPositions((TASKS, CLIENTS))
    table = rng.uniform(0, 1, (TASKS, CLIENTS)) * end_bytes[:, None]
    positions.load(table)
    positions.select(copies.task * CLIENTS + copies.client)
    positions.move_to(positions.held * rng.choice([0.2, 1.0], len(copies)))  # Some have been further before.
    bandwidth = SharedBandwidth(np.full(1, np.inf), (), [()]).of_application(0)
    rates, reads = CopyRates(TASKS, CLIENTS, bandwidth), CopyReads()
    rates.select(copies)
    reads.select(copies)
    rates.set_caught_up(rng.random(len(copies)) > 0.5 * is_behind)
    rates.rate = rng.choice([0.0, 1e5, 3e7], len(copies))
    return Flows(processing, rng.uniform(0, 1e6, TASKS), end_bytes, AssignedFlows(copies, positions, rates, reads))


def by_plain_arrays(flows: Flows, seconds: list[float]) -> FloatArray:
    """Take the steps one by one, and compute everything from the definition."""
    copies, positions, rates, reads = flows.copies
    rows = [positions.held]
    for duration_s in seconds:
        factor, rate, backlog, work, max_delay = flows.processing.flows()
        backlog[:] = backlog + factor * duration_s
        processed = np.minimum(rate * duration_s, backlog)
        work[:] = work + processed
        backlog[:] = backlog - processed
        max_delay[:] = np.maximum(max_delay, backlog)
        flows.end_bytes[:] = flows.end_bytes + flows.write_bytes_per_s * processed
        before, max_held = positions.held, positions.max_held
        after = np.minimum(before + rates.rate * duration_s, flows.end_bytes[copies.task])
        read, behind = after - before, ~rates.caught_up
        again = np.maximum(np.minimum(after, max_held) - before, 0.0)
        reads.read_bytes[0] = reads.read_bytes[0] + read * behind
        reads.read_bytes[1] = reads.read_bytes[1] + read * (rates.caught_up & ~copies.active)
        reads.restore(read * behind, again * behind)
        positions.move_to(after)
        rows.append(after)
    return np.array(rows)


def by_steps(flows: Flows, seconds: list[float], *, compiled: bool) -> FloatArray:
    changelogs = flows.write_bytes_per_s, flows.end_bytes
    return np.array(pass_time(seconds, flows.processing, changelogs, flows.copies, compiled=compiled))


@given(
    seed=st.integers(0, 2**32 - 1),
    seconds=st.lists(st.sampled_from((0.001, 0.7, 3.0, 61.234)), min_size=1, max_size=12),
    is_behind=st.booleans(),
    has_standbys=st.booleans(),
    way=st.sampled_from(("arrays", "plain kernel", "arrays", "plain kernel", "compiled kernel")),
)
def test_steps_are_those_of_plain_arrays(
    seed: int, seconds: list[float], is_behind: bool, has_standbys: bool, way: str
) -> None:
    expected, flows = (random_flows(seed, is_behind=is_behind, has_standbys=has_standbys) for _ in range(2))
    positions = by_plain_arrays(expected, seconds)
    with pytest.MonkeyPatch.context() as patch:
        if way == "plain kernel":
            patch.setattr(flow_steps, "_compiled_kernel", lambda: take_steps)
        assert by_steps(flows, seconds, compiled=way != "arrays").tobytes() == positions.tobytes()
    assert flows.state() == expected.state()


def test_steps_lead_from_moment_to_moment() -> None:
    assert steps_between(1_000, [1_000, 1_500, 1_500, 4_000]) == ([0.5, 2.5], [0, 1, 1, 2])
    assert steps_between(1_000, [900]) == ([], [0])


def test_a_run_has_the_same_tables_with_compiled_kernels() -> None:
    scenario = next(load(file) for file in list_scenarios() if file.stem == "rolling_bounce")
    label = scenario.assignors[0].label
    tables = []
    for kernels in (PLAIN, COMPILED):
        with CHOICE.always(kernels):
            tables.append(tabulate(run(scenario, label, 1), label, 1))
    assert tables[0] == tables[1]
