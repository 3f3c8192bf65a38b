"""docs/reference/releases.md and the table of docs/reference/parity.md, from the stored measurement."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any, Final

from assignor_sim.api.releases import releases
from assignors import registry
from reports.analysis.release_changes import ReleaseChanges, UpgradeEffect, cause_sentence, share
from reports.analysis.release_differences import (
    ALL,
    THREADS,
    AssignorHistory,
    Measurement,
    ReleaseDifferences,
    measured_differences,
)
from scenarios.problems import Problem, solve_problem
from simulator.plurals import counted
from tools.kafka_oracle import parity_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "releases.md"
BEGIN = "<!-- Below: made by `make releases`. -->\n"
END = "<!-- Above: made by `make releases`. -->\n"


def run_page() -> int:
    """Write docs/reference/releases.md, for which scenarios are simulated, and the table of parity.md."""
    measured = measured_differences()
    brokers, clients = measured.brokers.patches, client_patches(measured)
    pairs = list(dict.fromkeys([*pairwise(clients), *pairwise(brokers)]))
    changes = {
        pair: releases(*pair, on_progress=lambda step: print(step, file=sys.stderr, flush=True)) for pair in pairs
    }
    on_brokers = [(changes[pair], changes[pair].effects) for pair in pairwise(brokers)]
    on_clients = [(changes[pair], changes[pair].client_effects) for pair in pairwise(clients)]
    sections = [
        answer_sections(measured),
        effect_sections("brokers", on_brokers, brokers),
        effect_sections("clients", on_clients, clients),
    ]
    write_section(PAGE, "\n".join(sections))
    write_section(parity_page.PAGE, parity_section(measured))
    return 0


def client_patches(measured: ReleaseDifferences) -> dict[str, str]:
    """Return the releases of clients to simulate, with their patches: the measured ones, and newer ones of brokers."""
    newest = list(measured.clients.patches)[-1]
    later = measured.releases[measured.releases.index(newest) + 1 :]
    return {**measured.clients.patches, **{release: measured.brokers.patches[release] for release in later}}


def answer_sections(measured: ReleaseDifferences) -> str:
    """Return the tables of different answers: per pair of consecutive releases, and by kind where there are any."""
    parts = ["## Different answers\n"]
    for measurement, histories in _measured_parts(measured):
        parts.append(_shares(measurement, histories))
        parts.append(_origin(measurement))
    parts.append("## Kinds of differences\n")
    for history in measured.assignors.values():
        for older, newer in pairwise(history.releases):
            whole = history.between(older, newer)
            if whole.different:
                patches = _measurement(measured, history).patches
                parts.append(f"`{history.name}`, Kafka {patches[older]} to {patches[newer]}:\n")
                parts.append(_kinds(history, older, newer))
                parts.append(f"{cause_sentence(whole, history.equal_without[older, newer])}\n")
                parts.append(_smallest_case(history, older, newer, patches))
                if history.equal_without[older, newer].get("offsets"):
                    parts.append(_smallest_case(history, older, newer, patches, by_offsets=True))
    return "\n".join(parts)


def parity_section(measured: ReleaseDifferences) -> str:
    """Return the table for docs/reference/parity.md: the share of answers that differ from the newest release's."""
    releases_ = measured.releases
    rows = []
    for history in measured.assignors.values():
        newest = history.releases[-1]
        cells = [
            "–"
            if release not in history.releases
            else "0"
            if release == newest
            else share(history.between(release, newest))
            for release in releases_
        ]
        rows.append([_shown(history), f"{history.problems[ALL]:,}", *cells])
    patches = measured.clients.patches, measured.brokers.patches
    heads = [_patches(release, *(found.get(release) for found in patches)) for release in releases_]
    table = _table(["assignor", "problems", *heads], rows)
    return f"{table}\n{_origin(measured.clients)}\n{_origin(measured.brokers)}"


def effect_sections(
    what: str, changes: Sequence[tuple[ReleaseChanges, Sequence[UpgradeEffect]]], patches: Mapping[str, str]
) -> str:
    """Return what an upgrade changes in the shipped scenarios.

    `what`: brokers or clients.
    """
    parts = [f"## Upgrades of {what} in the shipped scenarios\n"]
    for change, effects in changes:
        older, newer = patches[change.older], patches[change.newer]
        parts.append(f"### {what.capitalize()} from Kafka {older} to {newer}\n")
        rows = [row for effect in effects for row in effect_rows(effect)]
        heads = ["scenario", "assignor", "figure", f"Kafka {older}", f"Kafka {newer}"]
        same = [f"{effect.scenario} ({effect.assignor})" for effect in effects if not list(effect.changes())]
        if rows:
            parts.append(_table(heads, rows))
        if same:
            parts.append(f"No figure changes in {', '.join(same)}.\n")
        if what == "clients":
            is_all = not effects
            parts.append(f"Clients of both releases behave alike in {'all' if is_all else 'the other'} scenarios.\n")
    return "\n".join(parts)


