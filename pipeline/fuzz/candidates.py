"""Candidates of the search: drawn from a family of the suite, or changed from earlier ones; and their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.review.case_runs import Reviewed, load_case, run_assignor
from reports.analysis.review.outcomes import AssignorOutcome
from scenarios.load import ScenarioError
from scenarios.suite.documents import FAMILIES, PLACEMENTS, Document
from scenarios.suite.mutations import mutated
from scenarios.suite.standard import SuiteCase
from simulator.random_streams import random_stream

_TRIES: Final = 8
_FAMILIES: Final = (*FAMILIES, PLACEMENTS)
_FAMILY: Final = "fuzz"


@dataclass(frozen=True, slots=True)
class FuzzInput:
    """A scenario of the search.

    Attributes:
        number: number of the case, from 1.
        seed: seed of the run.
        document: the scenario.
    """

    number: int
    seed: int
    document: Document

    def case(self) -> SuiteCase:
        """Return the input as a case of a suite."""
        return SuiteCase(_FAMILY, f"case {self.number}", self.seed, self.document)


@dataclass(frozen=True, slots=True)
class FuzzRequest:
    """How to build an input.

    Attributes:
        number: number of the case.
        parent: the input to change; None to draw from a family.
        other: another input, from which parts may be taken.
    """

    search_seed: int
    number: int
    parent: FuzzInput | None = None
    other: FuzzInput | None = None


def build_input(request: FuzzRequest, reviewed: Reviewed) -> FuzzInput:
    """Build an input; it depends on the request, and on the configs of the assignor.

    `reviewed`: the assignor, with whose configs the scenario must be valid. The input is the first valid one of several
    tries, or the last.
    """
    rng = random_stream(request.search_seed, "fuzz", str(request.number))
    for _ in range(_TRIES):
        parent = request.parent
        seed = int(rng.integers(1, 2**31))
        if parent is None:
            family = _FAMILIES[int(rng.integers(len(_FAMILIES)))]
            document = family.document(rng, request.number)
        else:
            document = mutated(parent.document, rng, request.other.document if request.other else None)
            seed = parent.seed if rng.random() < 0.5 else seed
        document = {key: value for key, value in document.items() if key != "description"}
        found = FuzzInput(request.number, seed, {**document, "name": f"case-{request.number}"})
        if _is_valid(found, reviewed):
            break
    return found


def _is_valid(found: FuzzInput, reviewed: Reviewed) -> bool:
    try:
        load_case(found.case(), reviewed)
    except ScenarioError:
        return False
    return True


def run_input(found: FuzzInput, reviewed: Reviewed, metrics: list[str]) -> AssignorOutcome | None:
    """Run an input; None if its scenario is invalid with the configs of the assignor."""
    try:
        return run_assignor(found.case(), reviewed, metrics)
    except ScenarioError:
        return None
