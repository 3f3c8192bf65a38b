"""The -1 sentinels of the simulator's arrays, besides `UNASSIGNED` (no client) and `NO_RACK` of the assignors."""

from __future__ import annotations

from typing import Final

NO_BROKER: Final = -1
"""Row that means no broker."""
NO_COPY: Final = -1
"""Lag that means no copy of the task on the client."""
