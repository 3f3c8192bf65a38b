"""A scenario that must not violate invariants, as fuzzing stores it: NAME.fuzz.json beside NAME.yaml.

A scenario file names no code. So this file says for which assignor the case was found, for people and messages; only an
assignor of this project runs without being named on the command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from reports.analysis.review.outcomes import INVARIANTS
from reports.analysis.stored.results import StoredResultsError
from reports.analysis.text import printable
from simulator.results.schema_checks import SchemaError, StoredRecord, check_record, read_json

SUFFIX: Final = ".fuzz.json"
FORMAT: Final = 1


class _StoredCase(StoredRecord):
    format: Literal[1]
    assignor: str
    invariants: dict[str, str]
    signature: str
    metric: str | None
    value: float | None
    found: dict[str, int]
    timeout_s: Annotated[float, Field(gt=0)] | None
    isolate: bool


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
        stored = check_record(_StoredCase, read_json(text))
    except SchemaError as error:
        raise StoredResultsError(f"{file}: is not a case of fuzzing in format {FORMAT}: {error}") from None
    for name in stored.invariants:
        if name not in INVARIANTS:
            raise StoredResultsError(f"{file}: unknown invariant '{printable(name)}' (known: {', '.join(INVARIANTS)})")
    return InvariantCase(
        stored.assignor,
        stored.invariants,
        stored.signature,
        stored.metric,
        stored.value,
        stored.found,
        stored.timeout_s,
        stored.isolate,
    )
