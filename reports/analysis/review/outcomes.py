"""What the runs of a review yield; plain data, which processes exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

INVARIANTS: Final[dict[str, str]] = {
    "valid": "Returns an assignment that Kafka accepts, without exception and in time.",
    "pure": "Does not change the state.",
    "complete": "Makes every task active on exactly one client.",
    "deterministic": "Same state, same assignment, whatever it was called with before.",
    "order_independent": "The order in which clients and tasks are listed does not matter.",
    "idempotent": "A final assignment stays the same in a rebalance without any change.",
    "no_oscillation": "In rebalances without any change, no assignment returns after another one.",
    "converges": "Rebalances without any change end.",
}
"""The invariants of every assignor (`assignors.contract`), by key."""

FAILURES: Final = ("valid", "pure", "deterministic")
"""Invariants without which a run says nothing: their violation is a failure, also if the baseline violates them."""


@dataclass(frozen=True, slots=True)
class InvariantViolation:
    """A violation of an invariant.

    Attributes:
        invariant: key of the invariant.
        message: what the assignor did.
    """

    invariant: str
    message: str


@dataclass(frozen=True, slots=True)
class OptimumGap:
    """The KIP-925 cost of the assignment on which a run settles, and the lowest cost of an assignment as balanced.

    Attributes:
        cost: cost of the assignment.
        bound: the optimum if it is proven, else a lower bound of it.
        is_proven: whether the bound is the optimum.
    """

    cost: int
    bound: int
    is_proven: bool

    @property
    def above(self) -> int:
        """Cost above the bound."""
        return self.cost - self.bound

    @property
    def is_optimal(self) -> bool:
        """Whether no assignment that is as balanced costs less."""
        return self.cost == self.bound


@dataclass(frozen=True, slots=True)
class AssignorOutcome:
    """One assignor in one case.

    Attributes:
        metrics: the metrics that are known, by key; empty if the run failed.
        failure: why the run failed; None if it did not.
        checked_states: number of states on which the invariants were checked.
        nanos: measured durations of single calls, after a first call that does not count.
        rebalances: number of rebalances of the run.
        gap: cost above the optimum in the deciding round; None if racks are unknown, or the run has no result.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    failure: str | None = None
    violations: tuple[InvariantViolation, ...] = ()
    checked_states: int = 0
    nanos: tuple[int, ...] = ()
    rebalances: int = 0
    gap: OptimumGap | None = None

    def violates(self, invariant: str) -> bool:
        """Return whether an invariant was violated."""
        return any(violation.invariant == invariant for violation in self.violations)


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """Both assignors in one case.

    Attributes:
        family: the family of the case.
        case: its name.
        base: the baseline; None if the case was skipped.
        head: the assignor under review; None if the case was skipped.
        skipped: why it was skipped; None if it was not.
    """

    family: str
    case: str
    seed: int
    base: AssignorOutcome | None = None
    head: AssignorOutcome | None = None
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class ShrunkScenario:
    """The smallest scenario found in which an assignor violates an invariant.

    Attributes:
        invariant: key of the invariant.
        message: what the assignor does in it.
        family: the family of the case from which it was shrunk.
        case: the name of that case.
        seed: seed of the run.
        text: the scenario as YAML.
        runs: runs that shrinking took.
    """

    invariant: str
    message: str
    family: str
    case: str
    seed: int
    text: str
    clients: int
    tasks: int
    events: int
    runs: int

    @property
    def file(self) -> str:
        """Its file name in the results."""
        return f"{self.invariant}.yaml"
