"""The result of `sim.run`: in a notebook or at a prompt, saved, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

import assignor_sim as sim
from tests.assignor_sim.conftest import SMALL


@pytest.fixture(scope="module")
def result() -> sim.RunResult:
    return sim.run(sim.loads(SMALL))


@pytest.fixture(scope="module")
def saved(result: sim.RunResult, tmp_path_factory: pytest.TempPathFactory) -> sim.RunResult:
    return sim.open(result.save(tmp_path_factory.mktemp("saved") / "result"))


def test_notebook_shows_a_table_with_warnings(result: sim.RunResult) -> None:
    text = result._repr_html_()
    assert text.count("<tr>") == 3
    assert "<bdi>high_availability</bdi>" in text
    unusual = sim.run(sim.loads(SMALL), "streams_group_sticky")
    assert unusual.warnings
    assert unusual._repr_html_().startswith("<p>⚠ ")


def test_repr_is_one_line_and_str_is_the_table(result: sim.RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert repr(result) == "<RunResult of high_availability, sticky in small>"
    assert "high_availability" in str(result)


def test_tables_are_data_frames(result: sim.RunResult) -> None:
    assert result.summary()["assignor"].tolist() == ["high_availability", "sticky"]
    assert result.to_pandas().equals(result.summary())
    assert len(result.to_pandas("rounds")) == result.tables["rounds"].num_rows


def test_figures_are_methods(result: sim.RunResult) -> None:
    figure = result.plot.convergence()
    assert figure.axes
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert "cross_rack_traffic" in dir(result.plot)


def test_traces_have_label_and_seed_as_keys(result: sim.RunResult) -> None:
    assert list(result.traces) == [("high_availability", 1), ("sticky", 1)]
    with pytest.raises(sim.ResultsError, match="has 2 traces"):
        _ = result.trace
    single = sim.run(sim.loads(SMALL), "sticky", capture=True)
    assert len(single.trace.rounds) == len(single.trace.captured_rounds) == single.tables["rounds"].num_rows


def test_explanations_are_the_same_in_memory_and_from_a_directory(result: sim.RunResult, saved: sim.RunResult) -> None:
    task = next(row["task"] for row in result.tables["moves"].to_pylist() if row["assignor"] == "high_availability")
    explanations = result.explain(task, assignor="high_availability")
    assert len(explanations) == 1
    assert not explanations.remarks
    assert not explanations[0].lacks_break_evens
    assert str(explanations).startswith(f"{task} in small")
    assert str(saved.explain(task, assignor="high_availability")) == str(explanations)


def test_saved_result_has_the_same_tables_and_no_trace(result: sim.RunResult, saved: sim.RunResult) -> None:
    assert saved.tables == result.tables
    assert saved.labels == result.labels
    assert saved.warnings == result.warnings
    assert str(saved) == str(result)
    with pytest.raises(sim.ResultsError, match="holds tables, not traces; simulate again"):
        _ = saved.trace
    with pytest.raises(sim.ResultsError, match="is saved already"):
        saved.save("elsewhere")


def test_report_is_an_html_page(result: sim.RunResult, tmp_path: Path) -> None:
    page = result.report(tmp_path / "page.html")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_open_rejects_other_directories(tmp_path: Path) -> None:
    with pytest.raises(sim.ResultsError, match="not a result directory"):
        sim.open(tmp_path)
    (tmp_path / "manifest.json").write_text('{"kind": "plan"}')
    with pytest.raises(sim.ResultsError, match=r"kind: holds 'plan', expected runs"):
        sim.open(tmp_path)
