"""The page of runs: content and structure."""

from __future__ import annotations

import json
import re
from functools import cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from reports.analysis.metrics import METRICS
from reports.render.figures.run_figures import BAR_CHARTS
from reports.render.page import page
from reports.render.run_page.sections import HEADERS
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import MANIFEST, four_assignors, run_rounds, tables
from tests.reports.sample_scaling import scaled_runs

DISRUPTIONS = (
    ("Longest task outage", "s"),
    ("Worst task downtime (total)", "min"),
    ("Task downtime (sum)", "min"),
    ("Time to converge (worst event)", "min"),
    ("Restored state", "GB"),
)


def parse(text: str) -> Element:
    """Parse a page as XML; a well-formed page contains no name that broke out of its element."""
    return ElementTree.fromstring(text)


def text_of(element: Element) -> str:
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def with_class(tree: Element, name: str) -> list[Element]:
    return [element for element in tree.iter() if name in element.get("class", "").split()]


@cache
def sample_page() -> str:
    return page(four_assignors(), MANIFEST)


@cache
def player_page() -> str:
    return page(player_runs(), {})


def test_comparison_has_every_assignor_and_marks_best() -> None:
    [table] = with_class(parse(sample_page()), "comparison")
    rows = [[text_of(cell) for cell in row] for row in table.iter("tr")]
    assert rows[0] == ["", "HA none", "HA min_traffic", "HA balance_subtopology", "sticky"]
    assert ["Verdict", "stable", "stable", "stable", "stable"] in rows
    assert ["Cross-rack source partitions above lower bound", "+16 (44%)", "★ at bound", "+3 (8%)", "+16 (44%)"] in rows
    assert ["Cross-rack traffic (steady state)", "48.3 MB/s", "★ 30.1 MB/s", "32.6 MB/s", "48.3 MB/s"] in rows
    assert ["Kafka's rack-aware cost, stateful tasks", "480", "480", "480", "n/a"] in rows
    assert ["Tasks without rack redundancy", "★ 3/48", "★ 3/48", "★ 3/48", "11/48"] in rows


def test_every_round_has_a_row() -> None:
    table = with_class(parse(sample_page()), "rounds")[0]
    rows = [[text_of(cell) for cell in row] for row in table.iter("tr")]
    assert rows[0] == list(HEADERS)
    assert rows[2] == [
        "2",
        "0:20:00",
        "probing",
        "6",
        "220 ms",
        "2",
        "4",
        "1",
        "0",
        "18",
        "0",
        "7",
        "1.2 GB",
        "5 s",
        "48 (36)",
        "480, 12, 200",
        "48 (36)",
        "33 GB",
        "55 MB/s",
        "10 min",
    ]
    assert rows[5][-1] == "–"
    assert len(with_class(parse(sample_page()), "rounds")) == 4


def test_every_figure_is_inline_with_its_text() -> None:
    tree = parse(sample_page())
    charts = with_class(tree, "chart")
    bars = [drawing for drawing in tree.iter("svg") if drawing not in charts]
    assert len(bars) == 2 * len(BAR_CHARTS)
    assert {drawing.get("role") for drawing in (*charts, *bars)} == {"img"}
    axes = []
    for drawing in bars:
        words = {text_of(label) for label in drawing.iter("text")}
        assert {"HA none", "HA min_traffic", "sticky"} <= words
        axes += [word for word in ("tasks", "moves", "GB") if word in words]
    assert axes == ["tasks"] * 2 + ["moves"] * 2 + ["GB"] * 2


def test_lines_and_points_have_their_names_and_axes_their_units() -> None:
    charts = with_class(parse(sample_page()), "chart")
    units = []
    for chart in charts:
        names = [text_of(element) for element in chart.iter("title")]
        units.append({text_of(element) for element in chart.iter("text") if element.get("class") == "axis"})
        if "no data" not in {text_of(element) for element in chart.iter("text")}:
            assert {"HA none", "HA min_traffic", "HA balance_subtopology", "sticky"} <= set(names)
    assert units == [
        {"MB/s", "time (min)"},
        {"tasks", "time (min)"},
        {"s", "time (min)"},
        *({"Cross-rack traffic (steady state) (MB/s)", f"{title} ({unit})"} for title, unit in DISRUPTIONS),
    ]


def test_every_table_has_a_unique_csv_name() -> None:
    names = [table.get("data-csv") for table in parse(sample_page()).iter("table")]
    assert None not in names
    assert len(names) == len(set(names))


