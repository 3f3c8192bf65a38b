"""Make the tables of docs/development/performance.md from the measurements of `make bench`.

python -m tools.performance_page out/bench.json            prints them
python -m tools.performance_page out/bench.json --write    writes them into the page
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

Json = dict[str, Any]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "development" / "performance.md"
MARK = "<!-- Below: made by `make performance`. -->\n"
MISSING = "–"
"""Cell of a value that was not measured."""
PREDICTED = ("test_an_assignment", "test_a_fresh_application", "test_a_large_application")


def report(bench: Json) -> str:
    """Return all tables, one section each; tables without measurements are omitted."""
    sections = [
        ("Where", _machine(bench)),
        ("Assignments", _table(ASSIGNMENT_HEAD, map(_assignment, _measurements_of(bench, "test_an_assignment")))),
        ("Parts", _table(PART_HEAD, map(_part, _measurements_with(bench, "goal_ms")))),
        ("Scenarios", _table(("what", "here"), map(_scenario, _measurements_of(bench, "test_loading", "test_a_run")))),
        ("A day of bounces and churn", _days(bench)),
        ("Predicted time on a group leader", _predictions(bench)),
    ]
    return "\n".join(f"## {title}\n\n{body}" for title, body in sections if body)


def _machine(bench: Json) -> str:
    machine, kafkas = bench["machine_info"], [row["extra_info"]["kafka"] for row in _measurements_with(bench, "kafka")]
    cpu = machine["cpu"]
    facts = [
        f"{cpu.get('brand_raw', machine['machine'])}, {cpu['count']} cores, {machine['system']}",
        f"{machine['python_implementation']} {machine['python_version']}",
        *sorted({f"Kafka {kafka['version']} on {kafka['java']}" for kafka in kafkas}),
        bench["datetime"][:10],
    ]
    return "".join(f"- {fact}\n" for fact in facts)


ASSIGNMENT_HEAD = ("assignor, shape", "here", "peak memory", "Kafka", "Kafka / here", "compared")


def _assignment(row: Json) -> Sequence[str]:
    extra, ours_ms = row["extra_info"], _median_ms(row)
    kafka = extra.get("kafka")
    theirs, ratio = (MISSING, MISSING) if kafka is None else (_kafkas_time(kafka), _ratio(kafka, ours_ms))
    compared = "identical" if extra["compared"] else MISSING
    return _shape(row["param"]), _time(ours_ms), _memory(extra["peak_bytes"]), theirs, ratio, compared


def _ratio(kafka: Json, ours_ms: float) -> str:
    if kafka["median_ms"] is None:
        return f"over {_rounded(kafka['stopped_after_s'] * 1000 / ours_ms)}"
    return _rounded(kafka["median_ms"] / ours_ms)


def _shape(name: str) -> str:
    """Return the readable name of a problem."""
    kind, assignor, size, *rest = name.split("-")
    if kind == "scale":
        return f"`{assignor}` {size}, {rest[0]} round"
    tasks, clients = map(int, size.split("x"))
    return f"`{assignor}` {tasks:,} × {clients:,}, {rest[-1]}"


PART_HEAD = ("what", "here", "goal", "peak memory", "goal", "reached")


def _part(row: Json) -> Sequence[str]:
    extra, ours_ms = row["extra_info"], _median_ms(row)
    goal_bytes, peak = extra.get("goal_bytes"), extra["peak_bytes"]
    reached = ours_ms <= extra["goal_ms"] and (None in (goal_bytes, peak) or peak <= goal_bytes)
    goals = _time(extra["goal_ms"]), _memory(goal_bytes)
    return extra["what"], _time(ours_ms), goals[0], _memory(peak), goals[1], "yes" if reached else "no"


def _scenario(row: Json) -> Sequence[str]:
    what = "order_processing, loading" if row["param"] is None else f"order_processing, a run with {row['param']}"
    return what, _time(_median_ms(row))


def _days(bench: Json) -> str:
    """Return the run time of a simulated day, and the share of each part."""
    days = list(_measurements_with(bench, "day_goal_s"))
    if not days:
        return ""
    head = ("what", "rebalances", "here", "goal")
    rows = (_day(row) for row in days)
    parts = (
        (part, *(f"{row['extra_info']['shares'][part]:.0%}" for row in days))
        for part in days[0]["extra_info"]["shares"]
    )
    shares = _table(("of the time", *(row["extra_info"]["what"] for row in days)), parts)
    return f"{_table(head, rows)}\n{shares}"


def _day(row: Json) -> Sequence[str]:
    extra = row["extra_info"]
    return extra["what"], f"{extra['rebalances']:,}", _time(_median_ms(row)), _time(extra["day_goal_s"] * 1000)


PREDICTION_HEAD = ("problem", "edges", "edge scans", "predicted", "Kafka", "per scan", "Kafka / predicted", "error")


def _predictions(bench: Json) -> str:
    """Return predicted and measured run times, and the error after correcting for this machine's speed."""
    predicted = [
        row for row in _measurements_of(bench, *PREDICTED) if {"predicted_ms", "kafka"} <= row["extra_info"].keys()
    ]
    ratios = [ratio for row in predicted if (ratio := _measured_to_predicted(row)) is not None]
    if not ratios:
        return ""
    median_ratio = median(ratios)
    errors = [abs(ratio / median_ratio - 1) for ratio in ratios]
    return _table(PREDICTION_HEAD, (_prediction(row, median_ratio) for row in predicted)) + (
        f"\nThe median of Kafka / predicted is {median_ratio:.2f}: this machine is slower than the one of the\n"
        f"prediction by that factor. *Error* is what remains: median {median(errors):.0%}, maximum {max(errors):.0%}.\n"
    )


