"""The rules of the tables of an aggregate: nulls, keys, and references between tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reports.analysis.sweeps.tables import AGGREGATE_SCHEMAS
from simulator.results.table_checks import Reference, TableRules

_CELL: Final = ("setting", "assignor")


def _all_but(table: str, *never_null: str) -> frozenset[str]:
    return frozenset(AGGREGATE_SCHEMAS[table].names) - frozenset((*_KEYS[table], "scenario", "sweep", *never_null))


_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "cells": (*_CELL, "metric"),
    "differences": (*_CELL, "metric"),
    "front": _CELL,
    "sensitivity": ("metric", "factor"),
    "levels": ("metric", "factor", "position"),
    "pairs": ("metric", "factor", "other", "position", "other_position"),
}

AGGREGATE_RULES: Final[Mapping[str, TableRules]] = MappingProxyType(
    {
        "cells": TableRules(
            _all_but("cells", "label", "runs", "errors", "failed", "stable", "known"), key=_KEYS["cells"]
        ),
        "differences": TableRules(_all_but("differences", "label", "baseline", "pairs"), key=_KEYS["differences"]),
        "front": TableRules(
            _all_but("front", "label", "runs", "errors", "failed", "stable", "on_front", "best_of"), key=_KEYS["front"]
        ),
        "sensitivity": TableRules(_all_but("sensitivity", "rank", "levels", "runs"), key=_KEYS["sensitivity"]),
        "levels": TableRules(_all_but("levels", "level", "runs"), key=_KEYS["levels"]),
        "pairs": TableRules(_all_but("pairs", "level", "other_level", "runs"), key=_KEYS["pairs"]),
    }
)
"""The rules of each table of the aggregate of one sweep."""

AGGREGATE_REFERENCES: Final = (
    Reference("cells", _CELL, "front", _CELL),
    Reference("differences", _CELL, "front", _CELL),
    Reference("front", ("setting",), "cells", ("setting",)),
)
"""References between these tables, on which their readers rely."""
