"""A change that the figures of a run suggest to try."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NextStep:
    """A change to try.

    Attributes:
        change: the change, in words.
        reason: the figure that suggests it.
        overrides: the same change as paths and values, as in `--set`; empty if it depends on the scenario.
    """

    change: str
    reason: str
    overrides: tuple[tuple[str, str], ...] = ()

    @property
    def sentence(self) -> str:
        """The step as a sentence, without options."""
        return f"Try {self.change}: {self.reason}."

    @property
    def options(self) -> str:
        """The options of the command line in one line, quoted for a shell; empty without overrides."""
        return " ".join(f"--set {shlex.quote(f'{path}={value}')}" for path, value in self.overrides)
