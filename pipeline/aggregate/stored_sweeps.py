"""Sweep directories to aggregate: read and check their manifests, and give the sweeps distinct names."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.storage import Storage
from reports.analysis.sweeps.sweep_directory import SWEEP_KIND, SweepManifest
from simulator.results.schema_checks import SchemaError, check_kind, check_record, read_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASSIGNOR = "assignor"

_HASH_CHARS = 8

Value = float | str | None


class AggregateError(Exception):
    """A directory is not a sweep directory, or the sweeps cannot be aggregated as requested."""


@dataclass(frozen=True, slots=True)
class StoredFactor:
    """A factor of a sweep.

    Attributes:
        paths: paths in the scenario that take its value.
        is_number: whether all its values are numbers or null.
    """

    name: str
    paths: tuple[str, ...]
    is_number: bool


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep directory as described by its manifest.

    Attributes:
        name: unique among the aggregated sweeps.
        scenario: equal for two sweeps if and only if their scenarios are equal in everything that is not varied.
        baseline: label of the assignor that the others are compared with.
        planned: number of runs of the complete sweep, with those of stopped seeds.
        shared_seeds: the seeds that all cells have, by which cells are compared; None if cells have the same seeds.
        stopped: what the sweep stopped, as in its manifest, and the metrics that were decided; empty if nothing.
    """

    name: str
    scenario: str
    root: str
    factors: tuple[StoredFactor, ...]
    assignors: tuple[str, ...]
    seeds: int
    baseline: str
    planned: int
    shared_seeds: tuple[int, ...] | None = None
    stopped: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the internal column names of the factors; factor names could collide with other columns."""
        return tuple(f"factor_{position}" for position in range(len(self.factors)))

    def label(self, values: Sequence[Value]) -> str:
        """Return a setting as text.

        `values`: one per factor. Returns text such as `standbys=1, traffic_cost=10`.
        """
        named = zip(self.factors, values, strict=True)
        return ", ".join(f"{factor.name}={level_text(value)}" for factor, value in named) or "unchanged"


def level_text(value: Value) -> str:
    """Return a factor value as a scenario would contain it: whole numbers without a decimal point."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return value


def find_sweeps(spark: SparkSession, dirs: Iterable[str], baseline: str | None = None) -> list[StoredSweep]:
    """Read the manifests of sweep directories; duplicates are read once.

    `spark`: the session whose file systems are used. `dirs`: paths or URIs. `baseline`: label of the assignor to
    compare with; overrides the manifests. Returns the sweeps in the order of the directories. Raises AggregateError if
    a directory is not a sweep directory or has no runs yet, or a sweep lacks the baseline.
    """
    storages = list({storage.root: storage for storage in (Storage(spark, directory) for directory in dirs)}.values())
    manifests = [_manifest(storage) for storage in storages]
    names = _number_duplicates([manifest["name"] for manifest in manifests])
    scenarios = _scenarios(manifests)
    entries = zip(storages, manifests, names, scenarios, strict=True)
    return [_sweep(storage.root, manifest, name, scenario, baseline) for storage, manifest, name, scenario in entries]


def factor_columns(sweeps: Iterable[StoredSweep], taken: Iterable[str]) -> dict[str, tuple[str, bool]]:
    """Return the columns for the factors of all sweeps, in order of first occurrence.

    `taken`: names of existing columns. A factor with the name of an existing column or of an earlier factor in other
    letter case (Spark ignores case) gets the column `NAME_factor`. Returns, by factor name: its column, and whether the
    column is numeric (the factor is numeric in every sweep).
    """
    is_number: dict[str, bool] = {}
    for sweep in sweeps:
        for factor in sweep.factors:
            is_number[factor.name] = factor.is_number and is_number.get(factor.name, True)
    used = {name.casefold() for name in taken}
    columns = {}
    for name, numbers in is_number.items():
        column = name
        while column.casefold() in used:
            column += "_factor"
        used.add(column.casefold())
        columns[name] = (column, numbers)
    return columns


def _manifest(storage: Storage) -> dict[str, Any]:
    if not storage.exists("manifest.json"):
        raise AggregateError(f"{storage.root}: not a sweep directory: manifest.json is missing")
    try:
        manifest: dict[str, Any] = read_json(storage.read_text("manifest.json"))
        check_kind(manifest, SWEEP_KIND, "a sweep")
        check_record(SweepManifest, manifest)
    except (SchemaError, UnicodeDecodeError) as error:
        raise AggregateError(f"{storage.root}: not a sweep directory: manifest.json: {error}") from None
    if not storage.children("runs"):
        raise AggregateError(f"{storage.root}: the sweep has no runs yet; continue it with assignor-sim sweep --resume")
    return manifest


def _sweep(root: str, manifest: Mapping[str, Any], name: str, scenario: str, baseline: str | None) -> StoredSweep:
    assignors = tuple(manifest["assignors"])
    chosen_baseline = baseline or manifest["baseline"]
    factors = tuple(
        StoredFactor(factor["name"], tuple(factor["paths"]), factor["kind"] == "number")
        for factor in manifest["factors"]
    )
    seeds = tuple(manifest["seeds"])
    sweep = StoredSweep(
        name,
        scenario,
        root,
        factors,
        assignors,
        len(seeds),
        chosen_baseline,
        manifest["runs"],
        *_stops(manifest, seeds),
    )
    if chosen_baseline not in assignors:
        raise AggregateError(
            f"{root}: {chosen_baseline!r} is not an assignor of this sweep (assignors: {', '.join(assignors)})"
        )
    return sweep


def _stops(manifest: Mapping[str, Any], seeds: tuple[int, ...]) -> tuple[tuple[int, ...] | None, Mapping[str, Any]]:
    """Return the seeds that all cells share, None for all of them, and what was stopped."""
    rule, stopped = manifest.get("until_significant"), manifest.get("stopped")
    if rule is None:
        return None, {}
    # Before its end, the sweep has different seeds per cell, too.
    shared = rule["looks"][0] if stopped is None else stopped["shared_seeds"]
    return (
        None if shared == len(seeds) else seeds[:shared],
        {} if stopped is None else {"metrics": rule["metrics"], **stopped},
    )


def _number_duplicates(names: Sequence[str]) -> list[str]:
    """Append numbers to names that occur more than once."""
    count, seen = Counter(names), Counter[str]()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} ({seen[name]})" if count[name] > 1 else name)
    return unique


def _scenarios(manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the scenario names, with the start of a hash where several scenarios have the same name."""
    names = [str(manifest["scenario"]["name"]) for manifest in manifests]
    hashes = [_hash(manifest) for manifest in manifests]
    ambiguous = {
        name for name, count in Counter(name for name, _ in set(zip(names, hashes, strict=True))).items() if count > 1
    }
    return [
        f"{name} ({hash_text[:_HASH_CHARS]})" if name in ambiguous else name
        for name, hash_text in zip(names, hashes, strict=True)
    ]


def _hash(manifest: Mapping[str, Any]) -> str:
    """Return a hash of everything that defines a scenario: text, imported files and changes for all runs."""
    scenario = manifest["scenario"]
    content = [scenario["sha256"], scenario["imports"], manifest["changes"]]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
