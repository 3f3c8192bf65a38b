"""The page with run times, made from benchmark results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools.performance_page import MARK, PAGE, report, write_page

Json = dict[str, Any]


def row(name: str, median_s: float, **extra: Any) -> Json:
    param = name.partition("[")[2].rstrip("]") or None
    return {"name": name, "param": param, "stats": {"median": median_s}, "extra_info": extra}


def kafka(name: str, median_ms: float | None) -> Json:
    return {"id": name, "version": "4.3.1", "java": "A VM 17", "median_ms": median_ms, "stopped_after_s": 20.0}


def bench(*rows: Json) -> Json:
    machine = {
        "node": "a-secret-host",
        "machine": "x86_64",
        "system": "Linux",
        "python_implementation": "CPython",
        "python_version": "3.11.7",
        "cpu": {"brand_raw": "A CPU", "count": 2},
    }
    return {"machine_info": machine, "datetime": "2030-01-02T10:00:00", "benchmarks": list(rows)}


def assignment(name: str, median_s: float, **extra: Any) -> Json:
    return row(f"test_an_assignment[{name}]", median_s, **{"peak_bytes": 155_000_000, "compared": True, **extra})


def application(what: str, median_ms: float | None) -> Json:
    prediction = {"predicted_ms": 100.0, "edge_scans": 10_000_000, "edges": 4_000}
    return row(f"test_a_fresh_application[{what}]", 1.0, what=what, kafka=kafka(what, median_ms), **prediction)


def cells(text: str, start: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_kafkas_time_is_shown_with_ratio() -> None:
    name = "rack-min_traffic-1000x50-r3x1-fresh"
    text = report(bench(assignment(name, 0.02, kafka=kafka(name, 4_000.0))))
    expected = ["`min_traffic` 1,000 × 50, fresh", "20 ms", "155 MB", "4 s", "200", "identical"]
    assert cells(text, "`min_traffic`") == expected


def test_ratio_is_a_lower_bound_if_kafka_was_stopped() -> None:
    name = "scale-sticky-many_standbys-first"
    text = report(bench(assignment(name, 0.01, compared=False, kafka=kafka(name, None))))
    expected = ["`sticky` many_standbys, first round", "10 ms", "155 MB", "over 20 s", "over 2,000", "–"]
    assert cells(text, "`sticky`") == expected


def test_missing_kafka_time_and_memory_are_dashes() -> None:
    text = report(bench(assignment("scale-ha-many_standbys-first", 1.5, peak_bytes=None)))
    assert cells(text, "`ha`") == ["`ha` many_standbys, first round", "1.5 s", "–", "–", "–", "identical"]


@pytest.mark.parametrize(
    ("median_s", "peak", "reached"), [(0.05, 10**9, "yes"), (0.051, 10, "no"), (0.01, 10**10, "no")]
)
def test_goal_is_reached_only_in_both_time_and_memory(median_s: float, peak: int, reached: str) -> None:
    part = row("test_a_flow[1]", median_s, what="a flow", goal_ms=50, goal_bytes=10**9, peak_bytes=peak)
    assert cells(report(bench(part)), "a flow")[-1] == reached


def test_prediction_error_excludes_machine_speed() -> None:
    measured = {"a": 100.0, "b": 200.0, "c": 300.0}
    rows = [application(name, ms) for name, ms in measured.items()]
    text = report(bench(*rows, application("d", None)))
    assert [cells(text, name)[-1] for name in measured] == ["-50%", "+0%", "+50%"]
    assert cells(text, "d") == ["d", "4,000", "10 million", "100 ms", "over 20 s", "–", "–", "–"]
    assert cells(text, "a ")[:6] == ["a", "4,000", "10 million", "100 ms", "100 ms", "10.0 ns"]


@pytest.mark.parametrize(
    ("median_ms", "text"),
    [(0.98, "0.98 ms"), (999.0, "999 ms"), (1_000.0, "1 s"), (599_000.0, "599 s"), (600_000.0, "10 min")],
)
def test_times_have_readable_units(median_ms: float, text: str) -> None:
    assert cells(report(bench(application("an application", median_ms))), "an application")[4] == text


def test_longest_times_are_in_hours() -> None:
    assert cells(report(bench(application("an application", 530_368_000.0))), "an application")[4] == "147 h"


def test_machine_is_described_without_host_name() -> None:
    text = report(bench(assignment("scale-ha-many_standbys-first", 1.5, kafka=kafka("x", 1.0))))
    for fact in ("A CPU, 2 cores", "CPython 3.11.7", "Kafka 4.3.1 on A VM 17", "2030-01-02"):
        assert fact in text
    assert "secret" not in text


def test_text_above_mark_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Words\n\n{MARK}\nold tables\n")
    write_page(bench(), page)
    text = page.read_text()
    assert text.startswith(f"# Words\n\n{MARK}\n## Where")
    assert "old tables" not in text


def test_committed_page_has_one_mark() -> None:
    assert PAGE.read_text(encoding="utf-8").count(MARK) == 1
