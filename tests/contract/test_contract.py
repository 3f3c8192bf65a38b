"""What every assignor promises, on random applications: valid, pure, deterministic, convergent.

The number of worlds follows the hypothesis profile; a failure prints the seed, and the seed alone rebuilds it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from assignors import registry
from assignors.model.assignment import AssignmentColumns, validate_assignment
from tests.conftest import PROFILE
from tests.contract.random_applications import RandomApplication, rebalance_until_stable

WORLDS = {"ci": 2_000, "nightly": 20_000}.get(PROFILE, 200)
"""For each assignor."""

EVENTS = 4
MOST_ROUNDS = 120

ASSIGNORS = registry.built_in()
named = pytest.mark.parametrize("info", ASSIGNORS, ids=lambda info: info.name)


@named
def test_every_answer_is_valid_and_runs_every_task_once_however_clients_come_and_go(
    info: registry.AssignorInfo,
) -> None:
    assignor = registry.make(info)
    for seed in range(WORLDS):
        life = RandomApplication.from_seed(seed)
        for _ in range(EVENTS):
            life.apply_random_event()
            state = life.state()
            assignment = assignor.assign(state)
            context = f"seed {seed}: {life.history}"
            assert validate_assignment(state, assignment) == [], context
            assert (AssignmentColumns.of(state, assignment).active >= 0).all(), context
            life.apply(assignment)


@named
def test_every_assignor_comes_to_rest(info: registry.AssignorInfo) -> None:
    if info.name == "fallback_prior":
        # It stands in while lags are not known, and always asks for another rebalance, as Kafka's does.
        life = RandomApplication.from_seed(1)
        assert rebalance_until_stable(life, registry.make(info), 5) is None
        return
    assignor = registry.make(info)
    for seed in range(WORLDS):
        life = RandomApplication.from_seed(seed)
        for _ in range(EVENTS):
            life.apply_random_event()
            rounds = rebalance_until_stable(life, assignor, MOST_ROUNDS)
            assert rounds is not None, f"seed {seed}: still probing after {MOST_ROUNDS} rounds: {life.history}"


@named
def test_an_assignor_leaves_the_state_as_it_was_and_answers_the_same_again(info: registry.AssignorInfo) -> None:
    for seed in range(20):
        life = RandomApplication.from_seed(seed)
        life.apply(registry.make(info).assign(life.state()))
        state = life.state()
        before = pickle.dumps(list(state.kafka_streams_states.values()))
        first = registry.make(info).assign(state)
        assert pickle.dumps(list(state.kafka_streams_states.values())) == before
        assert registry.make(info).assign(state) == first


def test_answers_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "import hashlib; from assignors import registry; from tests.contract.random_applications import RandomApplication, rebalance_until_stable\n"
        "for info in registry.built_in():\n"
        "    told = []\n"
        "    for seed in range(15):\n"
        "        life = RandomApplication.from_seed(seed); rebalance_until_stable(life, registry.make(info), 3); life.apply_random_event()\n"
        "        told.append(repr(registry.make(info).assign(life.state())))\n"
        "    print(info.name, hashlib.sha256(''.join(told).encode()).hexdigest())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4711")
    }
    assert len(outputs) == 1
    assert next(iter(outputs)).count("\n") == len(ASSIGNORS)
