"""Make the tables of docs/development/performance.md from the measurements of `make bench`.

python -m tools.performance_page out/bench.json            prints them
python -m tools.performance_page out/bench.json --write    stores them in performance.json, and writes the page from it

A part of the benchmarks replaces only its own measurements.
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
DATA = PAGE.with_suffix(".json")
MARK = "<!-- Below: made by `make performance`. -->\n"
MISSING = "–"
PREDICTED = ("test_an_assignment", "test_a_fresh_application", "test_a_large_application")


def measurements(bench: Json) -> list[Json]:
    """Return what the page needs of a file of pytest-benchmark, without the name of the machine."""
    machine = bench["machine_info"]
    cpu = machine["cpu"]
    about = {
        "machine": f"{cpu.get('brand_raw', machine['machine'])}, {cpu['count']} cores, {machine['system']}",
        "python": f"{machine['python_implementation']} {machine['python_version']}",
        "date": bench["datetime"][:10],
    }
    return [
        {
            "name": row["name"],
            "param": row["param"],
            "median_ms": float(f"{row['stats']['median'] * 1000:.6g}"),
            **about,
            **row["extra_info"],
        }
        for row in bench["benchmarks"]
    ]


def report(rows: Sequence[Json]) -> str:
    """Return all tables, one section each; tables without measurements are omitted."""
    scenarios = map(_scenario, _measurements_of(rows, "test_loading", "test_a_run"))
    sections = [
        ("Where", _machines(rows)),
        ("Assignments", _table(ASSIGNMENT_HEAD, map(_assignment, _measurements_of(rows, "test_an_assignment")))),
        ("Goals", _table(GOAL_HEAD, map(_goal, _measurements_with(rows, "goal_ms")))),
        ("Scenarios", _table(("what", "here"), scenarios)),
        ("A day of bounces and churn", _days(rows)),
        ("Sweeps by Spark", _table(SWEEP_HEAD, map(_sweep, _measurements_with(rows, "pool_s")))),
        ("Predicted time on a group leader", _predictions(rows)),
    ]
    return "\n".join(f"## {title}\n\n{body}" for title, body in sections if body)


def _machines(rows: Sequence[Json]) -> str:
    """Return the machines, and the days of the measurements."""
    kafkas = {f"Kafka {row['kafka']['version']} on {row['kafka']['java']}" for row in _measurements_with(rows, "kafka")}
    facts = [*({row[key] for row in rows} for key in ("machine", "python")), kafkas, {row["date"] for row in rows}]
    return "".join(f"- {'; '.join(sorted(values))}\n" for values in facts if values)


ASSIGNMENT_HEAD = ("assignor, shape", "here", "peak memory", "Kafka", "Kafka / here", "compared")


def _assignment(row: Json) -> Sequence[str]:
    ours_ms, kafka = row["median_ms"], row.get("kafka")
    theirs, ratio = (MISSING, MISSING) if kafka is None else (_kafkas_time(kafka), _ratio(kafka, ours_ms))
    compared = "identical" if row["compared"] else MISSING
    return _shape(row["param"]), _time(ours_ms), _memory(row["peak_bytes"]), theirs, ratio, compared


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


GOAL_HEAD = ("what", "here", "goal", "peak memory", "goal", "reached", "peer")


def _goal(row: Json) -> Sequence[str]:
    goal_bytes, peak = row.get("goal_bytes"), row["peak_bytes"]
    reached = row["median_ms"] <= row["goal_ms"] and (None in (goal_bytes, peak) or peak <= goal_bytes)
    here, goal = _time(row["median_ms"]), _time(row["goal_ms"])
    peer = row.get("peer", MISSING)
    return row["what"], here, goal, _memory(peak), _memory(goal_bytes), "yes" if reached else "no", peer


SWEEP_HEAD = (
    *("runs", "pool of 2 processes", "Spark, 2 cores", "Spark, 1 core", "Spark / pool", "with Spark's start"),
    *("efficiency of 2 cores", "runs/s per core", "bytes per run"),
)


def _sweep(row: Json) -> Sequence[str]:
    spark_s, pool_s = row["median_ms"] / 1000, row["pool_s"]
    return (
        f"{row['runs']:,}",
        *(f"{seconds:.1f} s" for seconds in (pool_s, spark_s, row["one_core_s"])),
        f"{spark_s / pool_s:.2f}",
        f"{(spark_s + row['start_s']) / pool_s:.2f}",
        f"{row['one_core_s'] / (2 * spark_s):.2f}",
        f"{row['runs'] / spark_s / 2:.1f}",
        f"{row['bytes_per_run']:,.0f}",
    )


def _scenario(row: Json) -> Sequence[str]:
    what = "order_processing, loading" if row["param"] is None else f"order_processing, a run with {row['param']}"
    return what, _time(row["median_ms"])


def _days(rows: Sequence[Json]) -> str:
    """Return the run time of a simulated day, and the share of each part."""
    days = list(_measurements_with(rows, "day_goal_s"))
    if not days:
        return ""
    head = ("what", "rebalances", "here", "goal")
    parts = ((part, *(f"{row['shares'][part]:.0%}" for row in days)) for part in days[0]["shares"])
    shares = _table(("of the time", *(row["what"] for row in days)), parts)
    return f"{_table(head, map(_day, days))}\n{shares}"


def _day(row: Json) -> Sequence[str]:
    return row["what"], f"{row['rebalances']:,}", _time(row["median_ms"]), _time(row["day_goal_s"] * 1000)


PREDICTION_HEAD = ("problem", "edges", "edge scans", "predicted", "Kafka", "per scan", "Kafka / predicted", "error")


def _predictions(rows: Sequence[Json]) -> str:
    """Return predicted and measured run times, and the error after correcting for this machine's speed."""
    predicted = [row for row in _measurements_of(rows, *PREDICTED) if {"predicted_ms", "kafka"} <= row.keys()]
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
    ratio = _measured_to_predicted(row)
    what = row["what"] if "what" in row else _shape(row["param"])
    cells = (what, f"{row['edges']:,}", f"{row['edge_scans'] / 1e6:,.0f} million", _time(row["predicted_ms"]))
    if ratio is None:
        return *cells, _kafkas_time(row["kafka"]), MISSING, MISSING, MISSING
    scan_ns = row["kafka"]["median_ms"] * 1e6 / row["edge_scans"]
    return *cells, _kafkas_time(row["kafka"]), f"{scan_ns:.1f} ns", f"{ratio:.2f}", f"{ratio / median_ratio - 1:+.0%}"


