"""The same run in another process, and in another position of a sweep."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from assignors.model.assignment import TaskAssignor
from pipeline.worker import RUN_SCHEMA, SweepInputs, simulate_chunks
from scenarios.load import assignor_specs, loads
from scenarios.run import run as simulate_scenario
from simulator.processes.simulation import simulate
from simulator.results.tables import concat_tables
from simulator.results.tabulation import tabulate
from simulator.world.world import World
from tests.pipeline.sweep.examples import SCENARIO
from tests.relations.figures import figures_of
from tests.relations.relation import WORLDS, relation
from tests.relations.worlds import assignors, worlds

pytestmark = pytest.mark.answers

TABLES = ("runs", "rounds", "moves", "traffic")
RUNS = [(label, seed) for label in ("high_availability", "legacy_sticky") for seed in (1, 2, 3)]


@cache
def single_run(label: str, seed: int) -> dict[str, pa.Table]:
    """Return the tables of one run of the scenario."""
    scenario = loads(SCENARIO, "shop.yaml")
    (spec,) = assignor_specs(scenario, [label])
    return tabulate(simulate_scenario(scenario, spec, seed), spec.label, seed)


@relation(20)
@given(st.permutations(RUNS), st.integers(1, len(RUNS)))
def test_sweep_equals_its_single_runs(ordered: list[tuple[str, int]], size: int) -> None:
    """Runs have the same figures in chunks of any size as alone, and the concatenated tables contain all rows."""
    sweep_inputs = SweepInputs("shop.yaml", SCENARIO, ".", (), TABLES)
    rows = [
        {
            "chunk": place // size,
            "position": place,
            "run_id": f"{label}-{seed}",
            "setting": 0,
            "overrides": "[]",
            "assignor": label,
            "seed": seed,
        }
        for place, (label, seed) in enumerate(ordered)
    ]
    chunks = [pa.RecordBatch.from_pylist(rows[i : i + size], schema=RUN_SCHEMA) for i in range(0, len(rows), size)]
    outcomes = [row for batch in simulate_chunks(sweep_inputs, iter(chunks)) for row in batch.to_pylist()]
    assert [row["run_id"] for row in outcomes] == [row["run_id"] for row in rows]
    expected = concat_tables([single_run(label, seed) for label, seed in ordered])
    for name in TABLES:
        rows_of_table = [row for outcome in outcomes for row in outcome[name]]
        assert rows_of_table == expected[name].to_pylist()
        assert len(rows_of_table) == sum(len(single_run(label, seed)[name]) for label, seed in RUNS)


def with_shuffled_keys(value: Any, chance: Any) -> Any:
    """Return the same data with the keys of all mappings in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: with_shuffled_keys(value[key], chance) for key in keys}
    return [with_shuffled_keys(entry, chance) for entry in value] if isinstance(value, list) else value


@relation(20)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_order_of_keys_does_not_matter(chance: Any, seed: int) -> None:
    """A scenario with its keys in another order is the same world."""
    first, second = (
        loads(text, "shop.yaml")
        for text in (SCENARIO, json.dumps(with_shuffled_keys(YAML(typ="safe").load(SCENARIO), chance)))
    )
    assert second.world(seed) == first.world(seed)
    assert (second.assignors, second.seeds) == (first.assignors, first.seeds)


def digest(count: int) -> str:
    """Return a digest of all tables of `count` runs, in the order in which they are drawn."""
    total = hashlib.sha256()

    @settings(max_examples=count, derandomize=True, database=None, deadline=None)
    @given(worlds(), assignors())
    def add_run(world: World, assignor: TaskAssignor) -> None:
        total.update(repr(figures_of(simulate(world, assignor))).encode())

    add_run()
    return total.hexdigest()


@pytest.mark.slow
def test_hash_seed_does_not_matter() -> None:
    """Processes with different PYTHONHASHSEED have the same figures, bit by bit."""
    code = f"from tests.relations.test_processes import digest; print(digest({WORLDS * 40 // 2_000}))"
    digests = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    ]
    assert len(set(digests)) == 1
