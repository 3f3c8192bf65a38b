"""Writer of a scenario that starts in the observed state of an application, and of its observed rebalances in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scenarios.kafka.naming import changelog_topic, repartition_name
from scenarios.kafka.observation.observation import (
    ClientRates,
    Observation,
    ObservationError,
    ObservedProcess,
    ObservedRebalance,
    ObservedSubtopology,
    RebalanceHistory,
    client_names,
    sort_tasks,
)
from scenarios.kafka.observation.releases import (
    release_assumptions,
    release_warnings,
    simulated_broker_release,
    simulated_client_release,
)
from scenarios.kafka.observation.scenario_lines import (
    YamlValue,
    assignor_of,
    broker_configs,
    cluster_lines,
    duration_line,
    entry_lines,
    event_lines,
    example_event_lines,
    flow_text,
    has_unknown_record_count,
    header_lines,
    mapping_lines,
    rack_lines,
    streams_configs,
    task_lags,
    unmodeled_configs,
)
from scenarios.language.units import format_duration
from simulator.results.files import csv_cell

COLUMNS = ("round", "at_ms", "task", "client", "process_id", "role")


def rebalances_csv(observation: Observation, history: RebalanceHistory) -> str:
    """Return a CSV table with one line for each task copy of each rebalance.

    The role is `active` or `standby`; clients have their names in the scenario, after an apostrophe if a spreadsheet
    would read the name as a formula.
    """
    names = client_names([*observation.processes, *history.newcomers])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for rebalance in history.rebalances:
        for task, process, role in _assignments(rebalance):
            cells = (csv_cell(cell) for cell in (task, names[process], process, role))
            writer.writerow((rebalance.number, rebalance.at_ms, *cells))
    return text.getvalue()


def _assignments(rebalance: ObservedRebalance) -> Iterator[tuple[str, str, str]]:
    for task, process in rebalance.active.items():
        yield task, process, "active"
    for task, processes in rebalance.standby.items():
        for process in processes:
            yield task, process, "standby"


def scenario_text(observation: Observation, history: RebalanceHistory | None = None) -> str:
    """Return a scenario in YAML.

    `observation`: state at the start of the scenario; `history`: rebalances that followed, if observed. Raises
    ObservationError if the application is not running, or its state cannot be expressed in a scenario.
    """
    newcomers = history.newcomers if history else ()
    writer = _ScenarioWriter(observation, history, client_names([*observation.processes, *newcomers]))
    cluster = cluster_lines(observation, simulated_broker_release(observation))
    sections = [*cluster, "", *writer.application(), "", *writer.clients(), "", *writer.events_to_end()]
    header = header_lines(observation, list_warnings(observation), list_assumptions(observation))
    return "\n".join([*header, "", *sections, ""])


def list_assumptions(observation: Observation) -> tuple[str, ...]:
    """Return sentences on what was assumed: by the observation, and because a scenario cannot express it."""
    return (*observation.assumptions, *_writer_assumptions(observation))


def list_warnings(observation: Observation) -> tuple[str, ...]:
    """Return sentences on what was observed but cannot be simulated."""
    return (*release_warnings(observation), *unmodeled_configs(observation), *observation.warnings)


@dataclass(slots=True)
class _ScenarioWriter:
    """Writes the sections of a scenario, line by line.

    Attributes:
        observation: State at the start of the scenario.
        history: Rebalances that followed; None if not observed.
    """

    observation: Observation
    history: RebalanceHistory | None
    names: Mapping[str, str]

    def __post_init__(self) -> None:
        if not self.observation.processes:
            raise ObservationError(
                f"group '{self.observation.application_id}' has no members, so there is no state to start from; "
                "observe it while the application is running"
            )

    def application(self) -> Iterator[str]:
        observation = self.observation
        yield "application:"
        yield from entry_lines("id", observation.application_id, 2)
        client_release = simulated_client_release(observation)
        if client_release is not None:
            yield from entry_lines("kafka", client_release, 2)
        yield "  starts: running"
        if observation.next_rebalance_ms is not None and observation.protocol == "classic":
            yield f"  next_rebalance: {format_duration(max(0, observation.next_rebalance_ms))}"
        configs, _ = streams_configs(observation)
        yield from mapping_lines("configs", configs, 2)
        yield "  subtopologies:"
        written: set[str] = set()
        for subtopology in observation.subtopologies:
            yield from self._subtopology(subtopology, written)

    def clients(self) -> Iterator[str]:
        yield "clients:"
        for process in self.observation.processes:
            yield from self._client(process, starts=True)
        for process in self.history.newcomers if self.history else ():
            yield from self._client(process, starts=False)

    def events_to_end(self) -> Iterator[str]:
        """Yield the events, the assignors and the duration."""
        if self.history is None:
            yield from example_event_lines(self.names[self.observation.processes[0].process_id])
        elif self.history.changes:
            yield from event_lines(self.history.changes, self.names)
        yield ""
        yield from self._assignors()
        if self.history is not None:
            yield duration_line(max(rebalance.at_ms for rebalance in self.history.rebalances))

    def _assignors(self) -> Iterator[str]:
        name, _ = assignor_of(self.observation)
        if self.observation.protocol != "streams":
            yield f"assignors: [{name}]"
            return
        yield "assignors:"
        yield f"  - assignor: {name}"
        yield f"    label: {name}"
        yield "    parameters:   # Kafka's coordinator breaks ties by member id and by the order of its member list"
        yield from mapping_lines("members", self.observation.process_by_member(), 6)

    def _subtopology(self, subtopology: ObservedSubtopology, written: set[str]) -> Iterator[str]:
        """Yield a subtopology without the topics in `written`, and add its own: a topic can have one writer only."""
        known = {topic.name for topic in self.observation.topics}
        sources = {name for other in self.observation.subtopologies for name in other.sources}
        writes = [name for name in subtopology.writes if name in known and name not in written]
        written.update(writes)
        application_id = self.observation.application_id
        short_names = {name: repartition_name(application_id, name) for name in writes if name in sources}
        yield f"    - id: {subtopology.id}"
        yield from entry_lines("sources", subtopology.sources, 6)
        repartition = [{"name": name} for name in short_names.values() if name is not None]
        if repartition:
            yield from entry_lines("repartition", repartition, 6)
        results = [name for name in writes if short_names.get(name) is None]
        if results:
            yield from entry_lines("writes", results, 6)
        stores: list[YamlValue] = [self._store(name, topic) for name, topic in subtopology.changelogs.items()]
        stores += [{"name": name, "logged": False} for name in subtopology.unlogged_stores]
        if stores:
            yield from entry_lines("stores", stores, 6)

    def _store(self, name: str, topic: str) -> YamlValue:
        has_default_name = topic == changelog_topic(self.observation.application_id, name)
        return {"name": name} if has_default_name else {"name": name, "changelog": topic}

    def _client(self, process: ObservedProcess, starts: bool) -> Iterator[str]:
        yield f"  - name: {flow_text(self.names[process.process_id])}"
        yield from entry_lines("process_id", process.process_id, 4)
        yield from rack_lines(process, 4)
        yield f"    threads: {max(1, len(process.threads))}"
        if process.tags:
            yield from entry_lines("tags", dict(sorted(process.tags.items())), 4)
        yield from self._rates(process)
        if process.is_static:
            yield "    static_membership: true"
        if not starts:
            yield "    starts: false"
            return
        tasks = list(self._tasks(process))
        yield from ["    tasks:", *tasks] if tasks else ["    tasks: {}"]

    def _rates(self, process: ObservedProcess) -> Iterator[str]:
        """Yield the rates from client metrics, and whether they are those of this process."""
        rates = self.observation.client_rates.get(process.process_id, ClientRates())
        for key, field in (("restore", "restore_bytes_per_s"), ("records_per_s", "records_per_s")):
            value = getattr(rates, field)
            if value is not None:
                origin = "median of the other clients" if field in rates.assumed else "measured"
                yield f"    {key}: {value}   # {origin}"

    def _tasks(self, process: ObservedProcess) -> Iterator[str]:
        for role in ("active", "standby"):
            by_thread = [sort_tasks(getattr(thread, role)) for thread in process.threads]
            if any(by_thread):
                yield from entry_lines(role, by_thread[0] if len(by_thread) == 1 else by_thread, 6)
        lags = task_lags(process, self.observation)
        if lags:
            yield from entry_lines("lags", {task: lags[task] for task in sort_tasks(lags)}, 6)


def _writer_assumptions(observation: Observation) -> Iterator[str]:
    """Yield sentences on what the scenario format omits or adds."""
    for _, remarks in (
        streams_configs(observation),
        broker_configs(observation),
        assignor_of(observation),
    ):
        yield from remarks
    yield from release_assumptions(observation)
    if any(subtopology.changelogs for subtopology in observation.subtopologies):
        yield "Stores are assumed persistent (Kafka does not expose this)."
    unknown = [topic.name for topic in observation.topics if has_unknown_record_count(topic, observation)]
    if unknown:
        yield (
            f"The number of records on disk of {', '.join(unknown)} is unknown, because Kafka Streams purges the "
            "records it has read: the record size is assumed to be that of the input topics."
        )
    if any(task_lags(process, observation) for process in observation.processes):
        yield (
            "Lags are computed from the offsets in each member's last subscription; tasks that were active then, or "
            "are active now, are assumed to have no lag."
        )
