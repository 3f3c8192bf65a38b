"""How much commands print to standard error, by the options `-q` and `-v`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Verbosity:
    """How much is printed.

    Attributes:
        quiet: whether warnings and notes are left out; errors are always printed.
        verbose: whether each step is printed.
    """

    quiet: bool = False
    verbose: bool = False


VERBOSITY = Verbosity()
"""The verbosity of this process, set once by the options of the command line."""


def set_verbosity(*, quiet: bool, verbose: bool) -> None:
    """Set how much is printed."""
    VERBOSITY.quiet, VERBOSITY.verbose = quiet, verbose
