"""The -1 sentinels of the simulator's arrays, besides `UNASSIGNED` (no client) and `NO_RACK` of the assignors."""

from __future__ import annotations

from typing import Final

NO_BROKER: Final = -1
"""Row of a broker: none."""
NO_COPY: Final = -1
"""Lag of a client that has no copy of a task."""
