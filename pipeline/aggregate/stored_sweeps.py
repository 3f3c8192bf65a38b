"""The sweeps that are looked at together: found, checked, and given names that tell them apart."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASSIGNOR = "assignor"
"""The factor that every sweep has, whatever else it varies."""

_HASH_SHOWN = 8

Value = float | str | None


class AggregateError(Exception):
    """A directory that is no sweep, or sweeps that cannot be looked at as wanted; says which and why."""


@dataclass(frozen=True, slots=True)
class StoredFactor:
    """What a sweep varied.

    Attributes:
        name: what the sweep calls it.
        paths: the places in the scenario that got its value.
        is_number: whether all its values are numbers, or null.
    """

    name: str
    paths: tuple[str, ...]
    is_number: bool


@dataclass(frozen=True, slots=True)
class StoredSweep:
    """A sweep's directory, as its manifest describes it.

    Attributes:
        name: differs from that of every other sweep here.
        scenario: the same for two sweeps if, and only if, their scenarios are the same in all that is not varied.
        root: URI of the directory.
        factors: in the order of the manifest.
        assignors: their labels.
        seeds: how many.
        baseline: the assignor that the others are compared with.
        planned: how many runs it has when it is complete.
    """

    name: str
    scenario: str
    root: str
    factors: tuple[StoredFactor, ...]
    assignors: tuple[str, ...]
    seeds: int
    baseline: str
    planned: int

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns with the values of a setting are called while it is worked on: names of any kind would be
        in the way of others."""
        return tuple(f"factor_{position}" for position in range(len(self.factors)))

    def label(self, values: Sequence[Value]) -> str:
        """A setting in words.

        Args:
            values: one for each factor.
        """
        named = zip(self.factors, values, strict=True)
        return ", ".join(f"{factor.name}={level_text(value)}" for factor, value in named) or "as it is"


def level_text(value: Value) -> str:
    """A value as a scenario would have it: whole numbers without a point."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return value


def find_sweeps(spark: SparkSession, dirs: Iterable[str], baseline: str | None = None) -> list[StoredSweep]:
    """Read the manifests of directories; one that is named twice counts once.

    Args:
        spark: whose file systems are used.
        dirs: paths or URIs.
        baseline: the assignor to compare with, in place of what the manifests say.

    Raises:
        AggregateError: a directory is not one of a sweep or has no runs yet, or a sweep lacks the baseline.
    """
    places = list({storage.root: storage for storage in (Storage(spark, directory) for directory in dirs)}.values())
    manifests = [_manifest(storage) for storage in places]
    names = _told_apart([manifest["name"] for manifest in manifests])
    scenarios = _scenarios(manifests)
    found = zip(places, manifests, names, scenarios, strict=True)
    return [_sweep(storage.root, manifest, name, scenario, baseline) for storage, manifest, name, scenario in found]


def factor_columns(sweeps: Iterable[StoredSweep], taken: Iterable[str]) -> dict[str, tuple[str, bool]]:
    """The columns for the factors of all sweeps, in the order in which they first come.

    Args:
        sweeps: what is looked at.
        taken: columns that are there already. A factor that is called like one of them, or like a factor before it in
            other letter case, which Spark does not tell apart, gets a column `NAME_factor`.

    Returns:
        By the factor's name its column, and whether that holds numbers: in every sweep that has it.
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
        raise AggregateError(f"{storage.root}: not a directory of a sweep: manifest.json is missing")
    try:
        manifest: dict[str, Any] = json.loads(storage.read_text("manifest.json"))
        kind = manifest.get("kind", "run")
    except (ValueError, AttributeError) as error:
        raise AggregateError(f"{storage.root}: not a directory of a sweep: manifest.json: {error}") from None
    if kind != "sweep":
        raise AggregateError(f"{storage.root}: not a directory of a sweep: manifest.json is of kind {kind!r}")
    if not storage.children("runs"):
        raise AggregateError(f"{storage.root}: the sweep has no runs yet; assignor-sim sweep --resume goes on with it")
    return manifest


def _sweep(root: str, manifest: Mapping[str, Any], name: str, scenario: str, baseline: str | None) -> StoredSweep:
    try:
        assignors = tuple(manifest["assignors"])
        wanted = baseline or manifest["baseline"]
        factors = tuple(
            StoredFactor(each["name"], tuple(each["paths"]), each["kind"] == "number") for each in manifest["factors"]
        )
        sweep = StoredSweep(name, scenario, root, factors, assignors, len(manifest["seeds"]), wanted, manifest["runs"])
    except (KeyError, TypeError) as error:
        raise AggregateError(f"{root}: manifest.json: {error} is missing or wrong") from None
    if wanted not in assignors:
        raise AggregateError(f"{root}: {wanted!r} is no assignor of this sweep (assignors: {', '.join(assignors)})")
    return sweep


def _told_apart(names: Sequence[str]) -> list[str]:
    """The names, with numbers behind those that come more than once."""
    often, seen = Counter(names), Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        told.append(f"{name} ({seen[name]})" if often[name] > 1 else name)
    return told


def _scenarios(manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    """The scenarios' names, with the start of a hash behind those that several scenarios have."""
    names = [str(manifest["scenario"]["name"]) for manifest in manifests]
    hashes = [_hash(manifest) for manifest in manifests]
    several = {
        name for name, often in Counter(name for name, _ in set(zip(names, hashes, strict=True))).items() if often > 1
    }
    return [
        f"{name} ({hashed[:_HASH_SHOWN]})" if name in several else name
        for name, hashed in zip(names, hashes, strict=True)
    ]


def _hash(manifest: Mapping[str, Any]) -> str:
    """The same for the same scenario: its text, what it imports, and what the sweep changes in it for all runs."""
    scenario = manifest["scenario"]
    content = [scenario["sha256"], scenario.get("imports", {}), manifest.get("changes", [])]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
