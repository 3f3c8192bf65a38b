"""What can be wrong with what is asked of a recommendation."""

from __future__ import annotations


class RecommendError(ValueError):
    """Nothing can be recommended as it is asked for; says why, and what would be right."""
