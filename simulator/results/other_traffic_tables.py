"""The table of the traffic of other producers and consumer groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.results.table_schema import RUN_KEY, table_schema
from simulator.results.trace import Trace

OTHER_TRAFFIC = table_schema(
    "One row per part of the traffic of other producers and consumer groups (other_traffic), topic and pair of racks; "
    "empty without any.",
    *RUN_KEY,
    ("kind", pa.string(), "produce, produce_replication or other_read, as in traffic"),
    ("name", pa.string(), "name of the producer or group; null for replication"),
    ("topic", pa.string(), "name of the topic"),
    ("from_rack", pa.string(), "rack of the sender, null if it has none"),
    ("to_rack", pa.string(), "rack of the receiver, null if it has none"),
    ("bytes", pa.float64(), "bytes in the whole run"),
)


def other_traffic_columns(trace: Trace) -> Mapping[str, Any]:
    """Return the columns of the table besides the key of the run."""
    if trace.other_traffic is None:
        return {field.name: [] for field in OTHER_TRAFFIC}
    flows, matrices, racks = trace.other_traffic.flows, trace.other_traffic.matrices, [*trace.layout.racks, None]
    cells = np.argwhere(matrices > 0).tolist()
    return {
        "kind": [str(flows[flow].kind) for flow, _, _ in cells],
        "name": [flows[flow].name for flow, _, _ in cells],
        "topic": [flows[flow].topic for flow, _, _ in cells],
        "from_rack": [racks[source] for _, source, _ in cells],
        "to_rack": [racks[target] for _, _, target in cells],
        "bytes": [float(matrices[flow, source, target]) for flow, source, target in cells],
    }
