"""Write docs/known-problems from the section `problem` of the shipped scenarios: `python -m tools.known_problems`.

Each page has the symptom, the cause, a command that reproduces the problem, and the figures before and after each fix.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assignor_sim.api.running import run
from assignors.contract import carried_out, compute
from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from reports.analysis.metrics import ALL_METRICS
from reports.analysis.text import printable
from scenarios.load import Scenario, load
from scenarios.resolution.expectations import Fix, KnownProblem
from scenarios.shipped import list_scenarios
from tools.examples import first_runs, markdown_table, show, title


@dataclass(frozen=True)
class UnsettledGroup:
    """A group, of which the last process leaves, and which then never settles in Kafka 4.4.0 (KAFKA-21166).

    Found among random groups of 3 to 7 processes of 1 to 4 threads, 1 to 3 subtopologies of 1 to 8 partitions, and 1 or
    2 standbys, of which one process leaves after two rebalances: 5 of 9,000 never settle. Up to 4.3.1, these do.

    Attributes:
        partitions: the number of partitions of each subtopology, all of them with state.
        threads: the number of threads of each process.
        standbys: `num.standby.replicas`.
    """

    partitions: Sequence[int]
    threads: dict[str, int]
    standbys: int

    def after_departure(self, assignor: TaskAssignor) -> ApplicationState:
        """Return the state in which the last process has left after two rebalances."""
        tasks = [TaskInfo(TaskId(part, n), True) for part, count in enumerate(self.partitions) for n in range(count)]
        clients = {
            ProcessId.parse(process): KafkaStreamsState(ProcessId.parse(process), num_processing_threads=threads)
            for process, threads in self.threads.items()
        }
        configs = AssignmentConfigs(num_standby_replicas=self.standbys)
        state = ApplicationState.of(tasks, clients.values(), configs)
        for _ in range(2):
            state = carried_out(state, compute(state, assignor))
        left = list(clients)[-1]
        rows = [row for row, process in enumerate(state.clients.ids) if process != left]
        remaining = [
            replace(
                clients[state.clients.ids[row]],
                previous_active_tasks=state.previous_active[row],
                previous_standby_tasks=state.previous_standby[row],
            )
            for row in rows
        ]
        assert state.previous_thread is not None
        return replace(ApplicationState.of(tasks, remaining, configs), previous_thread=state.previous_thread[:, rows])

    def answers(self, assignor: TaskAssignor, rounds: int) -> list[AssignmentColumns]:
        """Return the assignments of some rebalances after the departure."""
        state, answers = self.after_departure(assignor), []
        for _ in range(rounds):
            answers.append(compute(state, assignor))
            state = carried_out(state, answers[-1])
        return answers


SMALLEST = UnsettledGroup(
    (3,),
    {
        "1bb409d7-5c8a-497e-befb-b6da241da5f3": 2,
        "f0a25323-1970-4bf5-93a4-9731140d4c46": 2,
        "88cf6890-6bb3-45d7-b7be-fceb03a3565c": 4,
        "88bc8b13-951e-4c58-a269-09f7274a4a71": 1,
        "c83afef6-c97d-4856-a6e2-7669dfd7a148": 2,
    },
    2,
)
LARGER = UnsettledGroup(
    (8, 3, 8),
    {
        "2bf79ae7-4af0-4404-9913-674009e63371": 2,
        "dff79ac4-8981-446f-9ad2-b853de51dbf3": 1,
        "197a5c7c-ef89-4a2a-bfec-c2b679a4f6e6": 3,
        "e7fdcda9-1626-42d9-9439-1aa685521bf1": 1,
        "cb01cd99-d56c-4264-9b9c-e4105867873b": 3,
    },
    2,
)


_MARKUP = re.compile(r"[\\`*{}\[\]]|(?<!\w)_|_(?!\w)")
_BLOCK = re.compile(r"^(?:[#+-]|\d+(?=[.)])|[!?]{3}(?= )|:(?= )|=+$)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "~": "&#126;", "://": "&#58;//"}
_ENTITY = re.compile("|".join(map(re.escape, _ENTITIES)))


def prose(text: str, is_first: bool = True) -> str:
    """Return a text on one line with the characters escaped that are markup.

    `is_first` says whether a line may begin with it, where more characters are markup.
    """
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", printable(text))
    if is_first:
        escaped = _BLOCK.sub(_escaped_block, escaped)
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], escaped)


def code(text: str) -> str:
    """Return a text in code style, whatever backticks it contains."""
    text = printable(text)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _escaped_block(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


FOLDER = Path(__file__).parent.parent / "docs" / "known-problems"
MADE = "<!-- Made by `python -m tools.known_problems` from the section `problem` of the scenario. -->\n"
INDEX = """# Known problems

