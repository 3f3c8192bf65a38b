"""When a group coordinator computed targets of a streams group, as the brokers logged it.

Source: `GroupMetadataManager.maybeUpdateStreamsTargetAssignment`, Kafka 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

_TIME = r"^(\d{4}-\d\d-\d\d [\d:]{8}\.\d{3})"
_COMPUTED = "Computed a new target assignment for epoch"


def computed_at_ms(logs: Iterable[str], group: str) -> list[int]:
    """When the targets of a group were computed, in milliseconds of the epoch, whichever broker did it."""
    pattern = re.compile(rf"{_TIME} .*\[GroupId {re.escape(group)}\] {_COMPUTED}", re.MULTILINE)
    times = [datetime.fromisoformat(match[1]) for log in logs for match in pattern.finditer(log)]
    return sorted(round(time.timestamp() * 1000) for time in times)
