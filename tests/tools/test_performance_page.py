"""The page with run times, made from benchmark results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.performance_page import DATA, MARK, PAGE, measurements, report, write_page

Json = dict[str, Any]


def row(name: str, median_s: float, **extra: Any) -> Json:
    param = name.partition("[")[2].rstrip("]") or None
    return {"name": name, "param": param, "stats": {"median": median_s}, "extra_info": extra}


def kafka(name: str, median_ms: float | None) -> Json:
    return {"id": name, "version": "4.3.1", "java": "A VM 17", "median_ms": median_ms, "stopped_after_s": 20.0}


def measured(*rows: Json, date: str = "2030-01-02") -> list[Json]:
    machine = {
        "node": "a-secret-host",
        "machine": "x86_64",
        "system": "Linux",
        "python_implementation": "CPython",
        "python_version": "3.11.7",
        "cpu": {"brand_raw": "A CPU", "count": 2},
    }
    return measurements({"machine_info": machine, "datetime": f"{date}T10:00:00", "benchmarks": list(rows)})


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
    text = report(measured(assignment(name, 0.02, kafka=kafka(name, 4_000.0))))
    expected = ["`min_traffic` 1,000 × 50, fresh", "20 ms", "155 MB", "4 s", "200", "identical"]
    assert cells(text, "`min_traffic`") == expected


def test_ratio_is_a_lower_bound_if_kafka_was_stopped() -> None:
    name = "scale-sticky-many_standbys-first"
    text = report(measured(assignment(name, 0.01, compared=False, kafka=kafka(name, None))))
    expected = ["`sticky` many_standbys, first round", "10 ms", "155 MB", "over 20 s", "over 2,000", "–"]
    assert cells(text, "`sticky`") == expected


def test_missing_kafka_time_and_memory_are_dashes() -> None:
    text = report(measured(assignment("scale-ha-many_standbys-first", 1.5, peak_bytes=None)))
    assert cells(text, "`ha`") == ["`ha` many_standbys, first round", "1.5 s", "–", "–", "–", "identical"]


@pytest.mark.parametrize(
    ("median_s", "peak", "reached"), [(0.05, 10**9, "yes"), (0.051, 10, "no"), (0.01, 10**10, "no")]
)
def test_goal_is_reached_only_in_both_time_and_memory(median_s: float, peak: int, reached: str) -> None:
    part = row("test_a_flow[1]", median_s, what="a flow", goal_ms=50, goal_bytes=10**9, peak_bytes=peak)
    assert cells(report(measured(part)), "a flow")[-2:] == [reached, "–"]


def test_peer_is_shown_beside_the_goal() -> None:
    peer = "DuckDB 4 s, ratio 2.50"
    ingest = row("test_an_ingest[ingest-1]", 10.0, what="ingest", goal_ms=6_000, peak_bytes=None, peer=peer)
    assert cells(report(measured(ingest)), "ingest") == ["ingest", "10 s", "6 s", "–", "–", "no", peer]


def test_sweep_is_compared_with_the_pool_and_with_one_core() -> None:
    times = {"pool_s": 10.0, "one_core_s": 21.6, "start_s": 3.0}
    sweep = row("test_a_sweep[400]", 12.0, runs=400, bytes_per_run=440.0, **times)
    expected = ["400", "10.0 s", "12.0 s", "21.6 s", "1.20", "1.50", "0.90", "16.7", "440"]
    assert cells(report(measured(sweep)), "400") == expected


def test_prediction_error_excludes_machine_speed() -> None:
    times_ms = {"a": 100.0, "b": 200.0, "c": 300.0}
    rows = [application(name, ms) for name, ms in times_ms.items()]
    text = report(measured(*rows, application("d", None)))
    assert [cells(text, name)[-1] for name in times_ms] == ["-50%", "+0%", "+50%"]
    assert cells(text, "d") == ["d", "4,000", "10 million", "100 ms", "over 20 s", "–", "–", "–"]
    assert cells(text, "a ")[:6] == ["a", "4,000", "10 million", "100 ms", "100 ms", "10.0 ns"]


@pytest.mark.parametrize(
    ("median_ms", "text"),
    [(0.98, "0.98 ms"), (999.0, "999 ms"), (1_000.0, "1 s"), (599_000.0, "599 s"), (600_000.0, "10 min")],
)
def test_times_have_readable_units(median_ms: float, text: str) -> None:
    assert cells(report(measured(application("an application", median_ms))), "an application")[4] == text


def test_longest_times_are_in_hours() -> None:
    assert cells(report(measured(application("an application", 530_368_000.0))), "an application")[4] == "147 h"


def test_machine_is_described_without_host_name() -> None:
    text = report(measured(assignment("scale-ha-many_standbys-first", 1.5, kafka=kafka("x", 1.0))))
    for fact in ("A CPU, 2 cores", "CPython 3.11.7", "Kafka 4.3.1 on A VM 17", "2030-01-02"):
        assert fact in text
    assert "secret" not in text


def test_text_above_mark_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Words\n\n{MARK}\nold tables\n")
    write_page(measured(application("a", 100.0)), page, tmp_path / "data.json")
    text = page.read_text()
    assert text.startswith(f"# Words\n\n{MARK}\n## Where")
    assert "old tables" not in text


def test_a_part_replaces_only_its_own_measurements(tmp_path: Path) -> None:
    page, data = tmp_path / "page.md", tmp_path / "data.json"
    page.write_text(MARK)
    write_page(measured(application("a", 100.0), application("b", 200.0)), page, data)
    write_page(measured(application("b", 300.0), date="2030-01-05"), page, data)
    text = page.read_text()
    assert [cells(text, name)[4] for name in "ab"] == ["100 ms", "300 ms"]
    assert "- 2030-01-02; 2030-01-05\n" in text


def test_committed_page_shows_the_stored_measurements() -> None:
    _, mark, tables = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark
    assert tables == f"\n{report(json.loads(DATA.read_text(encoding='utf-8')))}", "run `make performance`"
