"""Shell completion of scenarios, sweeps, assignors and strategies.

Returning nothing makes the shell complete files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_SAFE = re.compile(r"[\w.@/][\w.@/%+,:=-]*")
"""Words that a shell neither splits nor expands, without characters that a terminal obeys."""


def complete_scenario(incomplete: str) -> list[str]:
    """Return the shipped scenarios, and the scenario files of the current folder, that begin with a text."""
    from scenarios.shipped import list_scenarios

    return _names_and_files(incomplete, (path.stem for path in list_scenarios()))


def complete_sweep(incomplete: str) -> list[str]:
    """Return the shipped sweeps, and the YAML files of the current folder, that begin with a text."""
    from scenarios.shipped import list_sweeps

    return _names_and_files(incomplete, (path.stem for path in list_sweeps()))


def complete_assignor(incomplete: str) -> list[str]:
    """Return the built-in and installed assignors that begin with a text; after `@`, their releases."""
    from assignors import registry

    names = {name for info in registry.built_in() for name in (info.name, *info.aliases)} | set(registry.installed())
    if "@" in incomplete:
        names = {info.at(release).name for info in registry.built_in() for release in info.releases}
    return _matching(incomplete, names)


def complete_metric(incomplete: str) -> list[str]:
    """Complete the key of a metric."""
    from reports.analysis.metrics import METRIC

    return _matching(incomplete, METRIC)


def complete_strategy(incomplete: str) -> list[str]:
    """Return the strategies for replicas that begin with a text."""
    from assignors.replicas.registry import built_in

    return _matching(incomplete, (info.name for info in built_in()))


def _names_and_files(incomplete: str, names: Iterable[str]) -> list[str]:
    if "/" in incomplete:
        return []
    files = (path.name for path in Path().iterdir() if path.suffix in (".yaml", ".yml") and path.is_file())
    return _matching(incomplete, [*names, *files])


def _matching(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return names that begin with a text, sorted; the shell inserts them as they are, so only safe ones."""
    return sorted(name for name in set(names) if name.startswith(incomplete) and _SAFE.fullmatch(name))
