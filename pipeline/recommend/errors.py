"""Errors of recommendations."""

from __future__ import annotations


class RecommendError(ValueError):
    """The request for a recommendation is invalid."""
