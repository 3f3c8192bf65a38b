"""Load of clients in the last round, and its figure."""

from __future__ import annotations

import pytest

from reports.analysis.comparison import TableError
from reports.analysis.runs.grids import ClientLoad, client_loads, load_grid
from reports.render.figures.run_figures import figure_bytes, load_per_thread
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import tables


def test_clients_of_last_round_are_listed_by_decreasing_load() -> None:
    assert client_loads(player_runs())["eager"] == [
        ClientLoad("first", "az1", 2, 1, 2),
        ClientLoad("late", "az1", 2, 2, 0),
        ClientLoad("away", "az2", 2, 1, 0),
    ]
    assert [load.per_thread for load in client_loads(player_runs())["calm"]] == [2.0, 0.5, 0.0]


def test_client_missing_for_an_assignor_is_a_dash() -> None:
    grid = load_grid({"a": [ClientLoad("x", "az1", 1, 1, 0)], "b": []})
    [(client, cells)] = grid.lines
    assert client == "x"
    assert [cell.text for cell in cells] == ["1", "–"]


def test_curves_and_clients_lie_inside_axes() -> None:
    [axes] = load_per_thread(player_runs()).axes
    assert [line.get_label() for line in axes.lines] == ["eager", "calm"]
    assert [list(line.get_ydata()) for line in axes.lines] == [[1.5, 1.0, 0.5], [2.0, 0.5, 0.0]]
    left, right = axes.get_xlim()
    assert left < 1 < 3 < right < 4
    assert axes.get_ylim()[1] > 2


def test_coinciding_curves_are_offset() -> None:
    [axes] = load_per_thread(player_runs()).axes
    heights = [line.get_transform().transform((1, 1))[1] for line in axes.lines]
    assert abs(heights[0] - heights[1]) > 2


def test_figure_without_assignments_says_so() -> None:
    [axes] = load_per_thread(tables()).axes
    assert [text.get_text() for text in axes.texts] == ["no assignment"]
    assert figure_bytes(load_per_thread(tables(), narrow=True), "svg")


def test_missing_table_is_rejected() -> None:
    with pytest.raises(TableError, match="'clients' is missing"):
        client_loads({name: table for name, table in tables().items() if name != "clients"})