def _measured_to_predicted(row: Json) -> float | None:
    """Return Kafka's run time divided by the predicted one; None if Kafka was stopped."""
    measured_ms, predicted_ms = row["kafka"]["median_ms"], row["predicted_ms"]
    return None if measured_ms is None else float(measured_ms / predicted_ms)


def _kafkas_time(kafka: Json) -> str:
    measured_ms = kafka["median_ms"]
    return f"over {kafka['stopped_after_s']:g} s" if measured_ms is None else _time(measured_ms)


def _measurements_of(rows: Sequence[Json], *tests: str) -> Iterator[Json]:
    """Return the measurements of tests, sorted by name with numbers in numeric order."""
    chosen = [row for row in rows if row["name"].partition("[")[0] in tests]
    return iter(sorted(chosen, key=lambda row: [part.zfill(9) for part in re.split(r"(\d+)", row["name"])]))


def _measurements_with(rows: Sequence[Json], key: str) -> Iterator[Json]:
    """Return the measurements that have this extra information."""
    return (row for row in rows if key in row)


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


def write_page(measured: Sequence[Json], page: Path = PAGE, data: Path = DATA) -> None:
    """Store measurements in place of earlier ones of the same benchmarks, and write the generated part of the page."""
    stored = json.loads(data.read_text(encoding="utf-8")) if data.exists() else []
    rows = list(({row["name"]: row for row in stored} | {row["name"]: row for row in measured}).values())
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    data.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    text_above = page.read_text(encoding="utf-8").partition(MARK)[0]
    page.write_text(f"{text_above}{MARK}\n{report(rows)}", encoding="utf-8")


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
    measured = measurements(json.loads(options.bench.read_text(encoding="utf-8")))
    if options.write:
        write_page(measured)
    else:
        print(report(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
