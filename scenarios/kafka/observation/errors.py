"""The error of whoever looks at a cluster or at what its tools printed."""

from __future__ import annotations


class ObservationError(ValueError):
    """Something needed was not to be seen; the message says what, and what to do about it."""
