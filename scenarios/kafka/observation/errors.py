"""The error of cluster observations."""

from __future__ import annotations


class ObservationError(ValueError):
    """Required information could not be observed; the message says what is missing and how to provide it."""
