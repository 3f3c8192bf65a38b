"""The version of the simulation model, which stored results name."""

from __future__ import annotations

from typing import Final

MODEL_VERSION: Final = 13
"""Raise it by one with every change that changes the results of an existing scenario on purpose.

Verification of stored results then reports that the model changed, not the scenario or the assignor.
"""
