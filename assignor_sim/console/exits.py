"""How a command ends when the user made a mistake."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

BAD_INPUT = 2
DIFFERENT = 1
INTERRUPTED = 130


@contextmanager
def exit_on_error(*kinds: type[Exception]) -> Iterator[None]:
    """Turn exceptions of these kinds into a message on standard error and exit code 2."""
    try:
        yield
    except kinds as error:
        print(error, file=sys.stderr)
        sys.exit(BAD_INPUT)