Does one of the following look like yours? Each problem is reproduced by a shipped scenario, with what fixes it. The
figures before and after are those of the same events with the same seed.

"""
KIPS = "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals"
JIRA = "https://issues.apache.org/jira/browse"

_CODE = re.compile(r"(?<![`\w.])((?:[a-z_]+\.)+[a-z_]+|[a-z]+(?:_[a-z]+)+|[A-Z]+_[A-Z_]+)(?![`\w])")

Run = Mapping[str, Any]


def problem_scenarios() -> dict[str, tuple[Scenario, KnownProblem]]:
    """Return the shipped scenarios that reproduce a known problem, by name."""
    scenarios = {path.stem: load(path) for path in list_scenarios()}
    return {name: (scenario, scenario.problem) for name, scenario in scenarios.items() if scenario.problem}


def pages(names: Sequence[str] = ()) -> Iterator[tuple[Path, str]]:
    """Yield path and text of the pages of some scenarios, or of all and of the index."""
    for name, (scenario, problem) in problem_scenarios().items():
        if names and name not in names:
            continue
        before, after = measure(name, problem)
        yield FOLDER / f"{name}.md", page(name, scenario, problem, before, after)
    if not names:
        yield FOLDER / "README.md", index_page()


def index_page() -> str:
    """Return the page that lists the problems: what is observed, and what fixes it."""
    entries = [
        f"- **[{prose(problem.title)}]({name}.md)**. {_linked(problem.symptom)} "
        f"*Fix*: {_sentence(problem.fixes[0].change)}\n"
        for name, (_, problem) in problem_scenarios().items()
    ]
    return INDEX + "".join(entries) + unsettled_section() + _USE


def unsettled_section() -> str:
    """Return the section on KAFKA-21166, which no event of a scenario shows by itself: two answers that alternate."""
    release, group = "4.4", SMALLEST
    assignor = StreamsGroupSticky(release=release)
    processes = group.after_departure(assignor).clients
    last, before = (group.answers(assignor, 20)[row] for row in (-1, -2))
    rows = [
        [str(threads), *(_held(columns, processes.ids.index(ProcessId.parse(process))) for columns in (before, last))]
        for process, threads in list(group.threads.items())[:-1]
    ]
    (tasks,), standbys, left = group.partitions, group.standbys, list(group.threads.values())[-1]
    return f"""
## Standbys that move in every rebalance

The assignor of Kafka {release}'s streams groups may never settle (KAFKA-21166): with the same members and tasks, each
rebalance moves standbys that the next one moves back. The smallest such group found has {tasks} tasks and
`num.standby.replicas`={standbys}; one of its processes, with {left} threads, has left. From then on, these two
assignments alternate (standbys in parentheses):

