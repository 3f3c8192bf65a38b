"""The cases that a search stores in its corpus: scenarios that show a violation or the worst value by themselves."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import replace
from itertools import count
from typing import Any, Final

from assignors import registry
from assignors.errors import UnknownAssignorError
from pipeline.fuzz.candidates import FuzzInput
from pipeline.fuzz.corpus import Corpus
from pipeline.review.case_runs import Reviewed
from pipeline.review.shrinking import SmallestScenario
from reports.analysis.metrics import COMPARABLE_METRICS
from reports.analysis.review.fuzzing import FoundViolation, ScenarioSize, WorstCase
from reports.analysis.review.outcomes import InvariantViolation
from reports.analysis.stored.invariant_case import InvariantCase
from reports.analysis.text import printable
from scenarios.suite.documents import Document
from scenarios.suite.standard import own_cases
from simulator.results.run_metrics import MetricUnit

_VARIABLE: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+")
_WHOLE_UNITS: Final = (MetricUnit.MS, MetricUnit.BYTES, MetricUnit.BYTES_PER_S)


class FoundCases:
    """Stores what a search finds."""

    def __init__(self, corpus: Corpus, reviewed: Reviewed, seed: int) -> None:
        self._corpus = corpus
        self._reviewed = reviewed
        self._seed = seed

    def load_input(self, name: str) -> FuzzInput:
        """Return a stored case as an input."""
        assert self._corpus.folder is not None
        case = own_cases([self._corpus.folder / name])[0]
        assert case.document is not None
        document = {key: value for key, value in case.document.items() if key not in ("seeds", "expect")}
        return FuzzInput(0, case.seed, document)

    def add_violation(
        self, found: FuzzInput, violation: InvariantViolation, small: SmallestScenario | None, isolate: bool
    ) -> FoundViolation:
        """Store a violation.

        `small`: the smallest scenario with it; None if it does not recur, in which case nothing is stored. `isolate`
        says whether the assignor needs a process of its own. Returns the violation, with its file.
        """
        invariant = violation.invariant
        if small is None:  # It does not recur: a stored case would prove nothing.
            return FoundViolation(invariant, violation.message, found.number, found.seed, None, None, is_new=True)
        stem = self._free_stem(invariant.replace("_", "-"))
        case = replace(
            self._case(found, isolate=isolate),
            invariants={invariant: printable(small.message)},
            signature=signature_of(violation),
        )
        comment = (
            f"{printable(self._reviewed.label)} violates the invariant {invariant}:\n  {printable(small.message)}\n"
            f"{self._origin(found)}"
        )
        document = self._document(small.document, stem, found.seed)
        file = self._corpus.add_case(stem, document, comment + self._command(stem), case)
        size = ScenarioSize(small.clients, small.tasks, small.events)
        return FoundViolation(invariant, small.message, found.number, found.seed, size, file, is_new=True)

    def add_worst(self, found: FuzzInput, document: Document, worst: WorstCase, value: float) -> str | None:
        """Store the worst case in place of an earlier one.

        `value`: the value of its metric, in the metric's unit. Returns its file; None if the corpus has no folder.
        """
        metric, name = worst.metric, worst_case_name(worst.metric)
        stem = name.removesuffix(".yaml")
        limit = _limit(metric, value)
        limited = {**self._document(document, stem, found.seed), "expect": {metric: f"<= {limit}"}}
        case = replace(self._case(found), metric=metric, value=worst.value)
        comment = (
            f"{printable(self._reviewed.label)}: the highest {COMPARABLE_METRICS[metric].title} that was found.\n"
            f"{self._origin(found)}"
        )
        return self._corpus.add_case(stem, limited, comment + self._command(stem), case)

    def is_same(self, stored: InvariantCase, found: FuzzInput, value: float) -> bool:
        """Return whether the stored worst case was shrunk from an input and has reached its value."""
        origin = self._case(found)
        return (stored.assignor, stored.found) == (origin.assignor, origin.found) and (stored.value or 0.0) >= value

    def _free_stem(self, first: str) -> str:
        """Return a file name without suffix that no stored case has."""
        stems = (f"{first}-{number}" if number > 1 else first for number in count(1))
        return next(stem for stem in stems if f"{stem}.yaml" not in self._corpus.stored)

    def _case(self, found: FuzzInput, *, isolate: bool = False) -> InvariantCase:
        timeout_s = self._reviewed.limits.timeout_s
        return InvariantCase(
            assignor=self._reviewed.name,
            found={"seed": self._seed, "case": found.number},
            timeout_s=None if math.isinf(timeout_s) else timeout_s,
            isolate=isolate or self._reviewed.limits.isolate,
        )

    def _origin(self, found: FuzzInput) -> str:
        return f"Found by assignor-sim fuzz --seed {self._seed}, case {found.number}. To see it again:\n"

    def _command(self, stem: str) -> str:
        own = "" if self._is_built_in else f" --assignor {shlex.quote(printable(self._reviewed.name))}"
        return f"  assignor-sim verify {stem}.yaml{own}"

    @property
    def _is_built_in(self) -> bool:
        assignor = self._reviewed.assignor
        return isinstance(assignor, str) and is_built_in_name(assignor)

    def _document(self, document: Document, name: str, seed: int) -> Document:
        """Return a scenario that runs by itself: with seed, configs and, if a file may name it, the assignor."""
        application = document["application"]
        configs = {**application.get("configs", {}), **self._reviewed.configs}
        whole = {**document, "name": name, "application": {**application, **({"configs": configs} if configs else {})}}
        if self._is_built_in:
            whole["assignors"] = [self._reviewed.assignor]
        return {**whole, "seeds": [seed]}


def worst_case_name(metric: str) -> str:
    """Return the file name of the worst case by a metric."""
    return f"worst-{metric.replace('_', '-')}.yaml"


def signature_of(violation: InvariantViolation) -> str:
    """Return what violations of the same kind have in common: for failures, the message without numbers and ids."""
    if violation.invariant != "valid":
        return violation.invariant
    return _VARIABLE.sub("#", violation.message.removeprefix("with other process ids: "))[:200]


def size_of(document: Document) -> ScenarioSize:
    """Return the size of a scenario of a search, in which clients are listed one by one."""
    stores: dict[str, Any] = {topic["name"]: topic["partitions"] for topic in document["cluster"]["topics"]}
    tasks = sum(max(stores[source] for source in one["sources"]) for one in document["application"]["subtopologies"])
    return ScenarioSize(len(document["clients"]), tasks, len(document.get("events", ())))


def _limit(metric: str, value: float) -> str:
    """Return a value as a condition of a scenario reads it, rounded up."""
    if COMPARABLE_METRICS[metric].unit in _WHOLE_UNITS:
        return str(math.ceil(value))
    rounded = math.ceil(value * 1e6) / 1e6
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:.6f}"


def is_built_in_name(name: str) -> bool:
    """Return whether a scenario file may name an assignor."""
    try:
        registry.find(name)
    except UnknownAssignorError:
        return False
    return True
