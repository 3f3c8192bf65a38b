"""The table of large applications, and the processes that measure it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.large_applications.__main__ import END, PAGE, START, write_page
from tools.large_applications.measuring import REPOSITORY, Limits, code_of, measure
from tools.large_applications.tables import DUCKDB, ROWS, Json, table
from tools.large_applications.workloads import WORKLOADS

NO_LIMITS = Limits(seconds=120, memory_bytes=16_000_000_000)


def cells(text: str, start: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def figures(workload: str, **measured: float) -> dict[str, dict[str, Json]]:
    return {"now": {workload: {"peak_bytes": 1_000_000_000, **measured}}}


def test_every_row_has_a_workload() -> None:
    assert {row.workload for row in ROWS} | {DUCKDB["ingest"]} == {workload.__name__ for workload in WORKLOADS}


def test_goals_of_time_and_memory_must_both_be_reached() -> None:
    assert cells(table(figures("largest", seconds=12.3)), "20,000")[1:4] == ["12.3 s, 1.00 GB", "60 s, 4 GB", "yes"]
    assert cells(table(figures("largest", seconds=60.1)), "20,000")[3] == "no"
    assert cells(table(figures("largest", seconds=12.3, peak_bytes=4.1e9)), "20,000")[3] == "no"


def test_ingest_must_be_fast_in_itself_and_close_to_duckdb() -> None:
    def reached(seconds: float, rows: int, peer_seconds: float | None) -> str:
        measured = figures("ingest", seconds=seconds, rows=rows)
        if peer_seconds is not None:
            measured["now"][DUCKDB["ingest"]] = {"seconds": peer_seconds}
        return cells(table(measured), "ingest")[3]

    assert reached(10, 6_000_000, 8) == "yes"
    assert reached(10, 6_000_000, 6) == "no"
    assert reached(10, 4_000_000, 8) == "no"
    assert reached(10, 6_000_000, None) == "no"


def test_peers_are_shown_with_ratios() -> None:
    measured = figures("ingest", seconds=10, rows=1_000_000)
    measured["now"][DUCKDB["ingest"]] = {"seconds": 4.0}
    assert cells(table(measured), "ingest by Spark, 2 cores, 1,000,000 readings")[4] == "DuckDB 4 s, ratio 2.50"
    assert cells(table(figures("sweep", seconds=12, pool_seconds=10)), "a sweep")[1:] == [
        "12 s (1.20)",
        "1.05 × the pool",
        "no",
        "pool 10 s, ratio 1.20",
    ]


def test_each_ingest_is_compared_on_its_readings() -> None:
    measured = figures("long_ingest", seconds=100, rows=86_000_000)
    measured["now"][DUCKDB["ingest"]] = {"seconds": 1.0}
    assert cells(table(measured), "ingest of a longer history")[3:] == ["no", "–"]
    measured["now"][DUCKDB["long_ingest"]] = {"failed": "over 10 min"}
    assert cells(table(measured), "ingest of a longer history")[3:] == ["no", "DuckDB over 10 min"]
    measured["now"][DUCKDB["long_ingest"]] = {"seconds": 80.0}
    assert cells(table(measured), "ingest of a longer history")[3:] == ["yes", "DuckDB 80 s, ratio 1.25"]


def test_reason_is_shown_instead_of_a_time() -> None:
    measured = {**figures("day", seconds=4, rebalances=1_248), "before": {"day": {"failed": "over 20 min"}}}
    assert cells(table(measured), "a day of bounces") == ["over 20 min", "4 s, 1.00 GB", "5 s", "yes", "–"]


def test_a_workload_is_ended_at_its_limits() -> None:
    assert measure("cold_start", code=REPOSITORY, limits=Limits(0.01, 16_000_000_000)) == {"failed": "over 0 min"}
    assert measure("unknown", code=REPOSITORY, limits=NO_LIMITS)["failed"] == "failed"


def test_a_workload_runs_with_the_code_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "simulator").mkdir()
    (tmp_path / "simulator" / "__init__.py").write_text("raise MemoryError")
    assert measure("cold_start", code=tmp_path, limits=NO_LIMITS) == {"failed": "over 16 GB"}


def test_code_of_a_revision_is_removed_again(tmp_path: Path) -> None:
    repository, folder = tmp_path / "repository", tmp_path / "before"
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.com", "-C", str(repository)]
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    for text in ("old", "new"):
        (repository / "file").write_text(text)
        subprocess.run([*git, "add", "file"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", text], check=True)
    with code_of("HEAD~1", folder, repository) as code:
        assert (code / "file").read_text() == "old"
    assert not code.exists()
    with pytest.raises(subprocess.CalledProcessError), code_of("no-such-revision", folder, repository):
        pass
    assert subprocess.check_output([*git, "worktree", "list"], text=True).count("\n") == 1


def test_only_the_table_of_the_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{START}old\n{END}below\n")
    write_page(figures("day", seconds=4, rebalances=1_248), page)
    text = page.read_text()
    assert text.startswith(f"above\n{START}\n| what")
    assert text.endswith(f"\n{END}below\n")
    assert "old" not in text
    page.write_text("above")
    with pytest.raises(ValueError, match="lacks the marks"):
        write_page({"now": {}}, page)


def test_committed_page_has_the_marks() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(START) == text.count(END) == 1