def effect_rows(effect: UpgradeEffect) -> Iterator[list[str]]:
    """Yield a row per figure that changes."""
    for title, before, after in effect.changes():
        yield [effect.scenario, effect.assignor, title, before, after]


def write_section(page: Path, text: str) -> None:
    """Replace the generated section of a page; raise ValueError if the page has no such section."""
    page.write_text(replaced(page.read_text(encoding="utf-8"), text, page.name), encoding="utf-8")


def replaced(content: str, text: str, name: str) -> str:
    """Return the content of a page with another generated section; raise ValueError if the page has no such section."""
    head, begin, rest = content.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{name} has no section between {BEGIN.strip()} and {END.strip()}")
    return f"{head}{BEGIN}\n{text}\n{END}{tail}"


def generated(content: str) -> str:
    """Return the generated section of a page."""
    return content.partition(BEGIN)[2].partition(END)[0].strip("\n") + "\n"


def _measured_parts(measured: ReleaseDifferences) -> Iterator[tuple[Measurement, list[AssignorHistory]]]:
    for measurement in (measured.brokers, measured.clients):
        histories = measured.assignors.values()
        yield measurement, [found for found in histories if _measurement(measured, found) is measurement]


def _measurement(measured: ReleaseDifferences, history: AssignorHistory) -> Measurement:
    return measured.brokers if history.releases == tuple(measured.brokers.patches) else measured.clients


def _shares(measurement: Measurement, histories: Sequence[AssignorHistory]) -> str:
    pairs, patches = list(pairwise(measurement.patches)), measurement.patches
    rows = [
        [_shown(history) if family == ALL else "", family, f"{history.problems[family]:,}"]
        + [share(history.between(*pair, family)) for pair in pairs]
        for history in histories
        for family in sorted(history.problems, key=lambda name: (name != ALL, name))
    ]
    return _table(
        ["assignor", "problems with", "problems", *(f"{patches[older]} → {patches[newer]}" for older, newer in pairs)],
        rows,
    )


def _kinds(history: AssignorHistory, older: str, newer: str) -> str:
    rows = []
    for family in sorted(history.problems, key=lambda name: (name != ALL, name)):
        found = history.between(older, newer, family)
        counts = (found.different, found.in_production, found.actives, found.standbys, found.order_only, found.other)
        rows.append([family, f"{found.problems:,}", *(share(found, count) for count in counts)])
    heads = [
        "problems with",
        "problems",
        "different",
        "in production",
        "active tasks",
        "standbys only",
        "order only",
        "other",
    ]
    return _table(heads, rows)


def _smallest_case(
    history: AssignorHistory, older: str, newer: str, patches: Mapping[str, str], *, by_offsets: bool = False
) -> str:
    case = smallest_case(history.name, older, newer, by_offsets=by_offsets)
    assert case is not None, "a few small problems have different answers"
    heads = ["process", "threads", "before", f"Kafka {patches[older]}", f"Kafka {patches[newer]}"]
    what = "Smallest case that depends on offsets" if by_offsets else "Smallest case"
    sizes = counted(len(case.problem["tasks"]), "task"), counted(case.standbys, "standby", "standbys")
    return f"{what}: {' with state, '.join(sizes)}.\n\n{_table(heads, list(case_rows(case)))}"


def _patches(release: str, *patches: str | None) -> str:
    known = list(dict.fromkeys(patch for patch in patches if patch is not None))
    return " / ".join(known) or release


def _shown(history: AssignorHistory) -> str:
    return history.name if history.name == THREADS else f"`{history.name}`"


def _origin(measurement: Measurement) -> str:
    return f"Kafka {', '.join(measurement.patches.values())}; {measurement.date}: `{measurement.command}`\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, *rows]
    head, *body = (f"| {' | '.join(line)} |\n" for line in lines)
    return "".join([head, "|---" * len(heads) + "|\n", *body])


# The smallest problems that two releases answer differently, found by drawing problems of growing size.

