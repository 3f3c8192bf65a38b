"""Times at which a group coordinator computed target assignments of a streams group, from broker logs.

Source: `GroupMetadataManager.maybeUpdateStreamsTargetAssignment`, Kafka 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

_TIME = r"^(\d{4}-\d\d-\d\d [\d:]{8}\.\d{3})"
_COMPUTED = "Computed a new target assignment for epoch"


def target_assignment_times_ms(logs: Iterable[str], group: str) -> list[int]:
    """Return the times at which targets of a group were computed, in ms since 1970, from the logs of all brokers."""
    pattern = re.compile(rf"{_TIME} .*\[GroupId {re.escape(group)}\] {_COMPUTED}", re.MULTILINE)
    times = [datetime.fromisoformat(match[1]) for log in logs for match in pattern.finditer(log)]
    return sorted(round(time.timestamp() * 1000) for time in times)
