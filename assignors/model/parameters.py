"""What the parameters of an assignor may be."""

from __future__ import annotations


def check_count(name: str, value: object) -> None:
    """Refuse what is not a count.

    Raises:
        ValueError: it is not a whole number, or less than 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} is a whole number, 0 at least, not {value!r}")
