"""Errors of sweeps."""

from __future__ import annotations


class SweepError(Exception):
    """A sweep cannot run, or its output folder cannot be used."""
