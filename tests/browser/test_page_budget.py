"""Size and first paint of a page of many tasks, clients and rebalances, and its compressed data."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import expect

from reports.render.html import shell
from reports.render.page import page as report_page
from simulator.results.tables import SCHEMAS
from tests.browser.conftest import Open
from tests.browser.test_page import chips, panel, seek
from tests.reports.sample_player_runs import player_runs
from tests.reports.sample_runs import MANIFEST, MINUTE_MS, run_rounds, tables
from tests.reports.sample_sweep import sweep

pytestmark = pytest.mark.browser

TASKS, CLIENTS, ROUNDS, MOVES = 1_000, 100, 200, 12
MAX_BYTES = 1_500_000
MAX_NODES, MAX_NODES_WITH_SCRIPTS = 25_000, 40_000
"""With 20,000 nodes in the markup, the first paint takes 0.2 to 0.4 s on two busy cores."""
ASSIGNORS = ("HA", "HA min_traffic", "streams sticky", "legacy sticky")


def large_run(assignor: str, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Return a run that moves some tasks in each of 200 rounds; each move is a short downtime."""
    random = Random(seed)
    names = [f"{number // 500}_{number % 500}" for number in range(TASKS)]
    clients = [f"client-{number}" for number in range(CLIENTS)]
    owners = [random.randrange(CLIENTS) for _ in names]
    standbys = [random.randrange(CLIENTS) for _ in names]
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ("assignments", "moves", "task_states")}
    for number in range(1, ROUNDS + 1):
        at_ms = (number - 1) * 2 * MINUTE_MS
        moved = random.sample(range(TASKS), MOVES) if number > 1 else range(TASKS)
        for task in moved:
            old = clients[owners[task]]
            owners[task], standbys[task] = standbys[task], random.randrange(CLIENTS)
            new, name = clients[owners[task]], names[task]
            if number > 1:
                move = {"round": number, "at_ms": at_ms, "task": name, "from_client": old, "to_client": new}
                rows["moves"].append({**move, "role": "active", "reason": "promoted"})
            for after_ms, state in ((0, "assigned"), (random.randrange(1, 9_000), "running")):
                rows["task_states"].append({"at_ms": at_ms + after_ms, "task": name, "state": state, "client": new})
        for task, name in enumerate(names):
            for role, client in (("active", owners[task]), ("standby", standbys[task])):
                rows["assignments"].append({"round": number, "task": name, "client": clients[client], "role": role})
    rows["task_states"].sort(key=lambda row: row["at_ms"])
    rows["clients"] = [
        {"client": client, "rack": f"az{n % 3}", "threads": 4, "from_round": 1} for n, client in enumerate(clients)
    ]
    rows["tasks"] = [{"task": name, "stateful": True, "downtime_ms": random.randrange(99_999)} for name in names]
    points = [(2 * number, random.uniform(3e8, 4e8), random.randrange(400)) for number in range(ROUNDS)]
    rows["rounds"] = run_rounds(assignor, points, until_min=500)
    return {
        name: [{**MANIFEST_KEY, **row, "assignor": assignor} for row in of_table] for name, of_table in rows.items()
    }


MANIFEST_KEY = {"scenario": "rack_outage", "seed": 7}


@cache
def large_page() -> str:
    runs = [large_run(assignor, seed) for seed, assignor in enumerate(ASSIGNORS)]
    results = tables([{"assignor": assignor} for assignor in ASSIGNORS], [row for run in runs for row in run["rounds"]])
    for name in ("assignments", "moves", "task_states", "clients", "tasks"):
        rows = [row for run in runs for row in run[name]]
        results[name] = pa.Table.from_pylist(rows, schema=SCHEMAS[name])
    return report_page(results, MANIFEST)


@pytest.mark.slow
def test_large_page_is_small_and_paints_quickly(open_page: Open) -> None:
    text = large_page()
    assert len(text.encode()) < MAX_BYTES
    assert text.count('type="application/gzip"') == 1
    # The first paint needs the markup only; its nodes, unlike times, do not depend on the machine.
    assert open_page(text, scripts=False).locator("*").count() < MAX_NODES
    page = open_page(text)
    expect(panel(page, 1)).to_contain_text(f"Round 1 of {ROUNDS}")
    assert page.locator("*").count() < MAX_NODES_WITH_SCRIPTS


def test_compressed_data_give_the_same_page(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "COMPRESSED_FROM", 0)
    text = report_page(player_runs(), MANIFEST, sweeps=[sweep()])
    assert text.count('type="application/gzip"') == 3
    assert text == report_page(player_runs(), MANIFEST, sweeps=[sweep()])
    page = open_page(text)
    expect(panel(page, 1)).to_be_visible()
    seek(page, 2)
    assert chips(page, 2, "first")[0] == "0_0, running"
    expect(page.locator("#sweep-1-front-here .mark")).to_have_count(8)
    page.get_by_label("Kind of traffic").select_option("restore_read")
    expect(page.locator("table.matrix").first.locator("tbody tr").first.locator("td").nth(1)).to_have_text("1 GB")
