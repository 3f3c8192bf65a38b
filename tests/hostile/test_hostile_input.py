"""Every hostile input gives a result or a located error, never a traceback.

`HOSTILE_INPUTS=2000` tries 2,000 inputs of each kind; a failure names the seed of its input.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.kafka_output import IMPORTERS
from tests.hostile.kinds import KINDS

pytestmark = pytest.mark.answers

INPUTS = int(os.environ.get("HOSTILE_INPUTS", "0"))
FEW = {
    "scenarios": 15,
    "sweep files": 10,
    "results": 5,
    "pages of results": 1,
    "pages of sweeps": 1,
    "pages of plans": 1,
    "folders of dumps": 2,
    "expectations, upgrades, static members": 10,
    "consumer groups, other traffic": 10,
    "Kubernetes manifests": 20,
    "clusters and options": 3,
    "environments": 5,
    "arguments": 10,
    "Kafka's client metrics": 10,
}


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_input_is_read_or_rejected(kind: str, tmp_path: Path) -> None:
    fails: Callable[[random.Random, Path], str | None] = KINDS[kind]
    for seed in range(INPUTS or FEW.get(kind, 40)):
        failure = fails(random.Random(f"{kind} {seed}"), tmp_path)
        assert failure is None, f"seed '{kind} {seed}': {failure}"


def test_every_importer_has_a_kind() -> None:
    assert set(IMPORTERS) < {kind.removeprefix("Kafka's ") for kind in KINDS}
