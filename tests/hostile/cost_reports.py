"""Damaged cost reports of providers."""

from __future__ import annotations

import json
import random
import time
import traceback
from pathlib import Path
from typing import Any, Final

from reports.analysis.bill.cost_report import CostReportError, LineFilter, read_cost_report
from tests.hostile.mutations import HOSTILE_TEXTS, HOSTILE_VALUES, change_parquet, damaged_bytes, damaged_text
from tests.reports.analysis.bill.report_files import cur_line, focus_line, write_report

_TIME_LIMIT_S: Final = 5.0
_NAMES: Final = ("cur.csv", "cur.csv.gz", "cur.parquet")
_VALUES: Final = (
    *("2026-13-01", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "20261001", "Usage", "EUR", "GBs", "MB"),
    *("[1]", "[[1, 2, 3]]", '{"a": {}}', "{", "inf", "-0", "1,5", "DataTransfer-Regional-Bytes", "InterZone-In"),
)


def cost_report_failure(rng: random.Random, folder: Path) -> str | None:
    """Change a cost report and read it; return what is wrong, or None."""
    line = rng.choice((cur_line, focus_line))
    rows: list[dict[str, Any]] = [line(), line("2026-10-02", 5, "InterZone-In"), line(operation="")]
    name = rng.choice(_NAMES)
    if not name.endswith(".parquet"):
        for _ in range(rng.randrange(3)):
            row = rng.choice(rows)
            value = rng.choice((*HOSTILE_TEXTS, *_VALUES, *HOSTILE_VALUES))
            text = value if isinstance(value, str) else json.dumps(value)
            row[rng.choice(list(row))] = text.encode(errors="replace").decode()
    file = write_report(folder / name, rows)
    _damage(rng, file)
    chosen = LineFilter(("i-*",) * rng.randrange(2), (("app", "kafka"),) * rng.randrange(2))
    started = time.perf_counter()
    try:
        read_cost_report(file, chosen)
    except CostReportError as error:
        if not str(error).startswith(str(file)) or "\x1b" in str(error):
            return f"without its place: {str(error)!r}"
    except Exception:
        return f"{file.read_bytes()[:1500]!r}\n{traceback.format_exc()}"
    seconds = time.perf_counter() - started
    return f"{seconds:.0f} s: {file.read_bytes()[:300]!r}" if seconds > _TIME_LIMIT_S else None


def _damage(rng: random.Random, file: Path) -> None:
    if rng.random() < 0.4:
        return
    if file.suffix == ".parquet":
        change_parquet(rng, file)
    elif file.suffix == ".gz" or rng.random() < 0.2:
        file.write_bytes(damaged_bytes(rng, file.read_bytes()))
    else:
        file.write_text(damaged_text(rng, file.read_text(encoding="utf-8")), encoding="utf-8", errors="replace")
