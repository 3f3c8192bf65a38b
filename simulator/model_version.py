"""Which model this is: what stored results are told apart by."""

from __future__ import annotations

from typing import Final

MODEL_VERSION: Final = 4
"""Goes up by one whenever the same scenario is meant to come to other results than before.

Whoever verifies stored results then learns that it was the model that changed, not their scenario or their assignor.
"""
