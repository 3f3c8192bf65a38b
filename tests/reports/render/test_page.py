"""The page of a run: its content, its structure, and that names in it stay text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pyarrow as pa
import pytest

from reports.analysis.comparison import TableError
from reports.analysis.metrics import METRICS
from reports.analysis.runs.merged_results import REQUIRED_TABLES
from reports.analysis.text import printable
from reports.render.drawing.svg import inline_svg
from reports.render.figures.run_figures import RUN_FIGURES, convergence, figure_bytes
from reports.render.html.embedded import as_json, policy
from reports.render.page import page
from reports.render.run_page.round_table import HEADERS
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST, MINUTE_MS, four_assignors, run_rounds, tables


def parse(text: str) -> Element:
    """The page as a tree: it is well-formed, so that nothing in it can have broken out of its place."""
    return ElementTree.fromstring(text)


def text_of(element: Element) -> str:
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def with_class(tree: Element, name: str) -> list[Element]:
    return [each for each in tree.iter() if name in each.get("class", "").split()]


@cache
def ordinary() -> str:
    return page(four_assignors(), MANIFEST)


@cache
def hostile() -> str:
    rounds = [
        {**row, "reason": f"{name} joined"}
        for name in HOSTILE
        for row in run_rounds(name, [(0, 4e6, 9), (9, 1e6, 0)], scenario=HOSTILE[0])
    ]
    runs = [{"assignor": name, "scenario": HOSTILE[0], "verdict": "failed", "cause": name} for name in HOSTILE]
    happened = [
        {"assignor": HOSTILE[0], "scenario": HOSTILE[0], "at_ms": n * MINUTE_MS, "event": name}
        for n, name in enumerate(HOSTILE)
    ]
    manifest = {
        "scenario": {"name": HOSTILE[0], "text": "\n".join(HOSTILE)},
        "assignors": [{"label": name, "parameters": {name: name}, "configs": [name]} for name in HOSTILE],
        "command": " ".join(HOSTILE),
        HOSTILE[0]: {HOSTILE[1]: list(HOSTILE)},
    }
    tasks = [{"assignor": name, "scenario": HOSTILE[0], "task": name, "downtime_ms": 1_000} for name in HOSTILE]
    sent = [{"assignor": name, "scenario": HOSTILE[0], "from_rack": name, "to_rack": "az1"} for name in HOSTILE]
    return page(tables(runs, rounds, happened, tasks, sent), manifest)


@pytest.mark.parametrize("make", [ordinary, hostile, lambda: page(tables([], []), {}), lambda: page(tables(), {})])
def test_a_page_is_well_formed_and_sealed(make: type[str]) -> None:
    tree = parse(make())
    assert tree.tag == "html"
    assert [each.tag for each in tree] == ["head", "body"]
    policies = [each.get("content", "") for each in tree.iter("meta") if each.get("http-equiv")]
    [sheet], scripts = list(tree.iter("style")), list(tree.iter("script"))
    *data, program = scripts
    assert {each.get("type") for each in data} == {"application/json"}
    assert policies == [policy([inner(make(), "script")], [sheet.text or ""])]
    assert "unsafe" not in policies[0]
    assert program.attrib == {}
    harmful = [name for each in tree.iter() for name in each.attrib if name == "style" or name.lower().startswith("on")]
    assert harmful == []


def inner(text: str, tag: str) -> str:
    """What stands between the tags of the only such element without attributes, to the letter."""
    [found] = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return str(found)


@pytest.mark.parametrize("make", [ordinary, hostile])
def test_the_policy_names_the_very_text_that_runs(make: type[str]) -> None:
    tree = parse(make())
    [said] = [each.get("content", "") for each in tree.iter("meta") if each.get("http-equiv")]
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(inner(make(), tag).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in said


def test_data_has_no_character_that_markup_is_made_of() -> None:
    text = as_json({"a": "</script><!--\u2028\u2029&]]>", "ü": 1})
    assert not set(text) & set("<>&")
    assert text.isascii()
    assert json.loads(text) == {"a": "</script><!--\u2028\u2029&]]>", "ü": 1}


@pytest.mark.parametrize("make", [ordinary, hostile])
def test_a_page_refers_to_nothing_but_itself(make: type[str]) -> None:
    text = make()
    tree = parse(text)
    ids = [each.get("id") for each in tree.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    references = [value for each in tree.iter() for name, value in each.attrib.items() if name in ("href", "src")]
    references += [f"#{name}" for name in re.findall(r"url\(#([^)]*)\)", text)]
    references += [f"#{each.get('aria-labelledby')}" for each in tree.iter() if each.get("aria-labelledby")]
    assert {each for each in references if each != "data:,"} <= {f"#{each}" for each in ids}
    assert not re.search(r"url\((?!#)|@import|srcset|<(iframe|object|embed|base|img)\b", text)
    # The name of a language, which nobody fetches.
    assert "http://" not in text.replace("'http://www.w3.org/2000/svg'", "")


def test_the_comparison_has_every_assignor_and_marks_the_best() -> None:
    [table] = with_class(parse(ordinary()), "comparison")
    rows = [[text_of(cell) for cell in row] for row in table.iter("tr")]
    assert rows[0] == ["", "HA none", "HA min_traffic", "HA balance_subtopology", "sticky"]
    assert ["Verdict", "stable", "stable", "stable", "stable"] in rows
    assert ["Cross-rack source partitions above lower bound", "+16 (44%)", "★ at bound", "+3 (8%)", "+16 (44%)"] in rows
    assert ["Cross-rack traffic (steady state)", "48.3 MB/s", "★ 30.1 MB/s", "32.6 MB/s", "48.3 MB/s"] in rows
    assert ["Kafka's rack-aware cost, stateful tasks", "480", "480", "480", "n/a"] in rows
    assert ["Tasks without rack redundancy", "★ 3/48", "★ 3/48", "★ 3/48", "11/48"] in rows


def test_rounds_are_told_one_by_one() -> None:
    table = with_class(parse(ordinary()), "rounds")[0]
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
    assert len(with_class(parse(ordinary()), "rounds")) == 4


def test_every_figure_stands_inside_with_its_text() -> None:
    tree = parse(ordinary())
    drawings = list(tree.iter("svg"))
    assert len(drawings) == 2 * len(RUN_FIGURES)
    assert {each.get("role") for each in drawings} == {"img"}
    axes = []
    for drawing in drawings:
        words = {text_of(each) for each in drawing.iter("text")}
        assert {"HA none", "HA min_traffic", "sticky"} <= words or "no assignment" in words
        axes += [word for word in ("time (minutes)", "tasks", "moves", "GB") if word in words]
    assert axes == ["time (minutes)"] * 4 + ["tasks"] * 2 + ["moves"] * 2 + ["GB"] * 2


def test_every_table_is_saved_under_a_name_of_its_own() -> None:
    names = [each.get("data-csv") for each in parse(ordinary()).iter("table")]
    assert None not in names
    assert len(names) == len(set(names))


def test_cells_carry_their_numbers_unrounded() -> None:
    [table] = with_class(parse(ordinary()), "comparison")
    rows = {row[0].get("data-name"): [cell.get("data-v") for cell in row[1:]] for row in table.iter("tr")}
    assert rows["cross_rack_bytes_per_s"] == ["48300000.0", "30100000.0", "32600000.0", "48300000.0"]
    assert rows["cross_rack_source_partitions_above_bound"] == ["16", "0", "3", "16"]
    assert rows["active_cost"] == ["480", "480", "480", None]


def test_lines_over_time_have_their_numbers_in_a_table() -> None:
    [displaced] = [
        each for each in parse(page(player_runs(), {})).iter("table") if each.get("data-csv") == "convergence"
    ]
    rows = [[text_of(cell) for cell in row] for row in displaced.iter("tr")]
    assert rows == [["Time", "eager", "calm"], ["0:00:00", "3", "3"], ["0:10:00", "2", "2"], ["0:20:00", "0", "0"]]


def test_load_and_downtime_are_told_client_by_client_and_task_by_task() -> None:
    found = {each.get("data-csv"): each for each in parse(page(player_runs(), {})).iter("table")}
    load = [[text_of(cell) for cell in row] for row in found["load_per_thread"].iter("tr")]
    assert load == [
        ["Client", "eager", "calm"],
        ["first", "1.51 + 2 / 2", "24 + 0 / 2"],
        ["late", "12 + 0 / 2", "00 + 0 / 2"],
        ["away", "0.51 + 0 / 2", "0.50 + 1 / 2"],
    ]
    down = [[text_of(cell) for cell in row] for row in found["downtime_per_task"].iter("tr")]
    assert down[-1] == ["1_1", "3 s", "3 s"]


def test_what_travels_is_embedded_kind_by_kind() -> None:
    [data] = [each for each in parse(page(player_runs(), {})).iter("script") if each.get("id") == "matrix-data"]
    first = json.loads(data.text or "")[0]
    assert first["kinds"] == {
        "all": [[0, 4_000_000_000], [0, 0]],
        "source_read": [[0, 3_000_000_000], [0, 0]],
        "restore_read": [[0, 1_000_000_000], [0, 0]],
    }


def grids(tree: Element, name: str) -> list[list[list[str]]]:
    return [[[text_of(cell) for cell in row] for row in table.iter("tr")] for table in with_class(tree, name)]


def test_the_numbers_behind_the_bars_stand_in_tables() -> None:
    found = {each.get("data-csv"): each for each in parse(ordinary()).iter("table")}
    downtime, worst, moves, kinds = (
        [[text_of(cell) for cell in row] for row in found[name].iter("tr")]
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


def test_traffic_from_rack_to_rack_is_a_matrix_an_assignor_with_what_it_costs() -> None:
    runs = [{"assignor": "a", "cross_rack_bytes": 4e12, "cross_rack_usd": 80.0}]
    sent = [
        {"assignor": "a", "from_rack": source, "to_rack": target, "bytes": carried}
        for source, target, carried in (
            ("az1", "az1", 9e12),
            ("az1", "az2", 3e12),
            ("az2", "az1", 1e12),
            (None, "az1", 5),
        )
    ]
    tree = parse(page(tables(runs, [], [], [], sent), {}))
    [matrix] = grids(tree, "matrix")
    assert matrix == [
        ["from \\ to", "az1", "az2", "no rack"],
        ["az1", "9 TB", "3 TB$60.00", "0 B"],
        ["az2", "1 TB$20.00", "0 B", "0 B"],
        ["no rack", "5 B", "0 B", "0 B"],
    ]
    heat = [cell.get("class") for table in with_class(tree, "matrix") for cell in table.iter("td")]
    assert heat[:4] == ["heat-0", "heat-10", "heat-0", "heat-4"]
    assert ["all", "4 TB$80.00"] in grids(tree, "grid")[-1]


def test_money_is_shown_where_there_is_a_price() -> None:
    assert "$" not in text_of(parse(ordinary()).findall("body/main")[0])
    [comparison] = grids(parse(page(tables([{"cross_rack_usd": 6.2}]), {})), "comparison")
    assert ["Cross-rack cost (whole run)", "$6.20"] in comparison
    assert ["Cross-rack cost per day (steady state)", "$71.28"] in comparison


def test_what_is_to_be_said_stands_below_the_comparison() -> None:
    assert not with_class(parse(ordinary()), "notes")
    run = {"verdict": "never", "cause": "the copy of 0_1 on app-2 grows as fast as it is restored"}
    [found] = with_class(parse(page(tables([run]), {})), "notes")
    assert text_of(found) == f"sticky never converges: {run['cause']}."


def test_a_page_says_how_it_was_made() -> None:
    text = text_of(parse(ordinary()))
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


def test_a_page_explains_every_metric() -> None:
    [meanings] = with_class(parse(ordinary()), "meanings")
    assert [text_of(each) for each in meanings.iter("dt")] == [metric.title for metric in METRICS]
    assert all(text_of(each) for each in meanings.iter("dd"))


def test_events_are_listed() -> None:
    [table] = with_class(parse(ordinary()), "events")
    assert [[text_of(cell) for cell in row] for row in table.iter("tr")][1:] == [
        ["0:18:00", "broker 3 down"],
        ["0:18:00", "client-5 down"],
        ["0:18:00", "client-6 down"],
        ["0:45:00", "broker 3 up"],
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_text_wherever_it_stands(name: str) -> None:
    tree = parse(hostile())
    shown = re.sub(r"\s+", " ", printable(name)).strip()
    [comparison] = with_class(tree, "comparison")
    assert shown in [text_of(cell) for cell in comparison.iter("th")]
    [said] = with_class(tree, "notes")
    assert f"{shown} failed: {shown.rstrip('.')}." in [text_of(each) for each in said.iter("li")]
    assert f"1 s{shown}" in [text_of(cell) for table in with_class(tree, "grid") for cell in table.iter("td")]
    assert shown in [text_of(cell) for table in with_class(tree, "matrix") for cell in table.iter("th")]
    assert f"{shown} joined" in [text_of(cell) for cell in with_class(tree, "reason")]
    [happened] = with_class(tree, "events")
    assert shown in [text_of(cell) for cell in happened.iter("td")]
    [facts] = with_class(tree, "facts")
    assert shown in [text_of(cell) for cell in facts.iter("dt")]
    assert "\u202e" not in hostile()
    assert "\x1b" not in hostile()


def test_an_inline_drawing_keeps_names_that_look_like_references() -> None:
    name = 'id="x" url(#y) #20242b'
    figure = convergence(tables([{"assignor": name}], run_rounds(name, [(0, 1.0, 0)])))
    tree = parse(inline_svg(figure_bytes(figure, "svg", text_as_text=True), "p-", "title"))
    assert name in [text_of(each) for each in tree.iter("text")]
    assert tree.get("aria-label") == "title"
    assert not list(tree.iter("metadata"))
    assert all(each.get("id", "p-").startswith("p-") for each in tree.iter())


def test_several_seeds_show_medians_and_the_rounds_of_the_first() -> None:
    rounds = [row for seed in (3, 4) for row in run_rounds("sticky", [(0, 4e6 * seed, 9), (9, 1e6, 0)], seed=seed)]
    runs = [{"seed": seed, "cross_rack_bytes_per_s": seed * 1e6} for seed in (3, 4)]
    tree = parse(page(tables(runs, rounds), {}))
    assert len(with_class(tree, "rounds")) == 1
    assert "sticky, seed 3: 2 rounds" in [text_of(each) for each in tree.iter("summary")]
    [table] = with_class(tree, "comparison")
    assert ["Cross-rack traffic (steady state)", "3.5 MB/s3–4 MB/s"] in [
        [text_of(cell) for cell in row] for row in table.iter("tr")
    ]


def test_many_rounds_are_folded_up() -> None:
    many = run_rounds("sticky", [(minute, 1e6, 200 - minute) for minute in range(200)], until_min=300)
    tree = parse(page(tables([{}], many), {}))
    assert {each.get("open") for each in tree.iter("details")} == {None}
    assert "sticky, seed 7: 200 rounds" in [text_of(each) for each in tree.iter("summary")]
    assert [each.get("open") for each in parse(ordinary()).iter("details")].count("") == 4 + 1


def test_scenarios_stand_apart() -> None:
    runs = [{"scenario": scenario, "assignor": name} for scenario in ("one", "two") for name in ("a", "b")]
    tree = parse(page(tables(runs, []), {}))
    assert len(with_class(tree, "comparison")) == 2
    assert [text_of(each) for each in tree.iter("h3")] == ["one", "two"]


@pytest.mark.parametrize(
    "manifest",
    [
        {"scenario": None, "assignors": None, "seeds": None, "command": None, "versions": None},
        {"scenario": "name", "assignors": "sticky", "seeds": 3, "nested": {"deep": {"deeper": [1, {"x": None}]}}},
        {"assignors": ["sticky", {"configs": {"a": {"b": 1}}}]},
    ],
)
def test_any_manifest_makes_a_page(manifest: dict[str, object]) -> None:
    assert parse(page(tables(), manifest)).tag == "html"


def test_the_same_input_gives_the_same_page() -> None:
    assert page(four_assignors(), MANIFEST) == ordinary()


@pytest.mark.parametrize("name", REQUIRED_TABLES)
def test_a_missing_table_is_named(name: str) -> None:
    made: dict[str, pa.Table] = {key: table for key, table in tables().items() if key != name}
    with pytest.raises(TableError, match=f"'{name}' is missing"):
        page(made, {})
