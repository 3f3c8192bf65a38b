"""What can be wrong with what the pipeline is asked for."""

from __future__ import annotations


class SweepError(Exception):
    """A sweep that cannot be made, or not be written where it should be; says why, and what would be right."""
