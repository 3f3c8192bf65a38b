"""Exit codes of the commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

DIFFERENT = 1
"""A difference or regression, or no feasible result."""

BAD_INPUT = 2
"""Invalid input, or failed runs."""

INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT, as shells report it."""


@contextmanager
def exit_on_error(*kinds: type[Exception]) -> Iterator[None]:
    """Print exceptions of the given kinds to standard error and exit with code 2."""
    try:
        yield
    except kinds as error:
        print(error, file=sys.stderr)
        sys.exit(BAD_INPUT)
