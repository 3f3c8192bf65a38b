"""The question that the runs of a scenario answer: what happens to which application."""

from __future__ import annotations

from collections.abc import Sequence

from reports.analysis.comparison import Tables, rows_of_run, table_rows
from reports.analysis.formatting import format_clock, format_count
from reports.analysis.runs.breakdowns import Key
from reports.analysis.text import printable, shortened
from simulator.plurals import counted, plural

MAX_EVENTS = 3
"""Maximum number of events in a question."""

_EVENT_CHARS = 90


def question(tables: Tables, scenario: str) -> str:
    """Return the question in one sentence, followed by the events of the first run.

    `tables`: must hold `runs`, `tasks`, `clients`, `convergence` and `events`. Returns, for example `What happens to
    174 tasks (120 stateful) on 15 clients in 3 racks? Event: join of 3 clients (new-0, new-1, new-2) at 0:30:00.`.
    """
    keys = _runs(tables, scenario)
    if not keys:
        return ""
    key, seed = keys[0]
    stateful = rows_of_run(tables, "tasks", key, seed)["stateful"].to_pylist()
    clients = {row["client"]: row["rack"] for row in rows_of_run(tables, "clients", key, seed).to_pylist()}
    racks = {rack for rack in clients.values() if rack is not None}
    tasks = f"{counted(len(stateful), 'task')} ({format_count(sum(stateful))} stateful)"
    where = f" on {counted(len(clients), 'client')}" + (f" in {counted(len(racks), 'rack')}" if racks else "")
    return f"What happens to {tasks}{where}? {_events_text(scenario_events(tables, scenario))}"


def scenario_events(tables: Tables, scenario: str) -> list[tuple[int, str]]:
    """Return time and label of each event of a scenario, as in the runs of its first seed.

    Events are those that caused a rebalance with any assignor, as listed in the table `convergence`. If there are none,
    they are the changes of the first run.
    """
    keys = _runs(tables, scenario)
    if not keys:
        return []
    first_by_number: dict[int, tuple[int, str]] = {}
    seed = keys[0][1]
    for key, run_seed in keys:
        if run_seed == seed:
            for row in rows_of_run(tables, "convergence", key, seed).to_pylist():
                if row["number"]:
                    event = (row["at_ms"], row["event"])
                    first_by_number[row["number"]] = min(event, first_by_number.get(row["number"], event))
    if first_by_number:
        return sorted(first_by_number.values())
    return [(row["at_ms"], row["event"]) for row in rows_of_run(tables, "events", *keys[0]).to_pylist()]


def _runs(tables: Tables, scenario: str) -> list[tuple[Key, int]]:
    return [
        ((run["scenario"], run["assignor"]), run["seed"])
        for run in table_rows(tables, "runs")
        if run["scenario"] == scenario
    ]


def _events_text(events: Sequence[tuple[int, str]]) -> str:
    if not events:
        return "The scenario has no events after the start."
    texts = [
        f"{shortened(printable(event), _EVENT_CHARS)} at {format_clock(at_ms)}" for at_ms, event in events[:MAX_EVENTS]
    ]
    more = len(events) - len(texts)
    listed = ", ".join(texts) + (f" and {counted(more, 'more event')}" if more else "")
    return f"{plural(len(events), 'Event')}: {listed}."
