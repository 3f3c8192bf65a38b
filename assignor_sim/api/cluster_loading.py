"""Cluster arguments of `sim.plan`: a loaded or running cluster, a file or stream, or the name of a shipped scenario."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO, TypeAlias

from assignors.replicas.planning import PlanError
from assignors.replicas.state import ClusterState
from scenarios.clusters.cluster_reader import (
    LoadedCluster,
    read_cluster,
    read_running_cluster,
    to_cluster_state,
)
from scenarios.language.errors import Mistake, ScenarioError
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text
from scenarios.load import Scenario
from scenarios.shipped import find_scenario

ClusterLike: TypeAlias = str | os.PathLike[str] | TextIO | Scenario | ClusterState | LoadedCluster


def load_cluster(
    cluster: ClusterLike | None,
    *,
    bootstrap: str | None = None,
    properties: Mapping[str, str] | None = None,
    brokers: str | os.PathLike[str] | None = None,
    log_dirs: str | os.PathLike[str] | None = None,
    rates: str | os.PathLike[str] | None = None,
    seed: int | None = None,
) -> LoadedCluster:
    """Load a cluster for replica strategies; the arguments are those of `plan`.

    Returns:
        The state of the cluster, with its name and warnings.

    Raises:
        ScenarioError: a file cannot be read, or is invalid.
        PlanError: `brokers`, `log_dirs` or `rates` is given for a cluster that is not read from a file; or neither or
            both of `cluster` and `bootstrap` are given.
        ObservationError: the running cluster cannot be reached or denies a request.
    """
    if (cluster is None) == (bootstrap is None):
        raise PlanError("give either a cluster (scenario or file) or a running cluster (bootstrap)")
    if properties is not None and bootstrap is None:
        raise PlanError("properties require bootstrap")
    if bootstrap is not None:
        return read_running_cluster(
            bootstrap, properties or {}, brokers=_path(brokers), log_dirs=_path(log_dirs), rates=_path(rates)
        )
    if isinstance(cluster, (Scenario, ClusterState, LoadedCluster)):
        if any(path is not None for path in (brokers, log_dirs, rates)):
            raise PlanError("brokers, log_dirs and rates require a cluster that is read from a file")
        if isinstance(cluster, Scenario):
            world = cluster.world(cluster.seeds[0] if seed is None else seed)
            return LoadedCluster(cluster.name, to_cluster_state(world.cluster), ())
        return cluster if isinstance(cluster, LoadedCluster) else LoadedCluster("cluster", cluster, ())
    path, source = None, "standard input"
    try:
        if isinstance(cluster, (str, os.PathLike)):
            path = find_scenario(Path(cluster))
            source = str(path)
            text = read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
        else:
            assert cluster is not None
            text = cluster.read()
    except (UnreadableError, UnicodeDecodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ScenarioError([Mistake(source, getattr(error, "line", None), "", reason)]) from None
    loaded = read_cluster(
        source,
        text,
        path=path,
        brokers=_path(brokers),
        log_dirs=_path(log_dirs),
        rates=_path(rates),
        seed=seed,
    )
    name = source if path is None else str(cluster)
    return LoadedCluster(name, loaded.state, loaded.remarks, loaded.log_dirs)


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)
