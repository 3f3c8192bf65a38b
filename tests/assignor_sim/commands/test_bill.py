"""`assignor-sim bill`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.cli import app
from tests.assignor_sim.api.test_bill import PUBLISHED
from tests.reports.analysis.bill.report_files import Line, cur_line, focus_line, write_report


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "published.yaml"
    file.write_text(PUBLISHED.format(rate="100 MB/s", fan_out=3), encoding="utf-8")
    return file


def run(*arguments: str | Path, columns: int = 80) -> Result:
    return CliRunner().invoke(app, ["bill", *map(str, arguments)], env={"COLUMNS": str(columns)})


def lines_of_days(factor: float = 1.0, days: int = 2, *, is_focus: bool = False) -> Iterator[Line]:
    """Yield what AWS bills for the scenario: 466.7 MB/s, sent and received."""
    for day in range(1, days + 1):
        for operation in ("InterZone-In", "InterZone-Out"):
            line = focus_line if is_focus else cur_line
            yield line(f"2026-10-0{day}", factor * 24_192 / 0.02 / 30, operation)


def test_bill_fits_a_terminal(scenario: Path) -> None:
    result = run(scenario)
    assert result.exit_code == 0, result.output
    assert "$24,192 for 1.21 PB between zones in 30 days" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    for text in ("producer services", "group readers", "az1 → az2", "Follower fetching", "$13,824", "24 h simulated"):
        assert text in result.stdout


def test_formats_have_the_same_figures(scenario: Path) -> None:
    record = json.loads(run(scenario, "--no-savings", "--format", "json").stdout)
    assert record["cross_rack_usd"] == pytest.approx(24_192, abs=0.5)
    assert record["savings"] == []
    rows = list(csv.DictReader(io.StringIO(run(scenario, "--no-savings", "--format", "csv").stdout)))
    assert sum(float(row["usd"]) for row in rows) == pytest.approx(24_192, abs=0.5)
    assert (
        "| group | readers | events |".replace("group", "other groups' reads")
        in run(scenario, "--no-savings", "--format", "markdown").stdout
    )


def test_days_scale_the_bill(scenario: Path) -> None:
    assert "$806" in run(scenario, "--no-savings", "--days", "1").stdout


@pytest.mark.parametrize("name", ["cur.csv", "cur.csv.gz", "cur.parquet"])
@pytest.mark.parametrize("is_focus", [False, True])
def test_equal_report_agrees(tmp_path: Path, scenario: Path, name: str, is_focus: bool) -> None:
    report = write_report(tmp_path / name, list(lines_of_days(is_focus=is_focus)))
    result = run(scenario, "--no-savings", "--check", report, "--tolerance", "0.01")
    assert result.exit_code == 0, result.output
    assert "Within the tolerance of 0.01 %" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_different_report_exits_with_1(tmp_path: Path, scenario: Path) -> None:
    report = write_report(tmp_path / "cur.csv", list(lines_of_days(1.25)))
    result = run(scenario, "--no-savings", "--check", report)
    assert result.exit_code == 1
    assert "Outside the tolerance of 10 %: billed dollars differ by +25.0 %, metered bytes by +25.0 %" in (
        result.stdout.replace("\n", " ")
    )
    assert f"the bill differs from {report} by more than 10 %" in result.stderr.replace("\n", " ").replace("  ", "")
    assert run(scenario, "--no-savings", "--check", report, "--tolerance", "26").exit_code == 0


def test_check_is_part_of_every_format(tmp_path: Path, scenario: Path) -> None:
    report = write_report(tmp_path / "cur.csv", list(lines_of_days()))
    record = json.loads(run(scenario, "--no-savings", "--check", report, "--format", "json").stdout)["check"]
    assert record["agrees"] is True
    assert [day["day"] for day in record["days"]] == ["2026-10-01", "2026-10-02"]
    assert record["sent_bytes"] == record["received_bytes"]
    assert "2026\\-10\\-02" in run(scenario, "--no-savings", "--check", report, "--format", "markdown").stdout


def test_report_of_brokers_only_has_their_side(tmp_path: Path, scenario: Path) -> None:
    brokers = (3_456 / 2 + 10_368 + 10_368 / 2) / 24_192
    report = write_report(tmp_path / "cur.csv", list(lines_of_days(brokers)))
    assert run(scenario, "--no-savings", "--check", report, "--resources", "brokers", "--tolerance", "1").exit_code == 0
    assert run(scenario, "--no-savings", "--check", report, "--tolerance", "1").exit_code == 1


def test_lines_may_be_chosen(tmp_path: Path, scenario: Path) -> None:
    others = [{**line, "line_item_resource_id": "i-9", "resource_tags": ""} for line in lines_of_days(0.5)]
    report = write_report(tmp_path / "cur.csv", [*lines_of_days(), *others])
    assert run(scenario, "--no-savings", "--check", report).exit_code == 1
    assert run(scenario, "--no-savings", "--check", report, "--resource", "i-0*").exit_code == 0
    assert run(scenario, "--no-savings", "--check", report, "--tag", "app=kafka").exit_code == 0


def test_page_and_record_are_written(tmp_path: Path, scenario: Path) -> None:
    report, out = write_report(tmp_path / "cur.csv", list(lines_of_days(1.25))), tmp_path / "out"
    result = run(scenario, "--no-savings", "--check", report, "--out", out)
    assert result.exit_code == 1
    assert result.stdout.replace("\n", "").endswith(f"Page: {out}/bill.html")
    page = (out / "bill.html").read_text(encoding="utf-8")
    assert "Outside the tolerance of 10 %" in page
    assert "$24,192 for 1.21 PB between zones in 30 days." in page
    stdout = run(scenario, "--no-savings", "--check", report, "--out", out, "--format", "json").stdout
    assert json.loads((out / "bill.json").read_text(encoding="utf-8")) == json.loads(stdout)
    assert (out / "bill.html").read_text(encoding="utf-8") == page


def test_directory_with_something_else_is_kept(tmp_path: Path, scenario: Path) -> None:
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    result = run(scenario, "--out", tmp_path, columns=200)
    assert result.exit_code == 2
    assert "exists and" in result.stderr
    assert not (tmp_path / "bill.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--resource", "i-1"), "--resource requires --check"),
        (("--check", "none.csv"), "none.csv: no such file or folder"),
        (("--check", "none.csv", "--tag", "app"), "--tag app: expected KEY=VALUE"),
        (("--days", "0"), "--days"),
        (("--set", "price=oracle"), "no built-in price of 'oracle'"),
        (("--assignor", "unheard_of"), "unheard_of"),
    ],
)
def test_invalid_options_are_an_error(scenario: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run(scenario, *arguments, columns=200)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_strange_names_are_shown_as_they_are(tmp_path: Path) -> None:
    text = PUBLISHED.format(rate="100 MB/s", fan_out=3)
    text = text.replace("name: services", 'name: "[bold]=1+1"').replace("name: published", 'name: "=a [red]b"')
    file = tmp_path / "strange.yaml"
    file.write_text(text, encoding="utf-8")
    assert "producer [bold]=1+1" in run(file, "--no-savings").stdout
    assert "=a [red]b" in run(file, "--no-savings").stdout
