"""Lines of traffic between zones in cost reports."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.analysis.bill.cost_report import CostReport, CostReportError, LineFilter, read_cost_report
from simulator.random_streams import random_stream
from tests.reports.analysis.bill.report_files import Line, csv_text, cur_line, focus_line, write_report

FILES = ("cur.csv", "cur.csv.gz", "cur.parquet")
LINES: tuple[Callable[..., Line], ...] = (cur_line, focus_line)


def read(folder: Path, *rows: Mapping[str, Any], name: str = "cur.csv", chosen: LineFilter | None = None) -> CostReport:
    return read_cost_report(write_report(folder / name, rows), chosen)


def error_of(folder: Path, *rows: Mapping[str, Any], name: str = "cur.csv") -> str:
    with pytest.raises(CostReportError) as error:
        read(folder, *rows, name=name)
    return str(error.value).replace(str(folder), "DIR")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("line", LINES)
def test_lines_are_added_up_by_day(tmp_path: Path, name: str, line: Callable[..., Line]) -> None:
    rows = [
        line("2026-10-01", 70, "InterZone-Out"),
        line("2026-10-01", 30, "InterZone-In"),
        line("2026-10-02", 50, "InterZone-Out"),
    ]
    report = read(tmp_path, *rows, name=name)
    assert [(day.day.isoformat(), day.bytes) for day in report.days] == [("2026-10-01", 100e9), ("2026-10-02", 50e9)]
    assert [day.usd for day in report.days] == pytest.approx([1.0, 0.5])
    assert (report.lines, report.sent_bytes, report.received_bytes) == (3, 120e9, 30e9)


@pytest.mark.parametrize("line", LINES)
def test_other_usage_is_ignored(tmp_path: Path, line: Callable[..., Line]) -> None:
    usage = "line_item_usage_type" if line is cur_line else "x_UsageType"
    category = "line_item_line_item_type" if line is cur_line else "ChargeCategory"
    others = {"SkuMeter": "BoxUsage", "ChargeDescription": "per hour"} if line is focus_line else {}
    rows = [
        line(),
        {**line(), usage: "USE1-DataTransfer-Out-Bytes", **others},
        {**line(), usage: "USE1-USW2-AWS-Out-Bytes", **others},
        {**line(), category: "Credit"},
    ]
    assert read(tmp_path, *rows).lines == 1


def test_usage_without_region_is_that_of_us_east_1(tmp_path: Path) -> None:
    assert read(tmp_path, cur_line(line_item_usage_type="DataTransfer-Regional-Bytes")).lines == 1


def test_focus_lines_of_other_providers_are_found_by_their_description(tmp_path: Path) -> None:
    line = focus_line(ChargeDescription="Network Inter Zone Data Transfer Out", ConsumedUnit="gibibyte", x_UsageType="")
    report = read(tmp_path, {**line, "SkuMeter": ""})
    assert report.days[0].bytes == 100 * 2**30


def test_line_without_direction_counts_half_for_each_side(tmp_path: Path) -> None:
    report = read(tmp_path, cur_line(operation="RunInstances"))
    assert (report.sent_bytes, report.received_bytes) == (50e9, 50e9)


def test_headers_of_the_legacy_report_are_known(tmp_path: Path) -> None:
    row = cur_line()
    legacy = {
        "lineItem/UsageType": row["line_item_usage_type"],
        "lineItem/LineItemType": "Usage",
        "lineItem/UsageStartDate": row["line_item_usage_start_date"],
        "lineItem/UsageAmount": row["line_item_usage_amount"],
        "lineItem/UnblendedCost": row["line_item_unblended_cost"],
        "lineItem/CurrencyCode": "USD",
        "lineItem/ResourceId": "i-1",
        "resourceTags/user:App": "kafka",
    }
    assert read(tmp_path, legacy, chosen=LineFilter(tags=(("app", "kafka"),))).lines == 1


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("line", LINES)
def test_lines_are_chosen_by_resource_and_tag(tmp_path: Path, name: str, line: Callable[..., Line]) -> None:
    key, tags = ("line_item_resource_id", "resource_tags") if line is cur_line else ("ResourceId", "Tags")
    rows = [line(), {**line(), key: "i-9"}, {**line(), tags: ""}]
    assert read(tmp_path, *rows, name=name, chosen=LineFilter(("i-0*",))).lines == 2
    assert read(tmp_path, *rows, name=name, chosen=LineFilter(("i-0*", "i-9"))).lines == 3
    assert read(tmp_path, *rows, name=name, chosen=LineFilter(tags=(("app", "kafka"),))).lines == 2
    both = LineFilter(("i-0*",), (("App", "kafka"),))
    assert read(tmp_path, *rows, name=name, chosen=both).lines == 1


def test_parquet_may_have_maps_times_and_decimals(tmp_path: Path) -> None:
    start = datetime.datetime(2026, 10, 1, 23, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "line_item_usage_type": ["EU-DataTransfer-Regional-Bytes"],
            "line_item_usage_start_date": pa.array([start], pa.timestamp("ms", "UTC")),
            "line_item_usage_amount": [1.5],
            "line_item_unblended_cost": pa.array([0], pa.int64()),
            "resource_tags": pa.array([[("user_app", "kafka")]], pa.map_(pa.string(), pa.string())),
        }
    )
    pq.write_table(table, tmp_path / "cur.parquet")
    report = read_cost_report(tmp_path / "cur.parquet", LineFilter(tags=(("app", "kafka"),)))
    assert [(day.day.isoformat(), day.bytes) for day in report.days] == [("2026-10-01", 1.5e9)]


def test_folder_has_the_files_of_several_months(tmp_path: Path) -> None:
    write_report(tmp_path / "BILLING_PERIOD=2026-09" / "a.parquet", [cur_line("2026-09-30")])
    write_report(tmp_path / "BILLING_PERIOD=2026-10" / "b.csv.gz", [cur_line("2026-10-01")])
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    assert [day.day.isoformat() for day in read_cost_report(tmp_path).days] == ["2026-09-30", "2026-10-01"]


@pytest.mark.parametrize("name", FILES)
def test_unknown_columns_are_an_error(tmp_path: Path, name: str) -> None:
    assert error_of(tmp_path, {"date": "2026-10-01", "usd": 7}, name=name) == (
        f"DIR/{name}: unknown columns (date, usd); expected line_item_usage_start_date, line_item_usage_amount, "
        "line_item_unblended_cost (AWS Cost and Usage Report) or ChargePeriodStart, ConsumedQuantity, "
        "BilledCost (FOCUS)"
    )


def test_report_without_such_lines_is_an_error(tmp_path: Path) -> None:
    assert error_of(tmp_path, cur_line(line_item_usage_type="BoxUsage")) == (
        "DIR/cur.csv: no traffic between zones: no line of its usage (DataTransfer-Regional-Bytes)"
    )
    with pytest.raises(CostReportError, match="none of its 1 lines has the resources and tags"):
        read(tmp_path, cur_line(), chosen=LineFilter(("vol-*",)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"line_item_usage_amount": "many"}, "DIR/cur.csv:2: line_item_usage_amount is 'many', expected a number"),
        ({"line_item_usage_amount": "nan"}, "DIR/cur.csv:2: line_item_usage_amount is 'nan', expected a number"),
        ({"line_item_unblended_cost": ""}, "DIR/cur.csv:2: line_item_unblended_cost is empty, expected a number"),
        (
            {"line_item_usage_start_date": "yesterday"},
            "DIR/cur.csv:2: line_item_usage_start_date is 'yesterday', expected a time such as 2026-10-01T00:00:00Z",
        ),
        (
            {"line_item_usage_start_date": "0001-01-01T00:00:00+05:00"},
            "DIR/cur.csv:2: line_item_usage_start_date is '0001-01-01T00:00:00+05:00', expected a time such as "
            "2026-10-01T00:00:00Z",
        ),
        ({"pricing_unit": "Hrs"}, "DIR/cur.csv:2: pricing_unit is 'Hrs', expected a unit of bytes, such as GB"),
        ({"line_item_currency_code": "EUR"}, "DIR/cur.csv:2: line_item_currency_code is EUR; only USD is supported"),
        ({"resource_tags": "{"}, "DIR/cur.csv:2: resource_tags is '{', expected an object in JSON"),
        ({"resource_tags": "[1]"}, "DIR/cur.csv:2: resource_tags is '[1]', expected an object in JSON"),
    ],
)
def test_invalid_values_are_an_error(tmp_path: Path, changes: Mapping[str, Any], message: str) -> None:
    assert error_of(tmp_path, cur_line(**changes)) == message


def test_damaged_files_are_an_error(tmp_path: Path) -> None:
    good = write_report(tmp_path / "good.csv.gz", [cur_line()]).read_bytes()
    damaged = {
        "cut.csv.gz": good[: len(good) // 2],
        "plain.csv.gz": b"not gzip",
        "bytes.csv": b"\xff\xfe\x00",
        "quote.csv": b'a,"b',
        "cut.parquet": b"PAR1",
        "empty.parquet": b"",
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CostReportError) as error:
            read_cost_report(tmp_path / name)
        assert str(error.value).startswith(str(tmp_path / name)), name
        assert "\n" not in str(error.value), name


@pytest.mark.parametrize("name", FILES)
def test_randomly_damaged_file_is_read_or_an_error(tmp_path: Path, name: str) -> None:
    good = write_report(tmp_path / name, [cur_line(), cur_line("2026-10-02")]).read_bytes()
    file = tmp_path / f"damaged-{name}"
    for seed in range(80):
        random = random_stream(seed, "damage", name)
        content = bytearray(good)
        for _ in range(int(random.integers(1, 4))):
            content[int(random.integers(len(content)))] = int(random.integers(256))
        file.write_bytes(bytes(content[: int(random.integers(1, len(content) + 1))] if seed % 2 else content))
        message = str(file)
        try:
            read_cost_report(file)
        except CostReportError as error:
            message = str(error)
        assert message.startswith(str(file)), seed
        assert "\n" not in message, seed


def test_row_of_another_length_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "cur.csv"
    file.write_text(csv_text([cur_line()]) + "1,2\n", encoding="utf-8")
    with pytest.raises(CostReportError, match=r"cur\.csv:3: 2 fields, but the header has 10"):
        read_cost_report(file)


def test_missing_and_unknown_files_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "cur.xlsx").write_text("x", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    for file, problem in (
        (tmp_path / "none.csv", "no such file or folder"),
        (tmp_path / "cur.xlsx", "unknown type of file"),
        (tmp_path / "empty.csv", "unknown columns"),
    ):
        with pytest.raises(CostReportError, match=problem):
            read_cost_report(file)
