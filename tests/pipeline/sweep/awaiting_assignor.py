"""An assignor whose runs of a large application take until a file exists: as costly as a test wants."""

from __future__ import annotations

import os
import time
from pathlib import Path

import assignor_sim as sim

FILE = "AWAITED_FILE"
"""Environment variable of the workers with the path of the file."""

LARGE = 100
"""Number of tasks from which an application is large."""


class Awaiting:
    """Kafka's default assignor, after the file exists."""

    def assign(self, state: sim.ApplicationState) -> sim.TaskAssignment:
        if len(state.tasks) >= LARGE:
            awaited = Path(os.environ[FILE])
            # A test that fails removes the folder.
            while not awaited.exists() and awaited.parent.exists():
                time.sleep(0.05)
        return sim.HighAvailability().assign(state)
