"""Checks of the parameters of assignors."""

from __future__ import annotations


def check_count(name: str, value: object) -> None:
    """Check that a parameter is a whole number that is not negative.

    Raises:
        ValueError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a whole number, 0 or more, not {value!r}")
