"""The contract of all assignors on random applications: valid, pure, deterministic, convergent.

The environment variable CONTRACT_WORLDS sets their number. A failure prints the seed, which reproduces it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from assignors import registry
from assignors.model.assignment import AssignmentColumns, validate_assignment
from tests.contract.random_applications import RandomApplication, rebalance_until_stable

pytestmark = pytest.mark.answers

WORLDS = int(os.environ.get("CONTRACT_WORLDS", "50"))
"""Number of applications for each assignor."""

EVENTS = 4
MAX_ROUNDS = 120

ASSIGNORS = registry.built_in()
for_every_assignor = pytest.mark.parametrize("info", ASSIGNORS, ids=lambda info: info.name)


@for_every_assignor
def test_every_assignment_is_valid_while_clients_join_and_leave(
    info: registry.AssignorInfo,
) -> None:
    assignor = registry.make(info)
    for seed in range(WORLDS):
        application = RandomApplication.from_seed(seed)
        for _ in range(EVENTS):
            application.apply_random_event()
            state = application.state()
            assignment = assignor.assign(state)
            context = f"seed {seed}: {application.history}"
            assert validate_assignment(state, assignment) == [], context
            assert (AssignmentColumns.of(state, assignment).active >= 0).all(), context
            application.apply(assignment)


@for_every_assignor
def test_every_assignor_converges(info: registry.AssignorInfo) -> None:
    if info.name == "fallback_prior":
        # Always requests a probing rebalance, like Kafka's, because lags are unknown.
        application = RandomApplication.from_seed(1)
        assert rebalance_until_stable(application, registry.make(info), 5) is None
        return
    assignor = registry.make(info)
    for seed in range(WORLDS):
        application = RandomApplication.from_seed(seed)
        for _ in range(EVENTS):
            application.apply_random_event()
            rounds = rebalance_until_stable(application, assignor, MAX_ROUNDS)
            assert rounds is not None, f"seed {seed}: still probing after {MAX_ROUNDS} rounds: {application.history}"


@for_every_assignor
def test_assignor_is_deterministic_and_does_not_change_the_state(info: registry.AssignorInfo) -> None:
    for seed in range(20):
        application = RandomApplication.from_seed(seed)
        application.apply(registry.make(info).assign(application.state()))
        state = application.state()
        before = pickle.dumps(list(state.kafka_streams_states.values()))
        first = registry.make(info).assign(state)
        assert pickle.dumps(list(state.kafka_streams_states.values())) == before
        assert registry.make(info).assign(state) == first


def test_assignments_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "import hashlib; from assignors import registry\n"
        "from tests.contract.random_applications import RandomApplication, rebalance_until_stable\n"
        "for info in registry.built_in():\n"
        "    assignments = []\n"
        "    for seed in range(15):\n"
        "        application = RandomApplication.from_seed(seed)\n"
        "        rebalance_until_stable(application, registry.make(info), 3)\n"
        "        application.apply_random_event()\n"
        "        assignments.append(repr(registry.make(info).assign(application.state())))\n"
        "    print(info.name, hashlib.sha256(''.join(assignments).encode()).hexdigest())\n"
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
