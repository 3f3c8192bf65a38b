"""Manifest of a sweep, and the hash that identifies the sweep."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from pipeline.sweep.stop_rule import StopRule
from scenarios.sweeps.prepared import PreparedSweep
from simulator.model_version import MODEL_VERSION


def sweep_manifest(prepared: PreparedSweep, tables: Sequence[str], stop_rule: StopRule | None = None) -> dict[str, Any]:
    """Return the manifest of a sweep as a JSON-serializable mapping.

    Its `identity` is equal for sweeps with the same runs and tables.

    Args:
        prepared: the sweep.
        tables: the tables that it writes.
        stop_rule: when the seeds of a pair stop; None for all declared seeds.

    Returns:
        The manifest.
    """
    sweep, scenario, labels, imports = prepared.sweep, prepared.scenario, prepared.labels, prepared.imports
    world = _digest([version("assignor-sim"), MODEL_VERSION, scenario.text, imports])
    content = {
        "kind": "sweep",
        "name": sweep.name,
        "text": sweep.text,
        "scenario": {
            "name": scenario.name,
            "text": scenario.text,
            "sha256": hashlib.sha256(scenario.text.encode()).hexdigest(),
            "imports": imports,
        },
        "world": world,
        "factors": [
            {
                "name": factor.name,
                "paths": list(factor.paths),
                "kind": "number" if factor.is_number else "text",
                "unit": factor.unit,
            }
            for factor in sweep.factors
        ],
        "changes": [list(change) for change in sweep.changes],
        "settings": len(sweep.settings),
        "assignors": list(labels),
        "seeds": list(sweep.seeds),
        "baseline": sweep.baseline or labels[0],
        "tables": list(tables),
        "runs": len(sweep.settings) * len(labels) * len(sweep.seeds),
    }
    if stop_rule is not None:
        content["until_significant"] = stop_rule.record()
    packages = ("assignor-sim", "numpy", "ortools", "pyarrow", "pyspark", "simpy")
    versions = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    settings = _digest([sweep.overrides(setting) for setting in sweep.settings])
    return {
        **content,
        "identity": _digest([world, settings, content]),
        "command": prepared.command,
        "versions": versions,
    }


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