def test_cells_carry_unrounded_numbers() -> None:
    [table] = with_class(parse(sample_page()), "comparison")
    rows = {row[0].get("data-name"): [cell.get("data-v") for cell in row[1:]] for row in table.iter("tr")}
    assert rows["cross_rack_bytes_per_s"] == ["48300000.0", "30100000.0", "32600000.0", "48300000.0"]
    assert rows["cross_rack_source_partitions_above_bound"] == ["16", "0", "3", "16"]
    assert rows["stateful_cost"] == ["480", "480", "480", None]


def test_time_series_have_a_table() -> None:
    [displaced] = [table for table in parse(player_page()).iter("table") if table.get("data-csv") == "convergence"]
    rows = [[text_of(cell) for cell in row] for row in displaced.iter("tr")]
    assert rows == [["Time", "eager", "calm"], ["0:00:00", "3", "3"], ["0:10:00", "2", "2"], ["0:20:00", "0", "0"]]


def test_load_and_downtime_have_tables() -> None:
    tables_by_name = {table.get("data-csv"): table for table in parse(player_page()).iter("table")}
    load = [[text_of(cell) for cell in row] for row in tables_by_name["load_per_thread"].iter("tr")]
    assert load == [
        ["Client", "eager", "calm"],
        ["first", "1.51 + 2 / 2", "24 + 0 / 2"],
        ["late", "12 + 0 / 2", "00 + 0 / 2"],
        ["away", "0.51 + 0 / 2", "0.50 + 1 / 2"],
    ]
    down = [[text_of(cell) for cell in row] for row in tables_by_name["downtime_per_task"].iter("tr")]
    assert down[-1] == ["1_1", "3 s", "3 s"]


def test_traffic_by_kind_is_embedded() -> None:
    [data] = [element for element in parse(player_page()).iter("script") if element.get("id") == "matrix-data"]
    first = json.loads(data.text or "")[0]
    assert first["kinds"] == {
        "all": [[0, 4_000_000_000], [0, 0]],
        "source_read": [[0, 3_000_000_000], [0, 0]],
        "restore_read": [[0, 1_000_000_000], [0, 0]],
    }


def grids(tree: Element, name: str) -> list[list[list[str]]]:
    return [[[text_of(cell) for cell in row] for row in table.iter("tr")] for table in with_class(tree, name)]


def test_breakdowns_have_tables() -> None:
    tables_by_name = {table.get("data-csv"): table for table in parse(sample_page()).iter("table")}
    downtime, worst, moves, kinds = (
        [[text_of(cell) for cell in row] for row in tables_by_name[name].iter("tr")]
        for name in ("downtime", "worst_tasks", "moves", "traffic_by_kind")
    )
    assert downtime[1:] == [
        ["none", "1", "1", "2", "0"],
        ["up to 1 s", "1", "1", "0", "0"],
        ["up to 1 min", "1", "1", "1", "0"],
        ["up to 10 min", "0", "0", "0", "1"],
        ["longer", "0", "0", "0", "2"],
    ]
    assert worst[1] == ["1", "25 s0_2", "25 s0_2", "25 s0_2", "15 min0_2"]
    assert worst[3] == ["3", "–", "–", "–", "5 min0_0"]
    assert moves[-1] == ["all", "18", "18", "18", "18"]
    assert [row[0] for row in moves[1:]] == [
        "client lost",
        "to a standby or warm-up",
        "back to an earlier client",
        "balance",
        "all",
    ]
    assert kinds[1:] == [
        ["source reads", "1 GB", "2 GB", "3 GB", "4 GB"],
        ["replication", "1 GB", "2 GB", "3 GB", "4 GB"],
        ["all", "2 GB", "4 GB", "6 GB", "8 GB"],
    ]


def test_traffic_matrix_has_bytes_per_pair_of_racks() -> None:
    runs = [{"assignor": "a", "cross_rack_bytes": 4e12}]
    traffic = [
        {"assignor": "a", "from_rack": source, "to_rack": target, "bytes": carried}
        for source, target, carried in (
            ("az1", "az1", 9e12),
            ("az1", "az2", 3e12),
            ("az2", "az1", 1e12),
            (None, "az1", 5),
        )
    ]
    tree = parse(page(tables(runs, [], [], [], traffic), {}))
    [matrix] = grids(tree, "matrix")
    assert matrix == [
        ["from \\ to", "az1", "az2", "no rack"],
        ["az1", "9 TB", "3 TB", "0 B"],
        ["az2", "1 TB", "0 B", "0 B"],
        ["no rack", "5 B", "0 B", "0 B"],
    ]
    heat = [cell.get("class") for table in with_class(tree, "matrix") for cell in table.iter("td")]
    assert heat[:4] == ["heat-0", "heat-10", "heat-0", "heat-4"]
    assert ["all", "4 TB"] in grids(tree, "grid")[-1]


