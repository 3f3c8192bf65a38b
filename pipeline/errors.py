"""The error of commands that need Spark."""

from __future__ import annotations


class SparkError(Exception):
    """Spark does not start, or a job fails."""
