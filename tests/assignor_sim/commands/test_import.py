"""`assignor-sim import`: a running application in, a scenario out."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.cli import app
from scenarios.load import load
from simulator.world.world import Start
from tests.scenarios.kafka.dumps.test_observe import BROKERS, GROUP, LOG, SIZES, TOPICS, TOPOLOGY

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "import-a-running-cluster.md"
RACKS = ("--rack", "*1111=az1", "--rack", "*=az2")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    for name, text in (("a", TOPICS), ("b", BROKERS), ("c", SIZES), ("d", TOPOLOGY), ("e", GROUP), ("f", "hello\n")):
        (dumps / name).write_text(text)
    return tmp_path


def imported(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["import", *arguments], env={"COLUMNS": "120"})


def of_dumps(*arguments: str) -> Result:
    return imported("--from", "dumps", "--group", "shop", "-o", "shop.yaml", *arguments)


def test_dumps_become_a_scenario_and_all_that_was_found_and_assumed_is_told(folder: Path) -> None:
    ended = of_dumps(*RACKS, "--config", "num.standby.replicas=1")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines() == [
        "shop (classic): 2 clients with 3 threads, 4 active tasks, 0 standbys, 3 topics on 2 brokers in 2 racks",
        "read: a (topics), b (brokers), c (log dirs), d (topology), e (consumer group members)",
        "ignored: f",
        "assumed: Dumps contain no rates: nothing is produced until you set bytes_per_s of topics.",
        "assumed: Store cache has no changelog topic in the cluster; assumed not logged.",
        "assumed: kafka-consumer-groups.sh does not print standbys: the scenario starts without any; the first "
        "rebalance places them.",
        "assumed: Stores are assumed persistent (Kafka does not expose this).",
        "scenario: shop.yaml",
        "assignor-sim run shop.yaml",
    ]
    scenario = load(folder / "shop.yaml")
    assert scenario.world(1).start is Start.RUNNING
    assert scenario.assignment_configs.num_standby_replicas == 1


def test_the_command_that_it_ends_with_runs_the_scenario(folder: Path) -> None:
    ended = of_dumps(*RACKS, "--config", "num.standby.replicas=0")
    program, *arguments = ended.stdout.splitlines()[-1].split()
    assert program == "assignor-sim"
    ran = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})
    assert ran.exit_code == 0, ran.output
    assert "high_availability" in ran.stdout


def test_a_leaders_log_is_replayed_and_its_rounds_are_kept(folder: Path) -> None:
    (folder / "dumps" / "e").write_text(LOG)
    ended = of_dumps(*RACKS)
    assert ended.exit_code == 0, ended.output
    assert "3 logged rebalances: shop.rounds.csv" in ended.stdout
    assert len(load(folder / "shop.yaml").world(1).disturbances) == 2
    rounds = (folder / "shop.rounds.csv").read_text().splitlines()
    assert rounds[0] == "round,at_ms,task,client,process_id,role"
    assert rounds[1] == "0,0,0_0,shop-11111111,11111111-1111-1111-1111-111111111111,active"


def test_the_last_round_of_a_log_alone_leaves_no_rounds(folder: Path) -> None:
    (folder / "dumps" / "e").write_text(LOG)
    assert of_dumps(*RACKS, "--last").exit_code == 0
    assert not (folder / "shop.rounds.csv").exists()
    assert load(folder / "shop.yaml").world(1).disturbances == ()


def test_standard_output_gets_the_scenario_alone(folder: Path) -> None:
    ended = of_dumps(*RACKS, "--config", "num.standby.replicas=0", "-o", "-")
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.startswith("# shop, imported: in a, b, c, d, e\n")
    assert "assumed:" in ended.stderr
    assert not list(folder.glob("*.yaml")) + list(folder.glob("-*"))


def test_properties_of_the_application_may_stand_anywhere(folder: Path) -> None:
    (folder / "app.properties").write_text("num.standby.replicas=1\nmax.warmup.replicas=7\nsasl.jaas.config=hunter2\n")
    ended = of_dumps(*RACKS, "--streams-config", "app.properties", "--config", "num.standby.replicas=0")
    assert ended.exit_code == 0, ended.output
    configs = load(folder / "shop.yaml").assignment_configs
    assert (configs.num_standby_replicas, configs.max_warmup_replicas) == (0, 7)
    assert "hunter2" not in ended.output + (folder / "shop.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "dumps"), "- number of standbys: --config num.standby.replicas=N\n- racks of shop-"),
        ((), "give either --bootstrap HOST:PORT (a running cluster) or --from DIR (a folder of dumps)"),
        (("--from", "dumps", "--bootstrap", "h:1"), "give either --bootstrap HOST:PORT"),
        (("--from", "dumps", "--seconds", "3"), "--seconds requires --bootstrap"),
        (("--from", "dumps", "--topology", "dumps/d"), "--topology requires --bootstrap"),
        (("--bootstrap", "h:1", "--rack", "*=az1"), "--rack requires --from"),
        (("--bootstrap", "h:1", "--last"), "--last requires --from"),
        (("--bootstrap", "h:1", "--command-config", "nowhere"), "'nowhere': no such file"),
        (("--from", "nowhere"), "'nowhere' is not a folder"),
        (("--from", "dumps", "--config", "x"), "--config x: expected KEY=VALUE, as in num.standby.replicas=1"),
        (
            ("--from", "dumps", *RACKS, "--config", "num.standby.replicas=1", "--config", "max.warmup.replicas=0"),
            "application.configs.max.warmup.replicas: ",
        ),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = imported("--group", "shop", "-o", "shop.yaml", *arguments)
    assert ended.exit_code == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.output
    assert sorted(path.name for path in folder.iterdir()) == ["dumps"]


def test_the_how_to_shows_what_is_printed_today(folder: Path) -> None:
    page = HOW_TO.read_text(encoding="utf-8")
    names = {"a": "topics.txt", "b": "brokers.txt", "c": "log_dirs.txt", "d": "topology.txt", "e": "group.txt"}
    for old, new in {**names, "f": "README.md"}.items():
        (folder / "dumps" / old).rename(folder / "dumps" / new)
    asked = imported("--from", "dumps", "--group", "shop", "-o", "now.yaml")
    given = imported(
        "--from", "dumps", "--group", "shop", "-o", "now.yaml", "--config", "num.standby.replicas=0", *RACKS
    )
    assert (asked.exit_code, given.exit_code) == (2, 0)
    assert asked.stderr in page
    assert given.stdout in page


def test_a_folder_that_cannot_be_written_to_is_told(folder: Path) -> None:
    ended = of_dumps(*RACKS, "--config", "num.standby.replicas=0", "-o", "nowhere/shop.yaml")
    assert ended.exit_code == 2
    assert "nowhere" in ended.stderr


def test_a_broken_properties_file_is_told_with_its_line_and_not_shown(folder: Path) -> None:
    (folder / "client.properties").write_text("a=b\n=hunter2\n")
    ended = imported("--bootstrap", "h:1", "--group", "shop", "-o", "x", "--command-config", "client.properties")
    assert ended.exit_code == 2
    assert ended.stderr == "client.properties:2: not a property (key=value)\n"
