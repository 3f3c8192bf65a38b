"""Cost reports for tests: lines of AWS CUR 2.0, of the legacy report and of FOCUS, in every type of file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Line = dict[str, Any]


def cur_line(
    day: str = "2026-10-01", gigabytes: float = 100.0, operation: str = "InterZone-Out", **changes: Any
) -> Line:
    """Return a line of CUR 2.0."""
    return {
        "line_item_usage_type": "USE1-DataTransfer-Regional-Bytes",
        "line_item_operation": operation,
        "line_item_line_item_type": "Usage",
        "line_item_usage_start_date": f"{day}T00:00:00.000Z",
        "line_item_usage_amount": gigabytes,
        "pricing_unit": "GB",
        "line_item_unblended_cost": gigabytes / 100,
        "line_item_currency_code": "USD",
        "line_item_resource_id": "i-0abc",
        "resource_tags": json.dumps({"user_app": "kafka"}),
        **changes,
    }


def focus_line(
    day: str = "2026-10-01", gigabytes: float = 100.0, operation: str = "InterZone-Out", **changes: Any
) -> Line:
    """Return a line of FOCUS 1.2 with AWS columns."""
    return {
        "x_UsageType": "USE1-DataTransfer-Regional-Bytes",
        "x_Operation": operation,
        "SkuMeter": "DataTransfer-Regional-Bytes",
        "ChargeDescription": "$0.010 per GB - regional data transfer",
        "ChargeCategory": "Usage",
        "ChargePeriodStart": f"{day}T00:00:00Z",
        "ChargePeriodEnd": f"{day}T01:00:00Z",
        "ConsumedQuantity": gigabytes,
        "ConsumedUnit": "GB",
        "BilledCost": gigabytes / 100,
        "BillingCurrency": "USD",
        "ResourceId": "i-0abc",
        "Tags": json.dumps({"app": "kafka"}),
        **changes,
    }


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write_report(file: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write lines to a file whose name says its type."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), file)
    elif file.suffix == ".gz":
        file.write_bytes(gzip.compress(csv_text(rows).encode(), mtime=0))
    else:
        file.write_text(csv_text(rows), encoding="utf-8")
    return file
