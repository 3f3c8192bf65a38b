"""A scenario that must not violate invariants, as fuzzing stores it: NAME.fuzz.json beside NAME.yaml.

A scenario file names no code. So this file says for which assignor the case was found, for people and messages; only an
assignor of this project runs without being named on the command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from reports.analysis.review.outcomes import INVARIANTS
from reports.analysis.stored.results import StoredResultsError
from reports.analysis.text import printable

SUFFIX: Final = ".fuzz.json"
FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class InvariantCase:
    """What is stored of a case.

    Attributes:
        assignor: name of the assignor for which it was found.
        invariants: keys of the invariants that must hold, with what the assignor did when they were violated.
        signature: identifies violations of the same kind.
        metric: the objective of the worst case; None for a violation.
        found: seed of the search, and number of the case.
        timeout_s: time limit of each call; None for no limit.
        isolate: whether the assignor ended its process, so that it needs one of its own.
    """

    assignor: str
    invariants: Mapping[str, str] = field(default_factory=dict)
    signature: str = ""
    metric: str | None = None
    value: float | None = None
    found: Mapping[str, int] = field(default_factory=dict)
    timeout_s: float | None = None
    isolate: bool = False


@dataclass(frozen=True, slots=True)
class InvariantCheck:
    """An invariant, checked for one assignor with one seed.

    Attributes:
        invariant: key of the invariant.
        assignor: label of the assignor.
        seed: seed of the run.
        violation: what the assignor did; None if the invariant holds.
    """

    invariant: str
    assignor: str
    seed: int
    violation: str | None

    @property
    def is_met(self) -> bool:
        """Whether the invariant holds."""
        return self.violation is None

    def __str__(self) -> str:
        """Return the invariant and what was found."""
        found = "holds" if self.violation is None else f"violated: {printable(self.violation)}"
        return f"invariant {self.invariant}: {printable(self.assignor)}, seed {self.seed}: {found}"


def invariant_case_path(scenario: Path) -> Path:
    """Return the file with the invariants that a scenario must not violate: NAME.fuzz.json beside NAME.yaml."""
    return scenario.with_suffix(SUFFIX)


def write_invariant_case(case: InvariantCase) -> str:
    """Return a case as JSON, which ends with a newline."""
    return json.dumps({"format": FORMAT, **asdict(case)}, indent=2, ensure_ascii=False) + "\n"


def read_invariant_case(text: str, file: str) -> InvariantCase:
    """Read a case.

    `file`: its name, for messages. Raises StoredResultsError if it is not a case, or has an unknown invariant.
    """
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StoredResultsError(f"{file}: is not a case of fuzzing in format {FORMAT}")
    assignor: Any = content.get("assignor")
    invariants: Any = content.get("invariants")
    found: Any = content.get("found")
    timeout_s, value = content.get("timeout_s"), content.get("value")
    well_typed = (
        isinstance(assignor, str)
        and _is_mapping(invariants, str)
        and _is_mapping(found, int)
        and (timeout_s is None or (isinstance(timeout_s, int | float) and timeout_s > 0))
        and (value is None or isinstance(value, int | float))
    )
    if not well_typed:
        raise StoredResultsError(f"{file}: assignor, invariants, found, value or timeout_s is missing or invalid")
    for name in invariants:
        if name not in INVARIANTS:
            raise StoredResultsError(f"{file}: unknown invariant '{printable(name)}' (known: {', '.join(INVARIANTS)})")
    metric = content.get("metric")
    return InvariantCase(
        assignor,
        invariants,
        str(content.get("signature", "")),
        metric if isinstance(metric, str) else None,
        value,
        found,
        timeout_s,
        content.get("isolate") is True,
    )


def _is_mapping(value: Any, kind: type) -> bool:
    return isinstance(value, dict) and all(isinstance(one, kind) for one in value.values())