{markdown_table(["threads of the process", "one assignment", "the next one"], rows)}
No event of a scenario rebalances an unchanged group. [`assignor-sim review`](../how-to/review-an-assignor.md) does so
at the end of each of its cases (`no_oscillation`). *Fix*: with brokers of 4.2 or 4.3, this group settles.
"""


def _held(columns: AssignmentColumns, client: int) -> str:
    active = [f"0_{task}" for task in np.flatnonzero(columns.active == client)]
    standby = [f"0_{task}" for task in np.flatnonzero(columns.standby[:, client])]
    return " ".join([*active, f"({', '.join(standby)})" if standby else ""]).strip() or "none"


def measure(name: str, problem: KnownProblem) -> tuple[Run, list[Run | None]]:
    """Return the run with the problem, and for each fix the run with it; None for a fix that is only described."""
    return _run(name, (), problem.shown_by), [_run_fix(name, problem, fix) for fix in problem.fixes]


def page(name: str, scenario: Scenario, problem: KnownProblem, before: Run, after: Sequence[Run | None]) -> str:
    """Return the page of a problem."""
    measured = [(fix, run) for fix, run in zip(problem.fixes, after, strict=True) if run is not None]
    keys = [key for key in problem.metrics if _value(key, before) is not None or "converge" in key]
    head = ["", "before", *(_short(fix, number) for number, (fix, _) in enumerate(measured, start=1))]
    rows = [[title(key), show(before, key), *(show(run, key) for _, run in measured)] for key in keys]
    described = [fix.change for fix, run in zip(problem.fixes, after, strict=True) if run is None]
    parts = [
        f"# {prose(problem.title)}\n\n{MADE}\n{_linked(problem.symptom)}\n",
        f"**Fix**: {_sentence(problem.fixes[0].change)} {_effect(keys, before, measured)}\n",
        f"## Why\n\n{_linked(problem.cause)}\n",
        _tickets(problem),
        f"## Before and after\n\n{_sentence(scenario.description)}\n\n{markdown_table(head, rows)}",
        "## Reproduce it\n\n" + _command(name, (), problem.shown_by),
        "## Fixes\n",
        *(_fix(name, problem, fix, number) for number, (fix, _) in enumerate(measured, start=1)),
        "Not simulated:\n\n" + "".join(f"- {_sentence(text)}\n" for text in described) if described else "",
        f"## Limits\n\n{_linked(problem.note)}\n" if problem.note else "",
    ]
    return "\n".join(part for part in parts if part)


def _run(name: str, changes: Sequence[tuple[str, str]], assignor: str) -> Run:
    scenario = load(_path(name), list(changes))
    return first_runs(run(scenario, assignor, explain=False, ranges=False).tables["runs"].to_pylist())[assignor]


def _path(name: str) -> Path:
    return next(path for path in list_scenarios() if path.stem == name)


def _run_fix(name: str, problem: KnownProblem, fix: Fix) -> Run | None:
    if fix.assignor is not None:
        return _run(name, (), fix.assignor)
    return _run(name, fix.overrides, problem.shown_by) if fix.overrides else None


def _effect(keys: Sequence[str], before: Run, measured: Sequence[tuple[Fix, Run]]) -> str:
    """Return a sentence on the metric that the first measured fix lowers."""
    if not measured:
        return ""
    _, after = measured[0]
    for key in keys:
        old, new = _value(key, before), _value(key, after)
        if new is not None and (old is None or new < old):
            return f"{title(key)}: {show(before, key)} before, **{show(after, key)}** with it."
    return ""


def _value(key: str, run: Run) -> float | None:
    return ALL_METRICS[key].of(run)


def _short(fix: Fix, number: int) -> str:
    return prose(fix.assignor or f"with fix {number}")


def _fix(name: str, problem: KnownProblem, fix: Fix, number: int) -> str:
    assignor = fix.assignor or problem.shown_by
    label = f" (the assignor {code(fix.assignor)} of the scenario)" if fix.assignor else ""
    return f"{number}. {_linked(fix.change)}{label}\n\n" + _indented(_command(name, fix.overrides, assignor))


def _command(name: str, overrides: Sequence[tuple[str, str]], assignor: str) -> str:
    changes = [("--set", f"{path}={value}") for path, value in overrides]
    options = [shlex.join(option) for option in (*changes, ("--assignor", assignor))]
    lines = printable(shlex.join(("assignor-sim", "run", name))) + "".join(
        f" \\\n    {printable(option)}" for option in options
    )
    return f"```sh\n{lines}\n```\n"


def _indented(text: str) -> str:
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


def _tickets(problem: KnownProblem) -> str:
    if not problem.tickets:
        return ""
    links = [
        f"[{ticket}]({JIRA}/{ticket})" if ticket.startswith("KAFKA-") else f"[{ticket}]({KIPS})"
        for ticket in problem.tickets
    ]
    return f"Kafka: {', '.join(links)}.\n"


def _linked(text: str) -> str:
    """Return text with config names and other code in code style."""
    parts = _CODE.split(text)
    return "".join(f"`{part}`" if number % 2 else prose(part, number == 0) for number, part in enumerate(parts))


def _sentence(text: str) -> str:
    text = _linked(" ".join(text.split()))
    return text if text.endswith(".") else f"{text}."


_USE = """
Not in the list? [Diagnose a rebalance storm](../how-to/diagnose-a-rebalance-storm.md) from the leader's log, look at
the [events cookbook](../how-to/events-cookbook.md), or [import your
application](../how-to/import-a-running-cluster.md) and add the event.

A scenario of your own can [name its problem](../reference/scenario-problem.md) in the same way.
"""


def main() -> None:
    """Write the pages; remove those of problems that no longer exist."""
    FOLDER.mkdir(exist_ok=True)
    names = sys.argv[1:]
    written = []
    for path, text in pages(names):
        path.write_text(text, encoding="utf-8")
        written.append(path)
    if not names:
        for path in set(FOLDER.glob("*.md")) - set(written):
            path.unlink()


if __name__ == "__main__":
    main()
