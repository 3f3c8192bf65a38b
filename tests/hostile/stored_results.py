"""Changed stored results, read as `verify` reads them."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import assignor_sim as sim
from reports.analysis.stored.results import StoredResultsError, read_stored
from reports.analysis.stored.verification import Verification, VerificationStatus, compare_origins, compare_results
from reports.render.verification import junit, render
from tests.assignor_sim.conftest import SMALL
from tests.hostile.mutations import changed_json, damaged_bytes

FILE = "small.expected.json"


@functools.cache
def stored() -> str:
    """Return the stored results of a small scenario."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="assignor-sim-hostile-") as folder:
        scenario = Path(folder, "small.yaml")
        scenario.write_text(SMALL, encoding="utf-8")
        sim.record(scenario)
        return Path(folder, FILE).read_text(encoding="utf-8")


def stored_failure(rng: random.Random) -> str | None:
    """Change stored results, compare current ones with them, and render the differences; return what is wrong."""
    is_json = rng.random() < 0.9
    text = changed_json(rng, stored()) if is_json else damaged_bytes(rng, stored().encode()).decode(errors="replace")
    try:
        before = read_stored(text, FILE)
    except StoredResultsError as error:
        return None if str(error).startswith(FILE) else f"not located: {error}"
    now = read_stored(stored(), FILE)
    changes = compare_results(before, now)
    status = VerificationStatus.CHANGED if changes else VerificationStatus.SAME
    origins = compare_origins(before.origin, now.origin)
    verification = Verification("small.yaml", status, changes, origins, runs=list(now.runs))
    for format_ in ("text", "json", "markdown", "github"):
        render([verification], format_).encode()
    junit([verification])
    return None
