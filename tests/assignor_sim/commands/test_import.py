"""`assignor-sim import`: make a scenario of the output of Kafka's tools."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.cli import app
from scenarios.load import load
from simulator.world.world import Start
from tests.scenarios.kafka.dumps.test_observe import BROKERS, GROUP, LOG, SIZES, STREAMS, TOPICS, TOPOLOGY

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "import-a-running-cluster.md"
CONSUMER_DUMPS = Path(__file__).parents[2] / "scenarios" / "kafka" / "dumps" / "consumer_groups"
RACKS = ("--rack", "*1111=az1", "--rack", "*=az2")
KNOWN = (*RACKS, "--config", "num.standby.replicas=1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    for name, text in (("a", TOPICS), ("b", BROKERS), ("c", SIZES), ("d", TOPOLOGY), ("e", GROUP), ("f", "hello\n")):
        (dumps / name).write_text(text)
    return tmp_path


def run_import(*arguments: str, width: int = 200) -> Result:
    return CliRunner().invoke(app, ["import", *arguments], env={"COLUMNS": str(width)})


def import_dumps(*arguments: str) -> Result:
    return run_import("--from", "dumps", "--group", "shop", "-o", "shop.yaml", *arguments)


def test_dumps_become_a_scenario_with_remarks_and_assumptions(folder: Path) -> None:
    result = import_dumps(*RACKS, "--config", "num.standby.replicas=1")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "shop (classic): 2 clients with 3 threads, 4 active tasks, 0 standbys, 3 topics on 2 brokers in 2 racks",
        "– read: a (topics), b (brokers), c (log dirs), d (topology), e (consumer group members)",
        "– ignored: f",
        "– assumed: Dumps contain no rates: nothing is produced until you set bytes_per_s of topics, as in "
        "--set 'cluster.topics[NAME].bytes_per_s=10 MB/s'.",
        "– assumed: Store cache has no changelog topic in the cluster; assumed not logged.",
        "– assumed: kafka-consumer-groups.sh does not print standbys: the scenario starts without any; the first "
        "rebalance places them.",
        "– assumed: c lacks sizes of partitions, which are assumed empty (topics: orders, "
        "shop-by-customer-repartition, shop-totals-changelog).",
        "– assumed: Clients are assumed to run Kafka 4.4 (application.kafka); state another release with --kafka.",
        "– assumed: Stores are assumed persistent (Kafka does not expose this).",
        "– scenario: shop.yaml",
        "",
        "assignor-sim run shop.yaml",
    ]
    scenario = load(folder / "shop.yaml")
    assert scenario.world(1).start is Start.RUNNING
    assert scenario.assignment_configs.num_standby_replicas == 1


def test_formats_of_the_summary_have_the_same_counts(folder: Path) -> None:
    summary = json.loads(import_dumps(*KNOWN, "--format", "json").stdout)
    counts = {"clients": 2, "threads": 3, "active_tasks": 4, "standbys": 0, "topics": 3, "brokers": 2, "racks": 2}
    assert {key: summary[key] for key in counts} == counts
    assert summary["scenario"] == "shop.yaml"
    assert summary["assumed"][1].startswith("Store cache has no changelog topic")
    [row] = csv.DictReader(io.StringIO(import_dumps(*KNOWN, "--format", "csv").stdout))
    assert {key: int(row[key]) for key in counts} == counts
    assert "\n- assumed\\: Dumps contain no rates" in import_dumps(*KNOWN, "--format", "markdown").stdout


def test_the_summary_of_a_scenario_on_standard_output_is_on_standard_error(folder: Path) -> None:
    result = run_import(
        "--from",
        "dumps",
        "--group",
        "shop",
        "-o",
        "-",
        *RACKS,
        "--config",
        "num.standby.replicas=1",
        "--format",
        "json",
    )
    assert json.loads(result.stderr)["scenario"] is None
    assert "clients:" in result.stdout


def test_printed_command_runs_the_scenario(folder: Path) -> None:
    result = import_dumps(*RACKS, "--config", "num.standby.replicas=0")
    program, *arguments = result.stdout.splitlines()[-1].split()
    assert program == "assignor-sim"
    run = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})
    assert run.exit_code == 0, run.output
    assert "high_availability" in run.stdout


def test_leader_log_is_replayed_and_its_rounds_are_written(folder: Path) -> None:
    (folder / "dumps" / "e").write_text(LOG)
    result = import_dumps(*RACKS)
    assert result.exit_code == 0, result.output
    assert "3 logged rebalances: shop.rounds.csv" in result.stdout
    assert len(load(folder / "shop.yaml").world(1).disturbances) == 2
    rounds = (folder / "shop.rounds.csv").read_text().splitlines()
    assert rounds[0] == "round,at_ms,task,client,process_id,role"
    assert rounds[1] == "0,0,0_0,shop-11111111,11111111-1111-1111-1111-111111111111,active"


def test_last_round_of_a_log_is_not_replayed(folder: Path) -> None:
    (folder / "dumps" / "e").write_text(LOG)
    assert import_dumps(*RACKS, "--last").exit_code == 0
    assert not (folder / "shop.rounds.csv").exists()
    assert load(folder / "shop.yaml").world(1).disturbances == ()


def test_release_of_the_clients_is_written_to_the_scenario(folder: Path) -> None:
    result = import_dumps(*RACKS, "--config", "num.standby.replicas=0", "--kafka", "3.9.1")
    assert result.exit_code == 0, result.output
    assert '\n  kafka: "3.9.1"\n' in (folder / "shop.yaml").read_text()
    assert "Clients are assumed" not in result.output


def test_unknown_release_of_brokers_that_assign_causes_one_warning(folder: Path) -> None:
    (folder / "dumps" / "e").write_text(STREAMS)
    result = import_dumps(*RACKS)
    assert result.exit_code == 0, result.output
    [warning] = [line for line in result.stderr.splitlines() if line.startswith("warning:")]
    assert warning.startswith("warning: The release of the brokers is unknown: ")
    assert "# Warning: The release of the brokers is unknown: " in (folder / "shop.yaml").read_text()


def test_standard_output_has_the_scenario_only(folder: Path) -> None:
    result = import_dumps(*RACKS, "--config", "num.standby.replicas=0", "-o", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# shop, imported: in a, b, c, d, e\n")
    assert "assumed:" in result.stderr
    assert not list(folder.glob("*.yaml")) + list(folder.glob("-*"))


def test_config_takes_precedence_over_streams_config(folder: Path) -> None:
    (folder / "app.properties").write_text("num.standby.replicas=1\nmax.warmup.replicas=7\nsasl.jaas.config=hunter2\n")
    result = import_dumps(*RACKS, "--streams-config", "app.properties", "--config", "num.standby.replicas=0")
    assert result.exit_code == 0, result.output
    configs = load(folder / "shop.yaml").assignment_configs
    assert (configs.num_standby_replicas, configs.max_warmup_replicas) == (0, 7)
    assert "hunter2" not in result.output + (folder / "shop.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "dumps"), "- number of standbys: --config num.standby.replicas=N\n- racks of shop-"),
        ((), "give either --bootstrap HOST:PORT (a running cluster) or --from DIR (a folder of dumps)"),
        (("--from", "dumps", "--bootstrap", "h:1"), "give either --bootstrap HOST:PORT"),
        (("--from", "dumps", "--seconds", "3"), "--seconds requires --bootstrap"),
        (("--from", "dumps", "--topology", "dumps/d"), "--topology requires --bootstrap"),
        (("--bootstrap", "h:1", "--rack", "az1"), "--rack az1: expected KEY=VALUE, as in 'shop-1*=az1'"),
        (("--bootstrap", "h:1", "--last"), "--last requires --from"),
        (("--bootstrap", "h:1", "--command-config", "nowhere"), "'nowhere': no such file"),
        (("--from", "dumps", "--kafka", "4.5"), "--kafka: Kafka 4.5 is not supported (supported: 3.8 to 4.4)"),
        (("--from", "dumps", "--kafka", "new"), "--kafka: 'new' is not a Kafka release such as 4.3 or 3.9.1"),
        (("--from", "nowhere"), "'nowhere' is not a folder"),
        (("--from", "dumps", "--config", "x"), "--config x: expected KEY=VALUE, as in num.standby.replicas=1"),
        (
            ("--from", "dumps", *RACKS, "--config", "num.standby.replicas=1", "--config", "max.warmup.replicas=0"),
            "application.configs.max.warmup.replicas: ",
        ),
    ],
)
def test_invalid_options_are_rejected_and_nothing_is_written(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run_import("--group", "shop", "-o", "shop.yaml", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["dumps"]


def test_how_to_page_shows_the_current_output(folder: Path) -> None:
    page = HOW_TO.read_text(encoding="utf-8")
    names = {"a": "topics.txt", "b": "brokers.txt", "c": "log_dirs.txt", "d": "topology.txt", "e": "group.txt"}
    for old, new in {**names, "f": "README.md"}.items():
        (folder / "dumps" / old).rename(folder / "dumps" / new)
    source = ("--from", "dumps", "--group", "shop", "-o", "now.yaml")
    incomplete = run_import(*source, width=80)
    complete = run_import(*source, "--config", "num.standby.replicas=0", *RACKS, width=80)
    assert (incomplete.exit_code, complete.exit_code) == (2, 0)
    assert incomplete.stderr in page
    assert complete.stdout in page


def test_missing_output_folder_is_reported(folder: Path) -> None:
    result = import_dumps(*RACKS, "--config", "num.standby.replicas=0", "-o", "nowhere/shop.yaml")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr


def test_invalid_properties_file_is_reported_by_line_without_its_content(folder: Path) -> None:
    (folder / "client.properties").write_text("a=b\n=hunter2\n")
    result = run_import("--bootstrap", "h:1", "--group", "shop", "-o", "x", "--command-config", "client.properties")
    assert result.exit_code == 2
    assert result.stderr == "error: client.properties:2: not a property (key=value)\n"


METRICS = """\
java_lang_runtime_uptime {uptime_ms}
kafka_streams_stream_state_updater_metrics_active_restoring_tasks{{thread_id="{client}-StateUpdater-1"}} 1.0
kafka_consumer_consumer_fetch_manager_metrics_bytes_consumed{{client_id="{client}-StateUpdater-1-restore-consumer"}} \
{read}
kafka_streams_stream_thread_metrics_process_rate{{thread_id="{client}-StreamThread-1"}} 100.0
kafka_streams_stream_thread_metrics_process_latency_avg{{thread_id="{client}-StreamThread-1"}} 0.5
"""


def test_client_metrics_set_the_rates_of_clients(folder: Path) -> None:
    client = "shop-11111111-1111-1111-1111-111111111111"
    for uptime_ms, read in ((10_000, 0), (12_000, 6_000_000)):
        text = METRICS.format(client=client, uptime_ms=uptime_ms, read=read)
        (folder / f"{uptime_ms}.prom").write_text(text)
    metrics = ("--client-metrics", "10000.prom", "--client-metrics", "12000.prom")
    result = import_dumps(*RACKS, "--config", "num.standby.replicas=0", *metrics)
    assert result.exit_code == 0, result.output
    assert "measured: Restoration at 3 MB/s or more" in result.stdout
    assert "measured: Processing of 2,000 records/s per thread" in result.stdout
    plans = load(folder / "shop.yaml").blueprint.clients
    assert [(plan.restore_bytes_per_s, plan.records_per_s) for plan in plans] == [(3_000_000, 2_000)] * 2


def test_unusable_client_metrics_are_reported_with_their_line(folder: Path) -> None:
    (folder / "metrics.prom").write_text("up 1\n<html>\n")
    result = import_dumps(*RACKS, "--config", "num.standby.replicas=0", "--client-metrics", "metrics.prom")
    assert result.exit_code == 2
    assert "metrics.prom:2: not a sample of Prometheus" in result.stderr
    assert not (folder / "shop.yaml").exists()


def test_lines_fit_a_terminal_and_the_command_stays_whole(folder: Path) -> None:
    name = f"a long {'name ' * 10}.yaml"
    result = run_import("--from", "dumps", "--group", "shop", *KNOWN, "-o", name, width=60)
    *lines, command = result.stdout.splitlines()
    assert max(map(len, lines)) <= 60
    assert command == f"assignor-sim run '{name}'"


def test_consumer_group_becomes_a_scenario_that_runs_and_verifies(folder: Path) -> None:
    result = run_import(
        "--from", str(CONSUMER_DUMPS), "--group", "audit", "--rack", "*=", "-o", "audit.yaml", "--format", "json"
    )
    assert result.exit_code == 0, result.output
    imported = json.loads(result.stdout)
    assert (imported["group_id"], imported["protocol"], imported["members"]) == ("audit", "consumer", 4)
    assert (imported["partitions"], imported["topics"], imported["brokers"]) == (17, 2, 3)
    assert load(folder / "audit.yaml").blueprint.start is Start.RUNNING
    runner = CliRunner()
    for command in ("run", "record", "verify"):
        finished = runner.invoke(app, [command, "audit.yaml"])
        assert finished.exit_code == 0, finished.output


def test_summary_of_a_consumer_group(folder: Path) -> None:
    result = run_import("--from", str(CONSUMER_DUMPS), "--group", "default", "--rack", "*=", "-o", "default.yaml")
    assert result.stdout.splitlines()[0] == (
        "default (consumer group, range): 4 members, 17 partitions, 2 topics on 3 brokers in 3 racks"
    )


def test_client_metrics_do_not_apply_to_consumer_groups(folder: Path) -> None:
    (folder / "clients.prom").write_text("kafka_streams_info 1\n")
    options = ("--group", "default", "--rack", "*=", "-o", "default.yaml", "--client-metrics", "clients.prom")
    result = run_import("--from", str(CONSUMER_DUMPS), *options)
    assert result.exit_code == 2
    assert "'default' is a consumer group: client metrics are those of Kafka Streams" in result.output


STORM = HOW_TO.parents[1] / "examples" / "rebalance-storm"
SHOP_RACKS = ("--rack", "shop-one*=az1", "--rack", "shop-two*=az2", "--rack", "*=az3")


def _prefixed(name: str, text: str) -> str:
    return "".join(f"{name}  | {line}\n" for line in text.splitlines())


def _import_storm(folder: Path, logs: dict[str, str], *arguments: str) -> Result:
    """Import the example with other logs."""
    dumps = folder / f"storm-{len(list(folder.iterdir()))}"
    dumps.mkdir()
    for path in STORM.glob("*.txt"):
        (dumps / path.name).write_text(path.read_text())
    for name, text in logs.items():
        (dumps / name).write_text(text)
    known = ("--group", "shop", "--config", "num.standby.replicas=1", "--last", *arguments)
    return run_import("--from", str(dumps), *known, "-o", str(folder / "storm.yaml"))


def test_logs_with_prefixes_are_imported_like_those_without(folder: Path) -> None:
    logs = {path.name: path.read_text() for path in STORM.glob("*.log")}
    of_services = {name: _prefixed(name.removesuffix(".log"), text) for name, text in logs.items()}
    one_file = {"all.log": "Attaching to shop-one, shop-three\n" + "".join(of_services.values())}
    texts = []
    for variant in (logs, of_services, one_file):
        result = _import_storm(folder, variant, *SHOP_RACKS)
        assert result.exit_code == 0, result.output
        texts.append((folder / "storm.yaml").read_text().split("\n", 1)[1])  # the first line names the files
    assert texts[0] == texts[1] == texts[2]
    racks = {client.name: client.rack for client in load(folder / "storm.yaml").world(1).clients}
    assert racks == {"shop-one": "az1", "shop-two": "az2", "shop-three": "az3"}


def test_a_rack_pattern_without_a_client_is_an_error_that_names_the_clients(folder: Path) -> None:
    logs = {path.name: path.read_text() for path in STORM.glob("*.log")}
    result = _import_storm(folder, logs, "--rack", "shop-four*=az1", "--rack", "*=az3")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: --rack 'shop-four*=az1': no client matches 'shop-four*' (clients: shop-one, shop-three, shop-two)\n",
    )
    assert not (folder / "storm.yaml").exists()


def test_a_damaged_log_with_a_prefix_is_reported_with_the_line_of_the_file(folder: Path) -> None:
    text = _prefixed("shop-one", "\n".join((STORM / "shop-one.log").read_text().splitlines()))
    number = 1 + next(i for i, line in enumerate(text.splitlines()) if "activeTasks: (" in line)
    damaged = "other  | started\n" + text.replace("activeTasks: ([", "activeTasks: ([x, ", 1)
    result = _import_storm(folder, {"all.log": damaged}, *SHOP_RACKS)
    assert f"all.log (shop-one):{number + 1}: 'x' is not a task id" in result.stderr


def test_log_dirs_over_several_lines_are_imported_like_a_single_line(folder: Path) -> None:
    assert import_dumps(*KNOWN).exit_code == 0
    expected = (folder / "shop.yaml").read_text()
    (folder / "dumps" / "c").write_text(json.dumps(json.loads(SIZES), indent=2))
    assert "c (log dirs)" in import_dumps(*KNOWN).stdout
    assert (folder / "shop.yaml").read_text() == expected
    assert "size: [0, 700]" in expected


def test_log_dirs_that_cannot_be_read_are_an_error(folder: Path) -> None:
    (folder / "dumps" / "c").write_text(json.dumps(json.loads(SIZES), indent=2)[:-3])
    result = import_dumps(*KNOWN)
    expected = "expected the complete output of kafka-log-dirs.sh --describe"
    problem = f"invalid JSON: Expecting ',' delimiter (character 3); {expected}"
    assert (result.exit_code, result.stderr) == (2, f"error: c:16: {problem}\n")
    assert not (folder / "shop.yaml").exists()


def test_topics_without_sizes_in_log_dirs_are_named(folder: Path) -> None:
    assert (
        "assumed: c lacks sizes of partitions, which are assumed empty (topics: orders, shop-by-customer-repartition, "
        "shop-totals-changelog)."
    ) in import_dumps(*KNOWN).stdout.replace("\n", " ").replace("  ", " ")


@pytest.mark.parametrize("is_option", [True, False])
def test_properties_of_a_framework_are_read_without_their_prefix(folder: Path, is_option: bool) -> None:
    path = folder / ("app.properties" if is_option else "dumps/app.properties")
    path.write_text("server.port=80\nspring.kafka.streams.properties.num.standby.replicas=2\n")
    option = ("--streams-config", str(path)) if is_option else ()
    result = import_dumps(*RACKS, *option)
    assert result.exit_code == 0, result.output
    printed = " ".join((result.stderr if is_option else result.stdout).split())
    assert "read without the prefix of its keys: spring.kafka.streams.properties. (Spring Boot)." in printed
    assert load(folder / "shop.yaml").assignment_configs.num_standby_replicas == 2
    assert "server.port" not in result.output
