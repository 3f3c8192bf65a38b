"""The result of verifying the stored results of one scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from reports.analysis.stored.changes import InputChanges, ResultChange
from reports.analysis.text import printable


class VerificationStatus(StrEnum):
    """Whether a scenario still has its stored results.

    Attributes:
        SAME: the current results are the stored ones.
        CHANGED: the current results differ from the stored ones.
        UNREADABLE: the scenario could not be read or run, or its stored results could not be read.
        NOT_STORED: the scenario has no stored results.
    """

    SAME = "same"
    CHANGED = "changed"
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
    """

    file: str
    status: VerificationStatus
    changes: Sequence[ResultChange] = ()
    causes: InputChanges | None = None
    error: str = ""
    runs: Sequence[tuple[str, int]] = ()
    seconds: float = 0.0

    @property
    def headline(self) -> str:
        """The result in one line."""
        match self.status:
            case VerificationStatus.SAME:
                has_changes = self.causes is not None and self.causes.kind != "other"
                return "as stored" + (f", although {self.causes}" if has_changes else "")
            case VerificationStatus.CHANGED:
                count = len(self.changes)
                return f"{count} difference{'s' if count > 1 else ''}; {self.causes}"
            case VerificationStatus.NOT_STORED:
                return f"no stored results; run assignor-sim record {printable(self.file)}"
            case VerificationStatus.UNREADABLE:
                return self.error