def test_costs_are_shown_if_there_is_a_price() -> None:
    assert "$" not in text_of(parse(sample_page()).findall("body/main")[0])
    [comparison] = grids(parse(page(tables([{"cross_rack_usd_per_day": 6.2}]), {})), "comparison")
    assert ["Cross-rack cost per day", "$6.20"] in comparison


def test_notes_are_below_comparison() -> None:
    assert not with_class(parse(sample_page()), "notes")
    run = {"verdict": "never", "cause": "the copy of 0_1 on app-2 grows as fast as it is restored"}
    [note_list] = with_class(parse(page(tables([run]), {})), "notes")
    assert text_of(note_list) == f"sticky never converges: {run['cause']}."


def test_page_shows_its_manifest() -> None:
    text = text_of(parse(sample_page()))
    for fact in (
        "assignor-sim run rack_outage --seed 7",
        "assignor-sim 0.1.0",
        "seeds7",
        "ab" * 32,
        "kafka_version 4.1",
        "num_standby_replicas 1",
        "name: rack_outage",
        "overrides none",
    ):
        assert fact in text


def test_page_defines_every_metric() -> None:
    [definitions] = with_class(parse(sample_page()), "meanings")
    assert [text_of(element) for element in definitions.iter("dt")] == [metric.title for metric in METRICS]
    assert all(text_of(element) for element in definitions.iter("dd"))


def test_events_are_listed() -> None:
    [table] = with_class(parse(sample_page()), "events")
    assert [[text_of(cell) for cell in row] for row in table.iter("tr")][1:] == [
        ["0:18:00", "broker 3 down"],
        ["0:18:00", "client-5 down"],
        ["0:18:00", "client-6 down"],
        ["0:45:00", "broker 3 up"],
    ]


def test_several_seeds_show_medians_and_rounds_of_first_seed() -> None:
    rounds = [row for seed in (3, 4) for row in run_rounds("sticky", [(0, 4e6 * seed, 9), (9, 1e6, 0)], seed=seed)]
    runs = [{"seed": seed, "cross_rack_bytes_per_s": seed * 1e6} for seed in (3, 4)]
    tree = parse(page(tables(runs, rounds), {}))
    assert len(with_class(tree, "rounds")) == 1
    assert "sticky, seed 3: 2 rounds" in [text_of(element) for element in tree.iter("summary")]
    [table] = with_class(tree, "comparison")
    assert ["Cross-rack traffic (steady state)", "3.5 MB/s3–4 MB/s"] in [
        [text_of(cell) for cell in row] for row in table.iter("tr")
    ]


def test_many_rounds_are_collapsed() -> None:
    many = run_rounds("sticky", [(minute, 1e6, 200 - minute) for minute in range(200)], until_min=300)
    tree = parse(page(tables([{}], many), {}))
    assert {element.get("open") for element in tree.iter("details")} == {None}
    assert "sticky, seed 7: 200 rounds" in [text_of(element) for element in tree.iter("summary")]
    assert [element.get("open") for element in parse(sample_page()).iter("details")].count("") == 4 + 1


def test_every_scenario_has_its_own_comparison() -> None:
    runs = [{"scenario": scenario, "assignor": name} for scenario in ("one", "two") for name in ("a", "b")]
    tree = parse(page(tables(runs, []), {}))
    assert len(with_class(tree, "comparison")) == 2
    comparison = next(section for section in tree.iter("section") if section.get("aria-labelledby") == "comparison")
    assert [text_of(element) for element in comparison.iter("h3")] == ["one", "two"]
    assert [text_of(element) for element in tree.iter("h2")][:2] == ["Conclusion: one", "Conclusion: two"]
    assert len(with_class(tree, "headline")) == 2


@pytest.mark.parametrize(
    "manifest",
    [
        {"scenario": None, "assignors": None, "seeds": None, "command": None, "versions": None},
        {"scenario": "name", "assignors": "sticky", "seeds": 3, "nested": {"deep": {"deeper": [1, {"x": None}]}}},
        {"assignors": ["sticky", {"configs": {"a": {"b": 1}}}]},
    ],
)
def test_malformed_manifest_still_gives_a_page(manifest: dict[str, object]) -> None:
    assert parse(page(tables(), manifest)).tag == "html"


def test_page_is_reproducible() -> None:
    assert page(four_assignors(), MANIFEST) == sample_page()


def test_autoscaler_has_a_section_with_figure_and_tables_per_assignor() -> None:
    text = page(scaled_runs(), MANIFEST)
    assert text.count('aria-label="Pods of shop over time with ') == 4
    for label, changes in (("eager", 8), ("calm", 0)):
        assert f'<bdi dir="auto">{label}</bdi></h3>' in text
        assert (f"Every change of the number of pods: {changes}" in text) == bool(changes)
    assert 'id="scaling"' not in page(four_assignors(), MANIFEST)
