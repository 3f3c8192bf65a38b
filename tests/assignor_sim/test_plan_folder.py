"""The page, tables and scripts of `assignor-sim plan --out`, and Kafka's file of topics to move."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from typer.testing import CliRunner

from assignor_sim.api.plan_comparison import folder_names
from assignor_sim.cli import app
from tests.assignor_sim.test_plan import HERE, IN_TURN, files, folder, of_three, replicas, told

__all__ = ["folder"]


def test_the_page_of_a_plan_shows_its_figures_and_report_makes_it_again(folder: Path) -> None:
    ended = of_three(*IN_TURN, "--strategy", f"{HERE}Drawn", "--log-dirs", "sizes.json", "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert "Figures and page: out/report.html" in ended.stdout
    drawn = [f"{what}_per_{level}.png" for what in ("leaders", "replicas", "bytes") for level in ("broker", "rack")]
    assert sorted(path.name for path in (folder / "out" / "figures").iterdir()) == sorted(
        [*drawn, "replicas_moved.png"]
    )
    again = CliRunner().invoke(app, ["report", "out", "-o", "-"])
    assert again.exit_code == 0, again.output
    assert again.stdout == (folder / "out" / "report.html").read_text(encoding="utf-8")
    text = of_three(*IN_TURN, "--out", "other", "--format", "json")
    assert [each["strategy"] for each in told(text)["plans"]] == ["today", f"{HERE}InTurn"]


def test_a_plan_folder_of_an_earlier_version_is_refused_with_what_to_do(folder: Path) -> None:
    of_three(*IN_TURN, "--out", "out")
    (folder / "out" / "moves.parquet").unlink()
    ended = CliRunner().invoke(app, ["report", "out"])
    assert ended.exit_code == 2
    assert ended.stderr == "out: table 'moves' is missing; plan again with this version\n"
    (folder / "out" / "manifest.json").write_text('{"kind": "plan", "plans": [{}]}')
    of_three(*IN_TURN, "--out", "second")
    for name in ("brokers", "moves"):
        (folder / "out" / f"{name}.parquet").write_bytes((folder / "second" / f"{name}.parquet").read_bytes())
    ended = CliRunner().invoke(app, ["report", "out"])
    assert ended.exit_code == 2
    assert "out/manifest.json: not the manifest of a plan" in ended.stderr


def test_strategies_whose_names_differ_by_signs_alone_have_folders_of_their_own(folder: Path) -> None:
    names = (f"{HERE}Drawn,seed=1", f"{HERE}Drawn,seed=1 ", f"{HERE}Drawn;seed=1", "figures")
    assert len(set(folder_names(names))) == len(names)
    assert "figures" not in folder_names(names)
    assert folder_names(["exact_flow", "kafka_generate"]) == ["exact_flow", "kafka_generate"]


def topics_file(folder: Path, *names: str) -> tuple[str, str]:
    listed = {"version": 1, "topics": [{"topic": name} for name in names]}
    (folder / "topics-to-move.json").write_text(json.dumps(listed, indent=1))
    return "--topics-to-move-json-file", "topics-to-move.json"


def test_topics_to_move_may_change_and_no_others(folder: Path) -> None:
    ended = of_three(*IN_TURN, *topics_file(folder, "pay"), "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert {name.split("-")[0] for name in replicas(folder / "out" / "reassignment.json")} == {"pay"}
    assert "Requested: topic pay only." in ended.stdout
    same = of_three(*IN_TURN, "--topics", "pay", "--out", "same")
    assert same.exit_code == 0
    assert (folder / "out" / "reassignment.json").read_bytes() == (folder / "same" / "reassignment.json").read_bytes()


def test_topics_of_the_file_and_of_the_option_add_up(folder: Path) -> None:
    both = told(of_three(*IN_TURN, *topics_file(folder, "pay"), "--topics", "orders,pay", "--format", "json"))
    assert both["request"]["topics"] == ["orders", "pay"]


def test_topics_to_move_that_do_not_exist_are_named_with_their_lines(folder: Path) -> None:
    ended = of_three(*IN_TURN, *topics_file(folder, "pya", "orders", "logs"), "--out", "out")
    assert ended.exit_code == 2
    assert ended.stderr.splitlines() == [
        "topics-to-move.json:4: unknown topic 'pya' (did you mean 'pay'?)",
        "topics-to-move.json:10: unknown topic 'logs' (topics: orders, pay)",
    ]
    assert not (folder / "out").exists()


def test_a_throttle_comes_with_scripts_for_every_batch(folder: Path) -> None:
    batches = ("--batch-partitions", "3", "--log-dirs", "sizes.json")
    assert of_three(*IN_TURN, *batches, "--throttle", "100", "--out", "out").exit_code == 0
    assert [name for name in files(folder / "out") if name.endswith(".sh")] == [
        f"batch-00{number}/{name}.sh" for number in (1, 2) for name in ("execute", "rollback")
    ]
    text = (folder / "out" / "batch-001" / "execute.sh").read_text()
    # Of three partitions with 1,000 bytes each, broker 3 gets one replica of each.
    assert "# Execute batch 1 of 2: 3 partitions, 3,000 bytes to copy; at least 30s at 100 bytes/s per broker." in text
    assert "--execute --throttle 100 ;;" in text
    rows = pq.read_table(folder / "out" / "batches.parquet").to_pylist()
    assert [tuple(each.values()) for each in rows] == [
        (f"{HERE}InTurn", 1, 3, 3, 3_000, 3, 30_000),
        (f"{HERE}InTurn", 2, 1, 1, 1_000, 1, 10_000),
    ]
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "Batches (2):" in page
    assert '<td data-v="30000">30 s</td>' in page
    assert of_three(*IN_TURN, *batches, "--out", "out").exit_code == 0
    assert not [name for name in files(folder / "out") if name.endswith(".sh")]


def test_partitions_that_are_offline_cannot_be_copied_and_that_is_said(folder: Path) -> None:
    (folder / "topics.txt").write_text(
        "Topic: t\tPartition: 0\tLeader: none\tReplicas: 9\tIsr: 9\n"
        "Topic: t\tPartition: 1\tLeader: 2\tReplicas: 2\tIsr: 2\n"
    )
    said = "1 partition is offline; new replicas cannot be copied until a broker with a replica is back"
    assert said in of_three("--strategy", "exact_flow", cluster="topics.txt").stdout
    (folder / "theirs.json").write_text('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}')
    assert said in of_three("--from", "theirs.json", cluster="topics.txt").stdout
    (folder / "theirs.json").write_text('{"partitions": [{"topic": "t", "partition": 1, "replicas": [1]}]}')
    assert "offline" not in of_three("--from", "theirs.json", cluster="topics.txt").stdout
