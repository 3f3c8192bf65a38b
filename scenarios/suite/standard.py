"""The versioned standard suite: which cases it has, by seed; and AssignorBench, its published selection.

A case never changes within a version: what a seed draws depends on the version, the family and the number of the case.
New cases, metrics or rules make a new version of the benchmark.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scenarios.load import shipped_hint
from scenarios.shipped import find_scenario, list_applications, list_scenarios
from scenarios.suite.documents import FAMILIES, PLACEMENTS, Document, SuiteFamily
from scenarios.suite.scale_shapes import SHAPES, ScaleShape
from simulator.random_streams import random_stream
from simulator.results.files import read_document

VERSION: Final = "standard 1"
"""Name and version of the suite; part of every report."""

KNOWN_PROBLEMS: Final = "known_problems"
SCALE: Final = "scale_shapes"
OWN: Final = "scenarios"
"""SuiteFamily of scenarios that the user names instead of a suite."""

FAMILY_DESCRIPTIONS: Final[dict[str, str]] = {
    **{family.name: family.description for family in (*FAMILIES, PLACEMENTS)},
    KNOWN_PROBLEMS: "The shipped scenarios, which reproduce known problems of Kafka's assignors.",
    SCALE: "Single assignments of up to 6,000 tasks or 1,000 clients; one client in ten leaves.",
    OWN: "Scenarios of your own.",
}
"""What the cases of each family have in common."""

_SLOW_SCENARIOS: Final = ("correlated_loss", "lag_scaling", "migration_to_streams_groups", "sticky_without_rest")
"""Shipped scenarios that are left out of the quick suite."""


@dataclass(frozen=True, slots=True)
class SuiteSize:
    """How many cases a suite has: scenarios of each family, placements with their seeds, and seeds of scale shapes."""

    scenarios: int
    placements: int
    seeds: int
    scale_seeds: int


_SEEDS_PER_SUITE: Final = 1_000_000
_SEEDS_PER_FAMILY: Final = 20_000
_SEEDS_PER_SCENARIO: Final = 100

FULL: Final = SuiteSize(scenarios=40, placements=40, seeds=10, scale_seeds=3)
QUICK: Final = SuiteSize(scenarios=16, placements=16, seeds=5, scale_seeds=2)


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """One case: a scenario and a seed, or a large assignment.

    Attributes:
        name: unique in the suite.
        document: the scenario; None for a large assignment.
        folder: folder of the files that the scenario imports; None without.
        shape: the large assignment; None for a scenario.
    """

    family: str
    name: str
    seed: int
    document: Document | None = None
    folder: Path | None = None
    shape: ScaleShape | None = None


def standard_suite(seed: int = 1, *, quick: bool = False) -> list[SuiteCase]:
    """Return the cases of the standard suite, by family.

    `seed`: draws the random scenarios; 1 for published results. `quick` says whether to return the quick selection: the
    first scenarios of each family, with fewer seeds; its cases are among those of the full suite.
    """
    size = QUICK if quick else FULL
    cases = [case for family in FAMILIES for case in _family(family, seed, size.scenarios, 1)]
    cases += _family(PLACEMENTS, seed, size.placements, size.seeds)
    cases += [
        case for file in list_applications() if not (quick and file.stem in _SLOW_SCENARIOS) for case in _shipped(file)
    ]
    shapes = [shape for shape in SHAPES if shape.in_quick or not quick]
    seeds = range(seed, seed + size.scale_seeds)
    return cases + [
        SuiteCase(SCALE, f"{shape.name}, seed {number}", number, shape=shape) for shape in shapes for number in seeds
    ]


def own_cases(files: Iterable[str | os.PathLike[str]]) -> list[SuiteCase]:
    """Return the cases of files or shipped scenarios by seed; raise ValueError if one is missing, or no mapping."""
    return [case for file in files for case in _cases_of_file(find_scenario(Path(file)), OWN, None)]


def _family(family: SuiteFamily, seed: int, count: int, seeds: int) -> Iterator[SuiteCase]:
    rank = (*FAMILIES, PLACEMENTS).index(family)
    for number in range(1, count + 1):
        content = family.document(random_stream(seed, VERSION, family.name, str(number)), number)
        # No two runs of a suite have the same seed, which draws the process ids of their clients.
        first = seed * _SEEDS_PER_SUITE + rank * _SEEDS_PER_FAMILY + number * _SEEDS_PER_SCENARIO
        for run_seed in range(first, first + seeds):
            name = f"{content['name']}, seed {run_seed}" if seeds > 1 else content["name"]
            yield SuiteCase(family.name, name, run_seed, content)


def _shipped(file: Path) -> Iterator[SuiteCase]:
    return _cases_of_file(file, KNOWN_PROBLEMS, 1)


def _cases_of_file(file: Path, family: str, max_seeds: int | None) -> Iterator[SuiteCase]:
    content = _plain(file)
    seeds = content.get("seeds") or [1]
    for seed in seeds[:max_seeds]:
        content.setdefault("name", file.stem)
        name = file.stem if len(seeds) == 1 or max_seeds == 1 else f"{file.stem}, seed {seed}"
        yield SuiteCase(family, name, int(seed), content, file.parent.resolve())


def _plain(file: Path) -> Document:
    """Return a YAML file as data."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if not file.exists():
        raise ValueError(f"{file}: no such file{shipped_hint(file, list_scenarios(), 'scenario')}")
    try:
        content: Any = YAML(typ="safe").load(read_document(file))
    except YAMLError as error:
        raise ValueError(f"{file}: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{file}: expected a mapping with cluster, application and clients")
    # They name or describe the assignors of the scenario, which are replaced.
    return {key: value for key, value in content.items() if key not in ("problem", "expect", "assignors")}


NAME: Final = "AssignorBench v1"
"""Name and version; part of every result."""

SCENARIOS_PER_FAMILY: Final = 8
"""Scenarios of each random family: the first ones of the standard suite, each with its first seed."""


def benchmark_cases() -> list[SuiteCase]:
    """Return the scenarios of the benchmark, by family; large assignments are instances only."""
    counts: Counter[str] = Counter()
    chosen: list[SuiteCase] = []
    for case in standard_suite(quick=True):
        is_first_seed = case.name.partition(",")[0] not in {other.name.partition(",")[0] for other in chosen[-1:]}
        if case.family == SCALE or not is_first_seed:
            continue
        counts[case.family] += 1
        if case.family == KNOWN_PROBLEMS or counts[case.family] <= SCENARIOS_PER_FAMILY:
            chosen.append(case)
    return chosen
