"""`assignor-sim run`, from a scenario to tables, figures and a report."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from reports.render.figures.run_figures import RUN_FIGURES
from simulator.results.tables import SCHEMAS
from tests.assignor_sim.conftest import Shell


def test_a_run_compares_the_assignors_of_the_scenario(shell: Shell, small: Path) -> None:
    ended = shell("run", "small.yaml", "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    rows = json.loads(ended.out)
    assert [row["assignor"] for row in rows] == ["high_availability", "sticky"]


def test_results_are_tables_that_agree_with_what_is_printed(shell: Shell, small: Path) -> None:
    ended = shell("run", "small.yaml", "--out", "results")
    assert ended.code == 0, ended.err
    assert "results/report.html" in ended.out
    out = shell.folder / "results"
    assert {path.name for path in out.iterdir()} == {
        *(f"{name}.parquet" for name in SCHEMAS),
        "manifest.json",
        "report.html",
        "figures",
        "scenario",
    }
    assert {path.stem for path in (out / "figures").iterdir()} == {draw.__name__ for draw in RUN_FIGURES}
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["scenario"]["text"] == small.read_text()
    runs = pq.read_table(out / "runs.parquet").to_pylist()
    rounds = pq.read_table(out / "rounds.parquet").to_pylist()
    for run in runs:
        own = [row for row in rounds if row["assignor"] == run["assignor"]]
        assert len(own) == run["rebalances"]
        assert sum(row["active_moves"] for row in own) == run["active_moves"]
        assert own[-1]["cross_rack_source_partitions"] == run["cross_rack_source_partitions"]


def test_the_same_run_gives_the_same_bytes_under_another_hash_seed(shell: Shell, small: Path) -> None:
    for name, hash_seed in (("one", "1"), ("two", "2")):
        assert shell("run", "small.yaml", "--out", name, PYTHONHASHSEED=hash_seed).code == 0
    for file in sorted((shell.folder / "one").rglob("*")):
        if file.is_file() and file.name not in ("manifest.json", "report.html"):
            twin = shell.folder / "two" / file.relative_to(shell.folder / "one")
            assert file.read_bytes() == twin.read_bytes(), file.name


def test_another_seed_gives_another_run(shell: Shell, small: Path) -> None:
    first, second = (shell("run", "small.yaml", "--format", "csv", "--seed", seed).out for seed in ("1", "2"))
    assert first != second


def test_set_changes_the_scenario(shell: Shell, small: Path) -> None:
    ended = shell("run", "small.yaml", "--set", "application.configs.num.standby.replicas=0", "--out", "none")
    assert ended.code == 0, ended.err
    rounds = pq.read_table(shell.folder / "none" / "rounds.parquet").to_pylist()
    assert rounds[0]["standbys"] == 0
    manifest = json.loads((shell.folder / "none" / "manifest.json").read_text())
    assert manifest["scenario"]["overrides"] == ["application.configs.num.standby.replicas=0"]


def test_a_mistake_in_set_is_named(shell: Shell, small: Path) -> None:
    ended = shell("run", "small.yaml", "--set", "events[0].scale_out.clients=az9")
    assert ended.code == 2
    assert "--set events[0].scale_out.clients=az9" in ended.err
    assert "clients: app-0, app-1, app-2, app, late-0, late" in ended.err


def test_assignors_are_chosen_by_label_and_by_name(shell: Shell, small: Path) -> None:
    ended = shell("run", "small.yaml", "--assignor", "sticky", "--assignor", "fallback_prior", "--format", "json")
    assert [row["assignor"] for row in json.loads(ended.out)] == ["sticky", "fallback_prior"]


MINE = '''
from dataclasses import dataclass

import assignor_sim as sim

@dataclass(frozen=True)
class Mine:
    """Everything to the first."""

    def assign(self, state):
        first, *others = state.kafka_streams_states
        tasks = dict.fromkeys(state.all_tasks, sim.TaskType.ACTIVE)
        given = [sim.KafkaStreamsAssignment(first, tasks), *(sim.KafkaStreamsAssignment(c, {}) for c in others)]
        return sim.TaskAssignment(tuple(given))
'''


def test_an_assignor_of_ones_own_takes_part_when_the_command_line_says_so(shell: Shell, small: Path) -> None:
    shell.write("mine.py", MINE)
    ended = shell("run", "small.yaml", "--assignor", "mine:Mine", "--format", "json", PYTHONPATH=str(shell.folder))
    assert ended.code == 0, ended.err
    [row] = json.loads(ended.out)
    assert row["assignor"] == "mine:Mine"


def test_a_scenario_alone_never_imports_code(shell: Shell, small: Path) -> None:
    shell.write("mine.py", "open('imported', 'w').close()\n" + MINE)
    text = small.read_text().replace("- high_availability", "- mine:Mine")
    shell.write("bad.yaml", text)
    ended = shell("run", "bad.yaml", PYTHONPATH=str(shell.folder))
    assert ended.code == 2
    assert "bad.yaml:" in ended.err
    assert "unknown assignor 'mine:Mine'" in ended.err
    assert "--assignor mine:Mine" in ended.err
    assert not (shell.folder / "imported").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", "unknown assignor 'nobody' (built in: high_availability"),
        ("json:nothing", "cannot import assignor 'json:nothing'"),
        ("json:__doc__", "'json:__doc__' is not an assignor"),
        ("no.such.module:Mine", "cannot import assignor 'no.such.module:Mine'"),
    ],
)
def test_an_assignor_that_is_none_is_named(shell: Shell, small: Path, name: str, message: str) -> None:
    ended = shell("run", "small.yaml", "--assignor", name)
    assert ended.code == 2
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_an_assignor_whose_answer_is_invalid_ends_the_run_with_the_reason(shell: Shell, small: Path) -> None:
    shell.write("mine.py", MINE.replace("*(sim.KafkaStreamsAssignment(c, {}) for c in others)", ""))
    ended = shell("run", "small.yaml", "--assignor", "mine:Mine", PYTHONPATH=str(shell.folder))
    assert ended.code == 2
    assert "MISSING_PROCESS_ID" in ended.err


def test_a_directory_that_holds_something_else_is_left_alone(shell: Shell, small: Path) -> None:
    (shell.folder / "mine").mkdir()
    shell.write("mine/notes.txt", "dear diary")
    ended = shell("run", "small.yaml", "--out", "mine")
    assert ended.code == 2
    assert "mine: exists and is not a result directory; choose another --out" in ended.err
    assert [path.name for path in (shell.folder / "mine").iterdir()] == ["notes.txt"]
    assert sorted(path.name for path in shell.folder.iterdir()) == ["mine", "small.yaml"]


def test_results_of_an_earlier_run_are_replaced_whole(shell: Shell, small: Path) -> None:
    assert shell("run", "small.yaml", "--out", "out/results").code == 0
    assert shell("run", "small.yaml", "--out", "out/results", "--assignor", "sticky").code == 0
    runs = pq.read_table(shell.folder / "out" / "results" / "runs.parquet").to_pylist()
    assert [run["assignor"] for run in runs] == ["sticky"]
    assert [path.name for path in (shell.folder / "out").iterdir()] == ["results"]


def test_a_shipped_scenario_runs_by_its_name_from_anywhere(shell: Shell) -> None:
    ended = shell("run", "order_processing", "--format", "json")
    assert ended.code == 0, ended.err
    assert len(json.loads(ended.out)) >= 4


def test_a_scenario_that_is_not_there_is_named(shell: Shell) -> None:
    ended = shell("run", "nowhere.yaml")
    assert ended.code == 2
    assert "nowhere.yaml" in ended.err
    assert "Traceback" not in ended.err


def test_configs_that_an_assignor_ignores_are_named(shell: Shell, small: Path) -> None:
    text = small.read_text().replace("{num.standby.replicas: 1}", "{num.standby.replicas: 1, max.warmup.replicas: 4}")
    shell.write("ignored.yaml", text)
    ended = shell("run", "ignored.yaml", "--assignor", "streams_group_sticky", "--assignor", "high_availability")
    assert ended.code == 0
    warning = "warning: streams_group_sticky (streams_group_sticky) ignores max.warmup.replicas, client.rack"
    assert ended.err.splitlines()[0] == warning


def test_what_kafka_refuses_in_a_streams_group_is_named(shell: Shell, small: Path) -> None:
    shell.write("static.yaml", small.read_text().replace("threads: 2}", "threads: 2, static_membership: true}"))
    streams = "assignors[0]={assignor: streams_group_sticky, configs: {group.protocol: streams}}"
    ended = shell("run", "static.yaml", "--set", streams)
    assert ended.code == 0, ended.err
    assert ended.err.splitlines()[1].endswith(
        " runs without group.instance.id: Kafka refuses it with group.protocol: streams"
    )


STREAMS = """\
assignors:
  - {assignor: streams_group_sticky, configs: {group.protocol: streams}}
  - {label: astray, assignor: streams_group_sticky}
  - high_availability
  - {label: misled, assignor: high_availability, configs: {group.protocol: streams}}
