"""The page with the results of comparisons."""

from __future__ import annotations

import json
from pathlib import Path

from tools.kafka_oracle.compare import Tally
from tools.kafka_oracle.parity_page import MARK, PAGE, markdown, summarize, write_page


def summary(kafka_version: str, agreed: int = 1200) -> dict[str, object]:
    tallies = {
        ("ha", "none"): Tally(1000, {"sorted": 1000, "production": 1000}),
        ("ha", "min_traffic"): Tally(200, {"sorted": agreed - 1000, "production": 200}, refused=3, order_sensitive=4),
    }
    return summarize(kafka_version, 7, 1200, "2030-01-02", tallies)


def test_row_sums_strategies_of_an_assignor() -> None:
    lines = markdown([summary("3.9.1", agreed=1199)]).splitlines()
    assert lines[2] == "| 3.9.1 | `ha` | 1,200 | 1,199 | 1,200 | 3 | 4 |"
    assert lines[-1] == "- Kafka 3.9.1, 2030-01-02: `make parity KAFKA=3.9.1 PROBLEMS=1200 SEED=7`"


def test_a_run_is_identical_only_if_every_answer_is() -> None:
    assert summary("3.9.1")["identical"] is True
    assert summary("3.9.1", agreed=1199)["identical"] is False


def test_page_keeps_text_and_sorts_versions_numerically(tmp_path: Path) -> None:
    for version in ("4.10.0", "4.9.0", "3.9.1"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "summary.json").write_text(json.dumps(summary(version)))
    page = tmp_path / "page.md"
    page.write_text(f"# Words\n\n{MARK}\nold table\n")
    assert write_page(tmp_path, page) == 3
    text = page.read_text()
    assert text.startswith(f"# Words\n\n{MARK}")
    assert "old table" not in text
    assert [text.index(f"| {version} |") for version in ("3.9.1", "4.9.0", "4.10.0")] == sorted(
        text.index(f"| {version} |") for version in ("3.9.1", "4.9.0", "4.10.0")
    )


def test_rows_that_no_run_is_about_remain(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{MARK}\n{markdown([summary('3.9.1'), summary('4.0.2')])}")
    for folder, file, changed in (("4.0.2", "summary", {}), ("4.4.0", "streams_groups", {"command": "ask brokers"})):
        (tmp_path / folder).mkdir()
        new = {**summary(folder), "date": "2031-01-01", **changed}
        (tmp_path / folder / f"{file}.json").write_text(json.dumps(new))
    assert write_page(tmp_path, page) == 2
    lines = page.read_text().splitlines()
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:] == ["3.9.1", "4.0.2", "4.4.0"]
    assert lines[-3:] == [
        "- Kafka 3.9.1, 2030-01-02: `make parity KAFKA=3.9.1 PROBLEMS=1200 SEED=7`",
        "- Kafka 4.0.2, 2031-01-01: `make parity KAFKA=4.0.2 PROBLEMS=1200 SEED=7`",
        "- Kafka 4.4.0, 2031-01-01: `ask brokers`",
    ]


def test_committed_page_has_one_mark() -> None:
    assert PAGE.read_text(encoding="utf-8").count(MARK) == 1
