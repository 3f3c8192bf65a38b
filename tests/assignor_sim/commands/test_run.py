"""`assignor-sim run`: simulate a scenario, write tables and a report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import assignor_sim as sim
from simulator.results.result_directory import write_results
from simulator.results.tables import SCHEMAS
from tests.assignor_sim.conftest import SMALL, CommandResult, InProcessShell, Shell

TWO_STANDBYS = "application.configs.num.standby.replicas=2"


def test_assignors_of_the_scenario_are_compared(shell: Shell, small: Path) -> None:
    result = shell("run", "small.yaml", "--format", "json")
    assert (result.code, result.err) == (0, "")
    rows = json.loads(result.out)
    assert [row["assignor"] for row in rows] == ["high_availability", "sticky"]


@dataclass(frozen=True)
class Saved:
    """A run with proofs and a changed config that was saved to a directory.

    Attributes:
        out: the directory.
        result: exit code and output of the command.
    """

    out: Path
    result: CommandResult


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    shell = InProcessShell(tmp_path_factory.mktemp("saved"))
    shell.write("small.yaml", SMALL)
    return Saved(
        shell.folder / "results", shell("run", "small.yaml", "--set", TWO_STANDBYS, "--prove", "--out", "results")
    )


def test_result_directory_has_consistent_tables(saved: Saved) -> None:
    assert (saved.result.code, saved.result.err) == (0, "")
    assert "results/report.html" in saved.result.out
    assert {path.name for path in saved.out.iterdir()} == {
        *(f"{name}.parquet" for name in SCHEMAS),
        "manifest.json",
        "report.html",
        "scenario",
    }
    manifest = json.loads((saved.out / "manifest.json").read_text())
    assert manifest["scenario"]["text"] == SMALL
    runs = pq.read_table(saved.out / "runs.parquet").to_pylist()
    rounds = pq.read_table(saved.out / "rounds.parquet").to_pylist()
    for run in runs:
        of_assignor = [row for row in rounds if row["assignor"] == run["assignor"]]
        assert len(of_assignor) == run["rebalances"]
        assert sum(row["active_moves"] for row in of_assignor) == run["active_moves"]
        assert of_assignor[-1]["cross_rack_source_partitions"] == run["cross_rack_source_partitions"]


def test_set_changes_the_scenario(saved: Saved) -> None:
    rounds = pq.read_table(saved.out / "rounds.parquet").to_pylist()
    assert rounds[0]["standbys"] == 2 * 6
    manifest = json.loads((saved.out / "manifest.json").read_text())
    assert manifest["scenario"]["overrides"] == [TWO_STANDBYS]


def test_proofs_are_printed_and_stored(saved: Saved) -> None:
    assert "proven" in saved.result.out
    assert "Proven optimum (lowest cost at equal balance, deciding round): " in saved.result.out
    proofs = pq.read_table(saved.out / "proofs.parquet").to_pylist()
    assert len(proofs) == len(pq.read_table(saved.out / "rounds.parquet"))
    assert all(row["total_cost_bound"] == row["best_known_total_cost"] for row in proofs)
    manifest = json.loads((saved.out / "manifest.json").read_text())
    assert manifest["proofs"] == {"limit_s": 60.0, "rounds": len(proofs), "proven": len(proofs), "unproven": 0}
    assert " proven)" in (saved.out / "report.html").read_text(encoding="utf-8")


def test_seeds_give_different_runs(shell: Shell, small: Path) -> None:
    first, second = (shell("run", "small.yaml", "--format", "csv", "--seed", seed).out for seed in ("1", "2"))
    assert first != second


def test_invalid_override_is_reported(shell: Shell, small: Path) -> None:
    result = shell("run", "small.yaml", "--set", "events[0].scale_out.clients=az9")
    assert result.code == 2
    assert "--set events[0].scale_out.clients=az9" in result.err
    assert "clients: app-0, app-1, app-2, app, late-0, late" in result.err


def test_assignors_are_selected_by_label_or_name(shell: Shell, small: Path) -> None:
    result = shell("run", "small.yaml", "--assignor", "sticky", "--assignor", "fallback_prior", "--format", "json")
    assert [row["assignor"] for row in json.loads(result.out)] == ["sticky", "fallback_prior"]


CUSTOM_ASSIGNOR = '''
from dataclasses import dataclass

import assignor_sim as sim

@dataclass(frozen=True)
class Mine:
    """Assigns all tasks to the first client."""

    def assign(self, state):
        first, *others = state.kafka_streams_states
        tasks = dict.fromkeys(state.all_tasks, sim.TaskType.ACTIVE)
        assignments = [sim.KafkaStreamsAssignment(first, tasks), *(sim.KafkaStreamsAssignment(c, {}) for c in others)]
        return sim.TaskAssignment(tuple(assignments))
'''


def test_custom_assignor_is_imported_from_pythonpath(process_shell: Shell, small: Path) -> None:
    process_shell.write("mine.py", CUSTOM_ASSIGNOR)
    arguments = ("run", "small.yaml", "--assignor", "mine:Mine", "--format", "json")
    result = process_shell(*arguments, PYTHONPATH=str(process_shell.folder))
    assert result.code == 0, result.err
    [row] = json.loads(result.out)
    assert row["assignor"] == "mine:Mine"


def test_scenario_alone_imports_no_code(shell: Shell, small: Path, importable_folder: Path) -> None:
    shell.write("mine.py", "open('imported', 'w').close()\n" + CUSTOM_ASSIGNOR)
    text = small.read_text().replace("- high_availability", "- mine:Mine")
    shell.write("bad.yaml", text)
    result = shell("run", "bad.yaml")
    assert result.code == 2
    assert "bad.yaml:" in result.err
    assert "unknown assignor 'mine:Mine'" in result.err
    assert "--assignor mine:Mine" in result.err
    assert not (shell.folder / "imported").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "unknown assignor 'missing' (built in: high_availability"),
        ("missing", "; labels of small: high_availability"),
        ("json:nothing", "cannot import assignor 'json:nothing'"),
        ("json:__doc__", "'json:__doc__' is not an assignor"),
        ("no.such.module:Mine", "cannot import assignor 'no.such.module:Mine'"),
    ],
)
def test_invalid_assignor_is_rejected(shell: Shell, small: Path, name: str, message: str) -> None:
    result = shell("run", "small.yaml", "--assignor", name)
    assert result.code == 2
    assert message in result.err


def test_invalid_assignment_ends_the_run(shell: Shell, small: Path, importable_folder: Path) -> None:
    shell.write("mine.py", CUSTOM_ASSIGNOR.replace("*(sim.KafkaStreamsAssignment(c, {}) for c in others)", ""))
    result = shell("run", "small.yaml", "--assignor", "mine:Mine")
    assert result.code == 3
    assert "MISSING_PROCESS_ID" in result.err


def test_out_directory_without_results_is_unchanged(shell: Shell, small: Path) -> None:
    (shell.folder / "mine").mkdir()
    shell.write("mine/notes.txt", "notes")
    result = shell("run", "small.yaml", "--out", "mine")
    assert result.code == 2
    assert "mine: exists and is not a result directory; choose another --out" in result.err
    assert [path.name for path in (shell.folder / "mine").iterdir()] == ["notes.txt"]
    assert sorted(path.name for path in shell.folder.iterdir()) == ["mine", "small.yaml"]


def test_unusable_out_is_rejected_before_anything_is_simulated(
    shell: Shell, small: Path, importable_folder: Path
) -> None:
    """An assignor that ends the process at its first call shows that none was made."""
    shell.write("mine.py", "class Mine:\n    def assign(self, state):\n        raise SystemExit(7)\n")
    shell.write("file", "")
    result = shell("run", "small.yaml", "--assignor", "mine:Mine", "--out", "file/results")
    assert result.code == 2
    folder = shell.folder.resolve()
    assert result.err == (
        f"error: file/results: cannot be written: {folder / 'file'} is not a directory; choose another --out\n"
    )


def test_results_of_an_earlier_run_are_replaced(shell: Shell, small: Path) -> None:
    earlier = sim.run(small)
    write_results(shell.folder / "out" / "results", earlier.tables, earlier.manifest)
    assert shell("run", "small.yaml", "--out", "out/results", "--assignor", "sticky").code == 0
    runs = pq.read_table(shell.folder / "out" / "results" / "runs.parquet").to_pylist()
    assert [run["assignor"] for run in runs] == ["sticky"]
    assert [path.name for path in (shell.folder / "out").iterdir()] == ["results"]


def test_shipped_scenario_runs_by_name(shell: Shell) -> None:
    result = shell("run", "bounces_and_static_membership", "--format", "json")
    assert result.code == 0, result.err
    assert [(row["scenario"], row["assignor"]) for row in json.loads(result.out)] == [
        ("bounces-and-static-membership", "classic HA"),
        ("bounces-and-static-membership", "streams sticky"),
    ]


def test_missing_scenario_is_rejected(shell: Shell) -> None:
    result = shell("run", "nowhere.yaml")
    assert result.code == 2
    assert "nowhere.yaml" in result.err


def test_ignored_configs_give_a_warning(shell: Shell, small: Path) -> None:
    text = small.read_text().replace("{num.standby.replicas: 1}", "{num.standby.replicas: 1, max.warmup.replicas: 4}")
    shell.write("ignored.yaml", text)
    result = shell("run", "ignored.yaml", "--assignor", "streams_group_sticky", "--assignor", "high_availability")
    assert result.code == 0
    warning = "warning: streams_group_sticky (streams_group_sticky) ignores max.warmup.replicas, client.rack"
    assert result.err.splitlines()[0] == warning


def test_config_that_kafka_refuses_in_streams_groups_gives_a_warning(shell: Shell, small: Path) -> None:
    shell.write("static.yaml", small.read_text().replace("threads: 2}", "threads: 2, static_membership: true}"))
    streams = "assignors[0]={assignor: streams_group_sticky, configs: {group.protocol: streams}}"
    result = shell("run", "static.yaml", "--set", streams, "--set", "application.kafka='4.3'")
    assert result.code == 0, result.err
    assert result.err.splitlines()[1].endswith(
        " runs without group.instance.id: Kafka refuses it with group.protocol: streams"
    )


STREAMS = """\
assignors:
  - {assignor: streams_group_sticky, configs: {group.protocol: streams}}
  - {label: sticky_in_classic, assignor: streams_group_sticky}
  - high_availability
  - {label: ha_in_streams, assignor: high_availability, configs: {group.protocol: streams}}
