"""Generated clusters, and files that describe them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assignors.replicas.plan_evaluation import replicas_by_partition
from assignors.replicas.state import count_replicas
from scenarios.clusters.cluster_generator import MEAN_BYTES, ClusterShape, generate_cluster
from scenarios.clusters.cluster_reader import read_cluster
from scenarios.kafka.plan_files import ASSIGNMENT, BROKERS, LOG_DIRS, cluster_files


def test_default_cluster_has_the_proportions_of_cruise_controls_tests() -> None:
    state = generate_cluster(ClusterShape(), seed=1)
    assert len(state.brokers) == 40
    assert len(state.racks) == 10
    assert len(state.topics) == 3_000
    assert state.num_partitions * 3 == 50_001
    assert set(state.replication_factor.tolist()) == {3}
    counts = np.bincount(state.topic)
    assert counts.min() == 1
    assert counts.max() > 20
    assert state.size_bytes is not None
    assert state.size_bytes.mean() == pytest.approx(MEAN_BYTES, rel=0.05)
    loads = count_replicas(state.replicas, 40)
    assert loads.max() - loads.min() > 50


def test_generated_cluster_depends_only_on_shape_and_seed() -> None:
    shape = ClusterShape(brokers=5, racks=2, topics=3, partitions=10)
    first, same, different = (generate_cluster(shape, seed) for seed in (1, 1, 2))
    assert replicas_by_partition(first, first.replicas) == replicas_by_partition(same, same.replicas)
    assert replicas_by_partition(first, first.replicas) != replicas_by_partition(different, different.replicas)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"racks": 6}, "6 racks need"),
        ({"partitions": 2}, "3 topics need"),
        ({"factor": 6}, "6 replicas need"),
        ({"topics": 0}, "at least one"),
    ],
)
def test_inconsistent_shape_is_rejected(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClusterShape(**{"brokers": 5, "racks": 2, "topics": 3, "partitions": 10, **sizes})


def test_cluster_survives_the_round_trip_through_files(tmp_path: Path) -> None:
    state = generate_cluster(ClusterShape(brokers=7, racks=3, topics=12, partitions=40), seed=3)
    files = cluster_files(state)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    loaded = read_cluster(
        ASSIGNMENT, files[ASSIGNMENT].decode(), brokers=tmp_path / BROKERS, log_dirs=tmp_path / LOG_DIRS
    ).state
    assert loaded.brokers == state.brokers
    assert replicas_by_partition(loaded, loaded.replicas) == replicas_by_partition(state, state.replicas)
    assert loaded.size_bytes is not None
    assert state.size_bytes is not None
    assert loaded.size_bytes.tolist() == state.size_bytes.tolist()