_DRAWS: Final = 400
"""Problems of each number of tasks, processes and standbys."""

_MAX_TASKS: Final = 5
_MAX_PROCESSES: Final = 3
_RECORDS: Final = 100
"""Records of each changelog."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SmallestCase:
    """A problem with the answers of two releases, which differ.

    Attributes:
        problem: the problem, as in `scenarios.problems`.
        older: the assignment of the older release.
        newer: that of the newer one.
    """

    problem: Json
    older: Json
    newer: Json

    @property
    def standbys(self) -> int:
        """`num.standby.replicas`."""
        return int(self.problem["configs"]["num_standby_replicas"])


def smallest_case(name: str, older: str, newer: str, *, by_offsets: bool = False) -> SmallestCase | None:
    """Return the smallest problem found, by tasks, processes and standbys, then threads and previous tasks.

    `by_offsets`: whether the answers must be the same when the processes report no offsets. Returns None if all drawn
    problems have the same answers. Problems depend on their size only.
    """
    infos = [registry.find(f"{name}@{release}") for release in (older, newer)]

    def answers(problem: Json) -> list[Json]:
        return [solve_problem(Problem(0, problem), "drawn", info)["assignment"] for info in infos]

    sizes = product(range(1, _MAX_TASKS + 1), range(1, _MAX_PROCESSES + 1), range(2))
    for size in sorted(sizes, key=lambda size: (sum(size), size)):
        cases = []
        for problem in _problems(*size):
            given = answers(problem)
            if _differs(given) and not (by_offsets and _differs(answers(_without_offsets(problem)))):
                cases.append(SmallestCase(problem, *given))
        if cases:
            return min(cases, key=lambda case: _details(case.problem))
    return None


def _differs(answers: list[Json]) -> bool:
    return answers[0] != answers[1]


def _without_offsets(problem: Json) -> Json:
    return {**problem, "clients": [{**client, "task_offsets": {}} for client in problem["clients"]]}


def _problems(tasks: int, processes: int, standbys: int) -> Iterator[Json]:
    """Yield random problems of a size: one subtopology with state, and processes that had some of its tasks."""
    names = [f"0_{number}" for number in range(tasks)]
    for number in range(_DRAWS):
        draw = Random(f"{tasks}/{processes}/{standbys}/{number}")
        clients = [
            {
                "process_id": f"00000000-0000-0000-0000-00000000000{place + 1}",
                "threads": draw.randint(1, 2),
                "previous_active": [],
                "previous_standby": [],
                "task_offsets": {},
            }
            for place in range(processes)
        ]
        reports = draw.random() < 0.5
        for name in names:
            holders = draw.sample(range(processes), draw.randint(0, processes))
            for holder in holders:
                is_active = holder == holders[0] and draw.random() < 0.7
                clients[holder]["previous_active" if is_active else "previous_standby"].append(name)
                if reports:
                    clients[holder]["task_offsets"][name] = draw.choice((0, _RECORDS // 2, _RECORDS))
        yield {
            "assignor": "",
            "configs": {"num_standby_replicas": standbys},
            "tasks": [
                {
                    "id": name,
                    "stateful": True,
                    "source_partitions": [f"in-{place}"],
                    "changelog_partitions": [f"changelog-{place}"],
                }
                for place, name in enumerate(names)
            ],
            "clients": clients,
        }


def _details(problem: Json) -> tuple[int, ...]:
    clients = problem["clients"]
    keys = ("task_offsets", "previous_standby", "previous_active")
    counts = (sum(len(client[key]) for client in clients) for key in keys)
    return (sum(client["threads"] for client in clients), *counts)


def case_rows(case: SmallestCase) -> Iterator[list[str]]:
    """Yield a row for each process: its letter, threads, what it had and reported, and what each release gives it."""
    for place, client in enumerate(case.problem["clients"]):
        before = _tasks(client["previous_active"], client["previous_standby"])
        if client["task_offsets"]:
            offsets = ", ".join(f"{name} at {offset}" for name, offset in sorted(client["task_offsets"].items()))
            before += f"; reports {offsets}"
        given = (answer[client["process_id"]] for answer in (case.older, case.newer))
        yield ["ABC"[place], str(client["threads"]), before, *(_tasks(one["active"], one["standby"]) for one in given)]


def _tasks(active: list[str], standby: list[str]) -> str:
    parts = [", ".join(active), f"standby {', '.join(standby)}" if standby else ""]
    return "; ".join(filter(None, parts)) or "–"
