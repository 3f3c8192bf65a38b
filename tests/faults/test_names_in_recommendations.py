"""Names with markup, escape sequences, direction marks and formulas are text in every format of `recommend`."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.advise.objective import parse_limits
from pipeline.advise.recommender import RecommendationRequest, recommend
from pipeline.advise.space import current_assignor
from reports.analysis.recommendation import Recommendation, SettingChange
from reports.render.recommendation import render
from reports.render.report_formats import FORMATS
from scenarios.load import loads
from tests.assignor_sim.conftest import InProcessShell
from tests.faults.test_names_in_outputs import FORMULA, HARMFUL, MARKDOWN, MARKUP, NAMES, SCRIPT, harmful, hostile
from tests.pipeline.advise.shop_space import space_of
from tests.pipeline.advise.synthetic_runs import evaluator_of

pytestmark = pytest.mark.answers

FORMULAS = dict.fromkeys(NAMES, FORMULA) | {"name: late": "=2+2"}
"""All names are formulas; two groups of clients must differ."""


def with_standbys(values: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a run that is better without standbys, which has a single copy of each task then."""
    standbys = values["num.standby.replicas"]
    return {"active_moves": 10.0 + 5 * standbys + seed % 2, "tasks_without_rack_redundancy": 0 if standbys else 6}


def no_gain(values: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a run that depends on nothing but the seed."""
    return {"active_moves": 10.0 + seed % 2}


def recommendations() -> list[Recommendation]:
    """Return recommendations of every verdict for scenarios whose names are markup or formulas."""
    built = []
    for names in (NAMES, FORMULAS):
        scenario = loads(hostile(names), "a.yaml")
        today = current_assignor(scenario, names["label: sticky"])
        space = space_of(scenario)
        request = RecommendationRequest(Path("a.yaml"), scenario, today, space, runs=100, seeds=4)
        for formula, limits in ((with_standbys, {}), (no_gain, {}), (with_standbys, {"limits": parse_limits(moves=1)})):
            evaluator = evaluator_of(formula, space=space, **limits)
            built.append(recommend(request, evaluator))
    return built


@pytest.fixture(scope="module")
def outputs() -> dict[tuple[str, int], str]:
    """Return every format of every recommendation, and of one whose values are hostile, too."""
    built = recommendations()
    assert {recommendation.verdict for recommendation in built} == {"recommended", "already_best", "none_feasible"}
    changed = next(recommendation for recommendation in built if recommendation.changes)
    texts = (*NAMES.values(), *HARMFUL, "a\nevil.key=1")
    built += [
        replace(
            changed,
            scenario=text,
            today=text,
            objective=text,
            limits=(text,),
            remarks=(text,),
            warnings=(text,),
            changes=(SettingChange("max.warmup.replicas", text, "4", (text,)), SettingChange("a.b", text, None)),
        )
        for text in texts
    ]
    return {
        (form, number): render(recommendation, form, color=False)
        for number, recommendation in enumerate(built)
        for form in (*FORMATS, "properties")
    }


def of_format(outputs: dict[tuple[str, int], str], *formats: str) -> Sequence[str]:
    return [text for (form, _), text in outputs.items() if form in formats]


def test_no_output_has_characters_that_terminals_obey(outputs: dict[tuple[str, int], str]) -> None:
    shown = of_format(outputs, "table", "markdown", "csv", "properties")
    assert [text for text in shown if harmful(text)] == []


def test_terminal_shows_markup_as_it_is(outputs: dict[tuple[str, int], str]) -> None:
    joined = re.sub(r"\s+", "", "".join(of_format(outputs, "table")))
    for name in (SCRIPT, MARKUP, MARKDOWN):
        assert re.sub(r"\s+", "", name) in joined, name


def test_markdown_has_no_markup_of_names(outputs: dict[tuple[str, int], str]) -> None:
    for text in of_format(outputs, "markdown"):
        assert not any(markup in text for markup in ("<script", "![c](d)", "**b**"))
        assert not re.search(r"(?<!\\)\[", text)
        bars = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| mean")}
        assert len(bars) <= 1, text


def test_csv_has_no_formulas_and_no_names(outputs: dict[tuple[str, int], str]) -> None:
    for text in of_format(outputs, "csv"):
        _, *rows = csv.reader(io.StringIO(text))
        for name, *figures in rows:
            assert re.fullmatch(r"[a-z_]+", name)
            assert all(not figure or float(figure) is not None for figure in figures)


def test_properties_have_the_recommended_keys_only(outputs: dict[tuple[str, int], str]) -> None:
    for text in of_format(outputs, "properties"):
        keys = [line.partition("=")[0] for line in text.split("\n") if line and not line.startswith("#")]
        assert set(keys) <= {"num.standby.replicas", "max.warmup.replicas"}, text


def test_json_is_well_formed(outputs: dict[tuple[str, int], str]) -> None:
    names = {json.loads(text)["scenario"] for text in of_format(outputs, "json")}
    assert names >= {SCRIPT, FORMULA, *HARMFUL}


@pytest.mark.parametrize("option", ["--today", "--keep", "--assignor", "--objective", "--max-downtime", "-o"])
def test_option_is_refused_without_obeying_its_characters(tmp_path: Path, option: str) -> None:
    shell = InProcessShell(tmp_path)
    (tmp_path / "a.yaml").write_text(hostile(NAMES), encoding="utf-8")
    words = () if option == "--objective" else ("--objective", "moves")
    result = shell("recommend", "a.yaml", *words, option, f"x/{''.join(HARMFUL)}{SCRIPT}")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert harmful(result.err) == []
