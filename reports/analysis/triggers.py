"""The triggers of rebalances as text for readers; tables and stored results keep the short form."""

from __future__ import annotations

from reports.analysis.text import printable

_TITLES = {"follow-up": "follow-up requested by the assignor"}
"""Full form of a trigger, by its form in the table `rounds`."""


def trigger_text(reason: str) -> str:
    """Return what triggered a rebalance, as in `pod-1 joined`; several triggers are separated by commas."""
    return printable(", ".join(_TITLES.get(part, part) for part in reason.split(", ")))
