"""The section of a plan folder: comparison, loads before and after, and matrices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from reports.analysis.plans.broker_tables import disk_usage_grid, load_distributions, move_matrices
from reports.analysis.plans.conclusion import conclude_plans
from reports.analysis.plans.results import CRITERIA, TODAY, PlanRow
from reports.analysis.text import printable
from reports.render.figures.plan_figures import plan_figures
from reports.render.page import page
from reports.render.plan_page import criterion_lines
from tests.reports.render.test_page import parse, text_of
from tests.reports.render.test_page_safety import inner
from tests.reports.sample_plans import EVEN, NAMES, results
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import HOSTILE, MANIFEST

pytestmark = pytest.mark.answers

NAME_GROUPS = (HOSTILE[:5], HOSTILE[5:10], HOSTILE[6:])


@cache
def sample_page() -> str:
    return page(None, plans=[results()])


@cache
def hostile_page() -> str:
    """Return a page of three plan folders with every hostile name; each name of a folder also contains markup."""
    return page(None, plans=[results(hostile_names(names)) for names in NAME_GROUPS])


def hostile_names(names: Sequence[str]) -> list[str]:
    return [f"{name}<b>&{role}" for name, role in zip(names, NAMES, strict=True)]


def table(text: str, name: str) -> list[list[str]]:
    [match] = [element for element in parse(text).iter("table") if element.get("data-csv") == name]
    return [[text_of(cell) for cell in row] for row in match.iter("tr")]


def table_names(text: str) -> list[str]:
    return [element.get("data-csv", "") for element in parse(text).iter("table")]


def test_command_is_shown_in_lines_that_can_be_copied() -> None:
    chosen = conclude_plans(results()).chosen
    rows = [replace(row, folder="out") if row.strategy == chosen else row for row in results().rows]
    shown = parse(page(None, plans=[replace(results(), rows=rows)]))
    [command] = [element for element in shown.iter("pre") if element.get("class") == "command"]
    assert "".join(command.itertext()).splitlines() == [
        "kafka-reassign-partitions.sh --bootstrap-server BROKER:9092 --execute \\",
        "    --reassignment-json-file out/reassignment.json",
    ]


def test_comparison_brackets_non_objectives_and_has_no_star_if_all_plans_but_one_violate_rules() -> None:
    lines = {line[0]: line[1:] for line in table(sample_page(), "plan-1-comparison")}
    assert lines[""] == ["today", "evenfeasible", "greedyfeasible"]
    assert lines["Replicas per broker (max − min)"] == ["44", "00", "22"]
    assert lines["Leaders per broker (max − min)"] == ["33", "11", "(2)2"]
    assert lines["Replicas moved"] == ["–", "4", "(2)"]
    assert "Second run" not in lines


def test_page_starts_with_recommendation_and_its_figures() -> None:
    conclusion = conclude_plans(results())
    texts = [text_of(element) for element in parse(sample_page()).iter("p") if element.get("class") == "conclusion"]
    assert texts == [" ".join(conclusion.sentences)]
    head, today, chosen, *_ = table(sample_page(), "plan-1-answer-headline")
    assert head[0] == "Plan"
    assert today[0].startswith("today")
    assert chosen[0].startswith("evenrecommended")
    assert chosen[1] == "★ 0"
    assert table_names(sample_page())[0] == "plan-1-answer-headline"


def test_notes_on_a_single_plan_explain_no_star() -> None:
    notes = {
        plans: [text_of(element) for element in parse(text).iter("p") if "better in every" in text_of(element)]
        for plans, text in (
            ("one", page(None, plans=[results(plans={"even": EVEN})])),
            ("two", sample_page()),
        )
    }
    assert [note[:15] for note in notes["one"]] == ["Lower is better", "Lower is better"]
    assert not any("sort" in note for note in notes["one"])
    assert all(note.startswith("★") for note in notes["two"])


@pytest.mark.slow
def test_page_of_many_plans_is_small() -> None:
    plans = {f"plan-{number}": EVEN for number in range(12)}
    text = page(None, plans=[results(plans=plans, extra=6)])
    assert len(text.encode()) < 1_500_000


def starred(figures: Sequence[dict[str, float]], aims: Sequence[str] = CRITERIA) -> dict[str, list[int]]:
    """Return the positions of the plans with a star, by title of the criterion."""
    rows = [PlanRow(TODAY, figures={"replicas_range": 9, "leaders_range": 9}, aims=frozenset(CRITERIA))]
    rows += [PlanRow(f"plan{n}", "feasible", figures=row, aims=frozenset(aims)) for n, row in enumerate(figures)]
    return {
        line.column.title: stars
        for line in criterion_lines(rows)
        if (stars := [position for position, (_, best, _) in enumerate(line.cells, -1) if best])
    }


def test_plan_that_copies_nothing_has_no_star() -> None:
    idle = {"replicas_moved": 0, "bytes_moved": 0, "replicas_range": 3, "leaders_range": 3}
    some = {"replicas_moved": 4, "bytes_moved": 40, "replicas_range": 2, "leaders_range": 2}
    more = {"replicas_moved": 6, "bytes_moved": 90, "replicas_range": 1, "leaders_range": 1}
    assert starred([idle, some, more]) == {
        "Replicas": [2], "Leaders": [2], "Replicas moved": [1], "Bytes copied": [1],
    }  # fmt: skip
    assert starred([idle, some]) == {}, "one plan is not better than another"


def test_plan_that_only_changes_leaders_can_be_best_for_leaders() -> None:
    led = {"replicas_moved": 0, "leaders_changed_by_order": 2, "leaders_changed_by_copy": 0, "leaders_range": 0}
    copied = {"replicas_moved": 4, "leaders_changed_by_order": 3, "leaders_changed_by_copy": 1, "leaders_range": 1}
    assert starred([led, copied]) == {"Leaders": [0]}
    assert starred([led, copied], aims=["storage"]) == {}, "not an objective"


def test_plan_that_violates_a_rule_has_no_star() -> None:
    broken = {"replicas_moved": 1, "replicas_range": 0, "broken_rack": 1}
    kept = [{"replicas_moved": 2 + n, "replicas_range": 5 - n, "broken_rack": 0} for n in range(2)]
    assert starred([broken, *kept]) == {"Replicas": [2], "Replicas moved": [1]}


def test_notes_and_reasons_are_below_comparison() -> None:
    items = [text_of(element) for element in parse(sample_page()).iter("li")]
    assert "1 partition of prod is not in sync" in items
    assert "greedy and more: not applicable: it cannot drain" in items


def test_loads_are_those_of_the_table_of_brokers() -> None:
    for load in load_distributions(results()):
        rows = results().tables["brokers"].to_pylist()
        for strategy, values in {TODAY: load.before, **load.after}.items():
            strategy_rows = [row for row in rows if row["strategy"] == strategy]
            by_name = dict(zip(load.names, values, strict=True))
            if load.level == "broker":
                assert by_name == {str(row["broker"]): row[load.measure.name] for row in strategy_rows}
            else:
                assert sum(values) == sum(row[load.measure.name] for row in strategy_rows)
    assert table(sample_page(), "plan-1-leaders_per_broker") == [
        ["Broker", "today", "even", "greedy"],
        ["2 (az1)", "1", "2", "1"],
        ["4 (az1)", "0", "1", "1"],
        ["1 (az2)", "3", "1", "3"],
        ["3 (az2)", "1", "2", "1"],
        ["9 (no rack)", "1", "0", "0"],
    ]


def test_unknown_sizes_and_racks_have_no_figure_and_no_table() -> None:
    assert [(load.measure.name, load.level) for load in load_distributions(results(sizes=False, racks=False))] == [
        ("leaders", "broker"), ("replicas", "broker"),
    ]  # fmt: skip
    text = page(None, plans=[results(sizes=False, racks=False)])
    assert "bytes_per" not in text
    assert "n/a" in [cell for line in table(text, "plan-1-pairs-1") for cell in line]
    assert disk_usage_grid(results(sizes=False)) is None


def test_matrices_have_sources_and_targets_of_moves_and_copies() -> None:
    assert table(sample_page(), "plan-1-moves-1") == [
        ["from \\ to", "3", "4"], ["1", "", "11 GB"], ["2", "", "14 GB"], ["3", "", "12 GB"], ["9", "14 GB", ""],
    ]  # fmt: skip
    # Broker 9 is missing; broker 2 leads its partition.
    assert table(sample_page(), "plan-1-copies-1") == [
        ["from \\ to", "3", "4"], ["1", "", "23 GB"], ["2", "14 GB", "14 GB"],
    ]  # fmt: skip


def test_additional_replicas_have_their_own_row() -> None:
    more_replicas = results(plans={"more": [(*row, 4) if row[0] != 4 else (*row, 3) for row in EVEN]})
    [matrix] = move_matrices(more_replicas, "move")
    assert matrix.sources[-1] == "additional"
    assert "additional: higher replication factor" in page(None, plans=[more_replicas])
    assert "additional: higher replication factor" not in sample_page()


def test_plans_without_moves_say_so() -> None:
    unchanged = results(plans={"still": [(1, 2), (1, 3), (2, 3), (2, 3), (3, 1), (1, 2)]})
    no_moves = replace(unchanged, tables={**unchanged.tables, "moves": unchanged.tables["moves"].slice(0, 0)})
    text = page(None, plans=[no_moves])
    assert "No plan moves a replica." in text
    assert "replicas_moved" not in plan_figures(no_moves)


@pytest.mark.parametrize("make", [sample_page, hostile_page])
def test_page_of_plans_is_self_contained(make: type[str]) -> None:
    text = make()
    tree = parse(text)
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    links = [value for element in tree.iter() for name, value in element.attrib.items() if name in ("href", "src")]
    assert {link for link in links if link != "data:,"} <= {f"#{id_}" for id_ in ids}
    assert len(table_names(text)) == len(set(table_names(text)))
    assert inner(text, "style")
    assert not [name for element in tree.iter() for name in element.attrib if name == "style" or name.startswith("on")]


@pytest.mark.parametrize(("number", "names"), list(enumerate(NAME_GROUPS, 1)))
def test_hostile_names_are_drawn_as_text(number: int, names: Sequence[str]) -> None:
    text = hostile_page()
    printed = [re.sub(r"\s+", " ", printable(name)).strip() for name in hostile_names(names)]
    cluster, even, greedy, *racks = printed
    assert table(text, f"plan-{number}-comparison")[0][1:] == ["today", f"{even}feasible", f"{greedy}feasible"]
    assert {line[0] for line in table(text, f"plan-{number}-leaders_per_rack")} == {"Rack", *racks, "no rack"}
    assert any(cluster in text_of(element) for element in parse(text).iter("h1"))
    assert not {"\x1b", "\u202e"} & set(text)


def test_plans_follow_runs_on_a_common_page() -> None:
    text = page(player_runs(), MANIFEST, plans=[results(sizes=False, racks=False)] * 2)
    sections = [element.get("id", "") for element in parse(text).iter("h2")]
    assert sections[-4:] == ["plan-1", "plan-2", "reading", "making"]
    assert sections[0] == "answer"
    assert "reading" not in [element.get("id", "") for element in parse(sample_page()).iter("h2")]


def test_plans_of_several_folders_have_titles_and_common_definitions() -> None:
    plans = results(sizes=False, racks=False)
    folders = [replace(plans, manifest={"directory": name, **plans.manifest}) for name in ("before", "after")]
    tree = parse(page(None, plans=folders))
    assert [text_of(element) for element in tree.iter("h2")] == [
        "Conclusion: before: prod", "Conclusion: after: prod",
        "Plans in before: prod: 5 brokers", "Plans in after: prod: 5 brokers",
    ]  # fmt: skip
    assert sum(text_of(element) == "Definitions" for element in tree.iter("h3")) == 1


def test_batches_add_up_to_plan() -> None:
    head, *lines = table(sample_page(), "plan-1-batches-1")
    assert head == ["Batch", "Partitions", "Replicas to copy", "Bytes to copy", "Elections"]
    assert [line[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    [moved] = [line[1:] for line in table(sample_page(), "plan-1-comparison") if line[0] == "Replicas moved"]
    assert sum(int(line[2]) for line in lines) == int(moved[1])


def test_page_is_reproducible() -> None:
    assert page(None, plans=[results()]) == sample_page()