def _prediction(row: Json, median_ratio: float) -> Sequence[str]:
    extra, ratio = row["extra_info"], _measured_to_predicted(row)
    what = extra["what"] if "what" in extra else _shape(row["param"])
    cells = (what, f"{extra['edges']:,}", f"{extra['edge_scans'] / 1e6:,.0f} million", _time(extra["predicted_ms"]))
    if ratio is None:
        return *cells, _kafkas_time(extra["kafka"]), MISSING, MISSING, MISSING
    scan_ns = extra["kafka"]["median_ms"] * 1e6 / extra["edge_scans"]
    return *cells, _kafkas_time(extra["kafka"]), f"{scan_ns:.1f} ns", f"{ratio:.2f}", f"{ratio / median_ratio - 1:+.0%}"


def _measured_to_predicted(row: Json) -> float | None:
    """Return Kafka's run time divided by the predicted one; None if Kafka was stopped."""
    measured_ms, predicted_ms = row["extra_info"]["kafka"]["median_ms"], row["extra_info"]["predicted_ms"]
    return None if measured_ms is None else float(measured_ms / predicted_ms)


def _kafkas_time(kafka: Json) -> str:
    measured_ms = kafka["median_ms"]
    return f"over {kafka['stopped_after_s']:g} s" if measured_ms is None else _time(measured_ms)


def _measurements_of(bench: Json, *tests: str) -> Iterator[Json]:
    """Return the measurements of tests, sorted by name with numbers in numeric order."""
    rows = [row for row in bench["benchmarks"] if row["name"].partition("[")[0] in tests]
    return iter(sorted(rows, key=lambda row: [part.zfill(9) for part in re.split(r"(\d+)", row["name"])]))


def _measurements_with(bench: Json, key: str) -> Iterator[Json]:
    """Return the measurements that have this extra information."""
    return (row for row in bench["benchmarks"] if key in row["extra_info"])


def _median_ms(row: Json) -> float:
    return float(row["stats"]["median"]) * 1000


def _time(ms: float) -> str:
    """Return a time with three digits in a readable unit."""
    for unit, size, limit in (("ms", 1, 1_000), ("s", 1_000, 600), ("min", 60_000, 120)):
        if ms < limit * size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms / 3_600_000:,.0f} h"


def _memory(size: int | None) -> str:
    return MISSING if size is None else f"{size / 1e6:,.0f} MB"


def _rounded(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns; empty without rows."""
    lines = [head, *rows]
    if len(lines) == 1:
        return ""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "".join(f"| {' | '.join(map(str.ljust, line, widths))} |\n" for line in lines)


def write_page(bench: Json, page: Path = PAGE) -> None:
    """Replace the generated part of the page by the tables."""
    text_above = page.read_text(encoding="utf-8").partition(MARK)[0]
    page.write_text(f"{text_above}{MARK}\n{report(bench)}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.performance_page",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("bench", type=Path, help="JSON file of pytest-benchmark")
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args(arguments)
    bench = json.loads(options.bench.read_text(encoding="utf-8"))
    if options.write:
        write_page(bench)
    else:
        print(report(bench))
    return 0


if __name__ == "__main__":
    sys.exit(main())
