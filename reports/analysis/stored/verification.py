"""The result of verifying the stored results of one scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reports.analysis.expectations import ExpectationResult, summarize
from reports.analysis.stored.changes import InputChanges, ResultChange
from reports.analysis.stored.invariant_case import InvariantCheck
from reports.analysis.text import printable
from simulator.plurals import counted


class VerificationStatus(StrEnum):
    """Whether a scenario still has its stored results.

    Attributes:
        SAME: the current results are the stored ones.
        MET: the scenario has no stored results; its expectations are met, and its invariants hold.
        CHANGED: the current results differ from the stored ones.
        UNMET: expectations of the scenario are not met, or cannot be checked, or invariants are violated; the results
            may differ, too.
        UNREADABLE: the scenario could not be read or run, or its stored results could not be read.
        NOT_STORED: the scenario has no stored results.
    """

    SAME = "same"
    MET = "met"
    CHANGED = "changed"
    UNMET = "not met"
    UNREADABLE = "error"
    NOT_STORED = "not stored"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying one scenario.

    Attributes:
        file: file of the scenario.
        status: whether the current results are the stored ones.
        changes: differences from the stored results.
        causes: changes of scenario, model and versions since the results were stored; None without stored results.
        error: why it could not be verified; empty if it could.
        runs: assignor and seed of each compared run.
        seconds: duration of the verification.
        expectations: the expectations of the scenario, checked.
        invariants: the invariants of a case that fuzzing found, checked.
    """

    file: str
    status: VerificationStatus
    changes: Sequence[ResultChange] = ()
    causes: InputChanges | None = None
    error: str = ""
    runs: Sequence[tuple[str, int]] = ()
    seconds: float = 0.0
    expectations: Sequence[ExpectationResult] = ()
    invariants: Sequence[InvariantCheck] = ()

    @property
    def passes(self) -> bool:
        """Whether the results are the stored ones, if there are any, and meet the expectations."""
        return self.status in (VerificationStatus.SAME, VerificationStatus.MET)

    @property
    def unmet(self) -> list[ExpectationResult | InvariantCheck]:
        """The expectations that are not met or could not be checked, and the violated invariants."""
        checks: list[ExpectationResult | InvariantCheck] = [*self.expectations, *self.invariants]
        return [check for check in checks if not check.is_met]

    @property
    def headline(self) -> str:
        """The result in one line."""
        match self.status:
            case VerificationStatus.SAME:
                has_changes = self.causes is not None and self.causes.kind != "other"
                expected = f", {self._checks}" if self._checks else ""
                return f"as stored{expected}" + (f", although {self.causes}" if has_changes else "")
            case VerificationStatus.MET:
                return f"{self._checks}; no stored results"
            case VerificationStatus.CHANGED:
                return self._differences
            case VerificationStatus.UNMET:
                if self.causes is None:
                    stored = "no stored results"
                else:
                    stored = self._differences if self.changes else "results as stored"
                return f"{self._checks}; {stored}"
            case VerificationStatus.NOT_STORED:
                return f"no stored results; run assignor-sim record {printable(self.file)}"
            case VerificationStatus.UNREADABLE:
                return self.error

    @property
    def _checks(self) -> str:
        """The numbers of met expectations and of violated invariants."""
        parts = [f"expectations: {summarize(self.expectations)}"] if self.expectations else []
        if self.invariants:
            violated = sum(not check.is_met for check in self.invariants)
            counts = ((len(self.invariants) - violated, "held"), (violated, "violated"))
            parts.append("invariants: " + ", ".join(f"{count} {word}" for count, word in counts if count))
        return "; ".join(parts)

    @property
    def _differences(self) -> str:
        return f"{counted(len(self.changes), 'difference')}; {self.causes}"