"""


def test_assignor_under_the_other_group_protocol_gives_a_warning(shell: Shell, small: Path) -> None:
    head, rest = small.read_text().split("assignors:\n")
    shell.write("mixed.yaml", head + STREAMS + rest[rest.index("duration:") :])
    result = shell("run", "mixed.yaml")
    assert result.code == 0, result.err
    assert [line for line in result.err.splitlines() if " is compared " in line] == [
        "warning: sticky_in_classic (streams_group_sticky) is compared under group.protocol: classic; "
        "Kafka uses it in streams groups only",
        "warning: ha_in_streams (high_availability) is compared under group.protocol: streams; "
        "Kafka uses it in classic groups only",
    ]
    mixed = sim.run(shell.folder / "mixed.yaml")
    assert [assignor["protocol"] for assignor in mixed.manifest["assignors"]] == [
        "streams",
        "classic",
        "classic",
        "streams",
    ]
    rounds = mixed.tables["rounds"].to_pylist()
    streams, classic = (
        [row["at_ms"] for row in rounds if row["assignor"] == name]
        for name in (rounds[0]["assignor"], "sticky_in_classic")
    )
    assert streams != classic


def test_custom_assignor_gives_no_warning_about_group_protocols(
    shell: Shell, small: Path, importable_folder: Path
) -> None:
    shell.write("mine.py", CUSTOM_ASSIGNOR)
    streams = "application.configs.group.protocol=streams"
    result = shell("run", "small.yaml", "--assignor", "mine:Mine", "--set", streams)
    assert (result.code, result.err) == (0, "")


def test_cross_rack_costs_are_shown_if_the_scenario_has_prices(shell: Shell, small: Path) -> None:
    plain, priced = (shell("run", "small.yaml", *options).out for options in ((), ("--set", "price=aws")))
    assert "$" not in plain
    assert "$" in priced


def test_reason_for_never_converging_is_printed(shell: Shell, small: Path) -> None:
    clients = "clients[late].reports=never"
    result = shell("run", "small.yaml", "--assignor", "high_availability", "--set", clients)
    assert result.code == 0, result.err
    assert "– high_availability never converges: late-0 never reports the offsets of its copies.\n" in result.out


@pytest.mark.parametrize("options", [["--prove-limit", "5"], ["--prove", "--prove-limit", "0"]])
def test_prove_limit_requires_prove(shell: Shell, small: Path, options: list[str]) -> None:
    result = shell("run", "small.yaml", *options)
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: --prove-limit: requires --prove and a number above 0\n"


def test_every_listed_metric_can_be_a_column(shell: Shell, small: Path) -> None:
    metrics = [row["metric"] for row in json.loads(shell("list", "metrics", "--format", "json").out)]
    assert "not_converged" in metrics
    for format_ in ("table", "csv", "markdown"):
        assert shell("run", "small.yaml", "--columns", ",".join(metrics), "--format", format_).code == 0
    rows = json.loads(shell("run", "small.yaml", "--columns", ",".join(metrics), "--format", "json").out)
    assert all(set(metrics) <= set(row) for row in rows)
    assert all(row["not_converged"] == (row["verdict"] != "stable") for row in rows)