"""


def test_an_assignor_under_the_other_group_protocol_is_named(shell: Shell, small: Path) -> None:
    head, rest = small.read_text().split("assignors:\n")
    shell.write("mixed.yaml", head + STREAMS + rest[rest.index("duration:") :])
    ended = shell("run", "mixed.yaml", "--out", "mixed")
    assert ended.code == 0, ended.err
    assert [line for line in ended.err.splitlines() if " is compared " in line] == [
        "warning: astray (streams_group_sticky) is compared under group.protocol: classic; "
        "Kafka uses it in streams groups only",
        "warning: misled (high_availability) is compared under group.protocol: streams; "
        "Kafka uses it in classic groups only",
    ]
    manifest = json.loads((shell.folder / "mixed" / "manifest.json").read_text())
    assert [one["protocol"] for one in manifest["assignors"]] == ["streams", "classic", "classic", "streams"]
    rounds = pq.read_table(shell.folder / "mixed" / "rounds.parquet").to_pylist()
    own, astray = ([row for row in rounds if row["assignor"] == name] for name in (rounds[0]["assignor"], "astray"))
    assert [row["at_ms"] for row in own] != [row["at_ms"] for row in astray]


def test_of_an_assignor_that_is_not_kafkas_nobody_says_where_kafka_uses_it(shell: Shell, small: Path) -> None:
    shell.write("mine.py", MINE)
    streams = "application.configs.group.protocol=streams"
    ended = shell("run", "small.yaml", "--assignor", "mine:Mine", "--set", streams, PYTHONPATH=str(shell.folder))
    assert (ended.code, ended.err) == (0, "")


def test_what_traffic_between_racks_costs_is_shown_where_there_is_a_price(shell: Shell, small: Path) -> None:
    plain, priced = (shell("run", "small.yaml", *more).out for more in ((), ("--set", "price=aws")))
    assert "$" not in plain
    assert "$" in priced


def test_why_a_run_never_comes_to_rest_stands_below_the_table(shell: Shell, small: Path) -> None:
    clients = "clients[late].reports=never"
    ended = shell("run", "small.yaml", "--assignor", "high_availability", "--set", clients)
    assert ended.code == 0, ended.err
    assert "– high_availability never converges: late-0 never reports the offsets of its copies.\n" in ended.out


def test_proofs_are_in_what_is_printed_in_tables_and_in_the_manifest(shell: Shell, small: Path) -> None:
    ended = shell("run", "small.yaml", "--prove", "--out", "proven")
    assert (ended.code, ended.err) == (0, "")
    assert "proven" in ended.out
    assert "Proven optimum (lowest cost at equal balance, deciding round): " in ended.out
    out = shell.folder / "proven"
    proofs = pq.read_table(out / "proofs.parquet").to_pylist()
    assert len(proofs) == len(pq.read_table(out / "rounds.parquet"))
    assert all(row["total_cost_bound"] == row["best_known_total_cost"] for row in proofs)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["proofs"] == {"limit_s": 60.0, "rounds": len(proofs), "proven": len(proofs), "unproven": 0}
    assert " proven)" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [["--prove-limit", "5"], ["--prove", "--prove-limit", "0"]])
def test_a_limit_without_a_proof_is_refused(shell: Shell, small: Path, options: list[str]) -> None:
    ended = shell("run", "small.yaml", *options)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "--prove-limit: requires --prove and a number above 0\n"
