"""Import of two applications from a real cluster and from the output of Kafka's own tools.

Every import runs the command line, while both applications run and no records are written.
"""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from assignors.model.ids import TopicPartition
from assignors.replicas.state import TopicRetention
from scenarios.kafka.live.client_properties import client_settings
from scenarios.kafka.live.connection import connect
from scenarios.load import load
from simulator.world.world import Client, Topic, World
from tests.assignor_sim.conftest import CommandResult, Shell
from tests.fidelity.applications import BROKER_CONFIGS, COMMON, STANDBYS, STREAMS_BROKER_CONFIGS
from tests.kafka_cluster.applications import Host, Hosts, describe_topology, prepare
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.real_kafka.permissions import PERMISSIONS, Permissions
from tests.real_kafka.reassigning import KafkaAdminClient

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

CLASSIC, STREAMS = "shop", "kiosk"
PURGED = {**COMMON, "repartition.purge.interval.ms": 1_000}
"""Repartition topics are purged before the imports, not between them (by default 30 s after the start)."""
APPLICATIONS: Mapping[str, Mapping[str, object]] = {
    CLASSIC: {**PURGED, STANDBYS: 1},
    STREAMS: {**PURGED, "group.protocol": "streams"},
}
CONFIGS = {
    **BROKER_CONFIGS,
    **STREAMS_BROKER_CONFIGS,
    "group.streams.num.standby.replicas": 1,
    "log.retention.ms": 86_400_000,
}
OVERRIDES = "unclean.leader.election.enable=true,retention.ms=3600000"
"""Configs of the topic `clicks`."""
RACKS = ("--rack", "*-one=az1", "--rack", "*-two=az2")
ACTIVE, STATEFUL = 26, 14
RECORDS = 500
QUIET_S, IDLE_TIMEOUT_S = 3.0, 60

TOOLS = {
    "topics": ("TopicCommand", "--describe"),
    "brokers": ("BrokerApiVersionsCommand",),
    "log_dirs": ("LogDirsCommand", "--describe"),
    "consumers": ("ConsumerGroupCommand", "--describe", "--members", "--verbose", "--group", CLASSIC),
    "members": ("StreamsGroupCommand", "--describe", "--members", "--verbose", "--group", STREAMS),
}
CLUSTER_DUMPS = ("topics", "brokers", "log_dirs", "topology")

PLAN_PERMISSIONS = ("Cluster Describe", "Topic Describe")

_LOGIN = "sasl.jaas.config=org.apache.kafka.common.security.{module} required{options};\n"
_PROPERTIES = {
    "PLAIN": _LOGIN.format(module="plain.PlainLoginModule", options=' username="import" password="import-secret"'),
    "OAUTHBEARER": _LOGIN.format(module="oauthbearer.OAuthBearerLoginModule", options="")
    + "sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\n"
    "sasl.oauthbearer.token.endpoint.url={folder}/token.jwt\n",
}

Tasks = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""Active and standby tasks, by process id or by client name."""


@dataclass(frozen=True, slots=True)
class ImportedApplications:
    """The imported applications.

    Attributes:
        shell: Shell in a folder with the imported scenarios and a folder of dumps for each source.
        reported: Tasks that the applications report, by application and process id.
        results: Results of the `import` and `run` commands, by application.
        of_user: Results of imports as a user who has the permissions of docs/reference/security.md, by application
            and mechanism of SASL.
        without: The same without one of the permissions, by application and permission.
        plans: Results of `plan` as that user, with only Describe on cluster and topics, and without a permission.
        before: State of the cluster before the imports.
        after: State of the cluster after the imports.
    """

    shell: Shell
    reported: Mapping[str, Tasks]
    results: Mapping[str, tuple[CommandResult, CommandResult]]
    of_user: Mapping[tuple[str, str], CommandResult]
    without: Mapping[tuple[str, str], CommandResult]
    plans: Mapping[str, CommandResult]
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def world(self, file: str) -> World:
        return load(self.shell.folder / file).world(1)


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImportedApplications]:
    shell = Shell(tmp_path_factory.mktemp("imported"))
    spec = ClusterSpec(brokers=3, broker_configs=CONFIGS, passwords={"import": "import-secret"})
    with KafkaCluster(spec) as cluster, Hosts(cluster) as hosts, ThreadPoolExecutor(2) as executor:
        prepare(cluster, RECORDS)
        topic = ("--entity-type", "topics", "--entity-name", "clicks")
        cluster.run_tool("ConfigCommand", "--alter", *topic, "--add-config", OVERRIDES)
        first, second = hosts.add("one", "az1"), hosts.add("two", "az2")
        for host in (first, second):
            host.start(APPLICATIONS)
        topology = executor.submit(describe_topology, cluster)
        hosts.wait_until("all tasks run, and nothing changes", lambda: _is_stable(hosts), IDLE_TIMEOUT_S)
        tools = {name: executor.submit(cluster.run_tool, *tool) for name, tool in TOOLS.items()}
        before = _wait_until_idle(cluster, hosts)
        results = {application: _import(shell, cluster, application) for application in APPLICATIONS}
        printed = {name: tool.result() for name, tool in {**tools, "topology": topology}.items()}
        of_user, without, plans = _import_as_user(shell, cluster)
        after = _cluster_state(cluster, hosts)
        logs = {host.name: host.log.read_text(encoding="utf-8") for host in (first, second)}
        for folder, of_group in {"by-consumers": ["consumers"], "by-members": ["members"], "by-log": []}.items():
            texts = {name: printed[name] for name in [*CLUSTER_DUMPS, *of_group]} | ({} if of_group else logs)
            (shell.folder / folder).mkdir()
            for name, text in texts.items():
                shell.write(f"{folder}/{name}.txt", text)
        yield ImportedApplications(
            shell,
            {application_id: _reported_tasks(hosts, application_id) for application_id in APPLICATIONS},
            results,
            of_user,
            without,
            plans,
            before,
            after,
        )


def _import(shell: Shell, cluster: KafkaCluster, application: str) -> tuple[CommandResult, CommandResult]:
    options = ("--bootstrap", cluster.bootstrap_servers.split(",")[0], "--group", application)
    return shell("import", *options, "-o", f"{application}.yaml"), shell("run", f"{application}.yaml")


def _import_as_user(
    shell: Shell, cluster: KafkaCluster
) -> tuple[dict[tuple[str, str], CommandResult], dict[tuple[str, str], CommandResult], dict[str, CommandResult]]:
    """Import as the user `import`: with all documented permissions, and without each; and plan with fewer."""
    issued_s = int(time.time())
    parts = ({"alg": "none"}, {"sub": "import", "iat": issued_s, "exp": issued_s + 3_600})
    token = "".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") + "." for part in parts)
    shell.write("token.jwt", token)
    for mechanism, lines in _PROPERTIES.items():
        text = lines.format(folder=shell.folder.as_uri())
        shell.write(f"{mechanism}.properties", f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n{text}")
    server = cluster.sasl_bootstrap_servers.split(",")[0]

    def imported(application: str, mechanism: str, file: str) -> CommandResult:
        options = ("--bootstrap", server, "--group", application, "--command-config", f"{mechanism}.properties")
        return shell("import", *options, "-o", file)

    def planned() -> CommandResult:
        return shell("plan", "--bootstrap", server, "--command-config", "PLAIN.properties")

    with Permissions(cluster.bootstrap_servers, "User:import", PERMISSIONS) as permissions:
        of_user = {
            (application, mechanism): imported(application, mechanism, f"{application}-{mechanism}.yaml")
            for application in APPLICATIONS
            for mechanism in _PROPERTIES
        }
        without, plans = {}, {"all": planned()}
        for permission in PERMISSIONS:
            with permissions.without(permission):
                for application in APPLICATIONS:
                    file = f"{application}-without-{permission.replace(' ', '-')}.yaml"
                    without[application, permission] = imported(application, "PLAIN", file)
                plans[permission] = planned()
    return of_user, without, plans


def _is_stable(hosts: Hosts) -> bool:
    latest_ms = round((time.time() - QUIET_S) * 1000)
    return all(
        _is_group_stable([host.task_history(application_id) for host in hosts.running()], latest_ms)
        for application_id in APPLICATIONS
    )


def _is_group_stable(histories: list[Any], latest_ms: int) -> bool:
    if not all(history and history[-1].state == "RUNNING" and history[-1].at_ms < latest_ms for history in histories):
        return False
    counts = [sum(len(getattr(history[-1], role)) for history in histories) for role in ("active", "standby")]
    return counts == [ACTIVE, STATEFUL]


def _wait_until_idle(cluster: KafkaCluster, hosts: Hosts) -> Mapping[str, Any]:
    """Return the state of the cluster once nothing is read, written, committed or purged any more."""
    deadline_s = time.monotonic() + IDLE_TIMEOUT_S
    previous_state = _cluster_state(cluster, hosts)
    while True:
        time.sleep(2.5)  # Longer than the commit interval and the purge interval together.
        state = _cluster_state(cluster, hosts)
        if state == previous_state:
            return state
        assert time.monotonic() < deadline_s, "the applications still read"
        previous_state = state


def _cluster_state(cluster: KafkaCluster, hosts: Hosts) -> Mapping[str, Any]:
    """Return members, epochs, generations and committed offsets of the groups; all groups, first and end offsets."""
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        committed = admin.list_group_offsets(dict.fromkeys(APPLICATIONS))
    with connect(cluster.bootstrap_servers, client_settings({})) as cluster_api:
        topics = {topic["name"]: len(topic["partitions"]) for topic in cluster_api.topics()}
        partitions = [TopicPartition(name, number) for name in topics for number in range(topics[name])]
        ends = cluster_api.end_offsets(partitions)
        return {
            "committed": {group: dict(offsets) for group, offsets in committed.items()},
            "classic": cluster_api.classic_group(CLASSIC),
            "streams": cluster_api.streams_group(STREAMS),
            "groups": sorted(str(group["group_id"]) for group in cluster_api.groups()),
            "offsets": {
                partition: (first, ends[partition])
                for partition, first in cluster_api.start_offsets(partitions).items()
                if not partition.topic.startswith("__")
            },
            "joins": [generation for host in hosts.all() for generation in _generations(host)],
        }


def _generations(host: Host) -> list[str]:
    """Return the generations of the classic group that threads of a host joined, according to their log."""
    return re.findall(r"Successfully joined group with generation .*generationId=(\d+)", host.log.read_text())


def _reported_tasks(hosts: Hosts, application: str) -> Tasks:
    latest = {host.process_id(application): host.task_history(application)[-1] for host in hosts.all()}
    return {process: (tasks.active, tasks.standby) for process, tasks in latest.items()}


def _task_names(tasks: tuple[tuple[Any, ...], ...]) -> frozenset[str]:
    return frozenset(str(task) for thread in tasks for task in thread)


def _tasks_of_client(client: Client) -> tuple[frozenset[str], frozenset[str]]:
    return _task_names(client.tasks.active), _task_names(client.tasks.standby)


def _by_name(world: World) -> Tasks:
    return {client.name: _tasks_of_client(client) for client in world.clients}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_running_application_is_imported_and_simulated(imports: ImportedApplications, application: str) -> None:
    imported, ran = imports.results[application]
    assert imported.code == 0
    assert sorted(line.partition("=")[0] for line in imported.err.splitlines()) == [
        "warning: group.min.session.timeout.ms",
        "warning: group.streams.num.standby.replicas",
    ]
    assert imported.out.splitlines()[-1] == f"assignor-sim run {application}.yaml"
    assert ran.code == 0, ran.err
    assert application in ran.out


@pytest.mark.parametrize("application", APPLICATIONS)
def test_scenario_has_tasks_reported_by_application(imports: ImportedApplications, application: str) -> None:
    world = imports.world(f"{application}.yaml")
    assert {str(client.process_id): _tasks_of_client(client) for client in world.clients} == imports.reported[
        application
    ]
    assert {client.name: client.rack for client in world.clients} == {
        f"{application}-one": "az1",
        f"{application}-two": "az2",
    }
    assert {broker.id: broker.rack for broker in world.cluster.brokers} == {1: "az1", 2: "az2", 3: "az3"}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_topics_have_their_own_configs_or_those_of_the_brokers(imports: ImportedApplications, application: str) -> None:
    topics = imports.world(f"{application}.yaml").cluster.topics
    assert [name for name, topic in topics.items() if topic.unclean_leader_election] == ["clicks"]
    assert topics["clicks"].retention == TopicRetention(3_600_000, None)
    assert topics["pages"].retention == TopicRetention(86_400_000, None)


def _compare_clusters(live: World, dumped: World) -> None:
    for name, topic in live.cluster.topics.items():
        dumped_topic = dumped.cluster.topics[name]
        assert (name, *_description(topic)) == (name, *_description(dumped_topic))
    assert live.cluster.brokers == dumped.cluster.brokers
    subtopologies, dumped_subtopologies = (
        [
            (sorted(subtopology.source_topics), {store.name for store in subtopology.stores})
            for subtopology in world.application.subtopologies
        ]
        for world in (live, dumped)
    )
    assert subtopologies == dumped_subtopologies


def _description(topic: Topic) -> tuple[object, ...]:
    """Return what `kafka-topics.sh --describe` prints of a topic."""
    configs = (topic.min_insync_replicas, topic.unclean_leader_election, topic.retention)
    return topic.replicas, topic.leaders, *configs


def test_consumer_group_dump_gives_same_active_tasks(imports: ImportedApplications) -> None:
    options = ("--from", "by-consumers", "--group", CLASSIC, "-o", "by-consumers.yaml")
    result = imports.shell("import", *options, *RACKS, "--config", f"{STANDBYS}=1")
    assert (result.code, result.err) == (0, "")
    live, dumped = imports.world(f"{CLASSIC}.yaml"), imports.world("by-consumers.yaml")
    assert {name: active for name, (active, _) in _by_name(dumped).items()} == {
        name: active for name, (active, _) in _by_name(live).items()
    }
    _compare_clusters(live, dumped)


def test_leader_log_gives_same_active_and_standby_tasks(imports: ImportedApplications) -> None:
    result = imports.shell("import", "--from", "by-log", "--group", CLASSIC, "-o", "by-log.yaml", "--last", *RACKS)
    assert (result.code, result.err) == (0, "")
    live, dumped = imports.world(f"{CLASSIC}.yaml"), imports.world("by-log.yaml")
    assert {str(client.process_id): _tasks_of_client(client) for client in dumped.clients} == imports.reported[CLASSIC]
    assert _by_name(dumped) == _by_name(live)
    _compare_clusters(live, dumped)


def test_streams_group_dump_gives_same_tasks_by_thread_and_members(
    imports: ImportedApplications,
) -> None:
    result = imports.shell("import", "--from", "by-members", "--group", STREAMS, "-o", "by-members.yaml", *RACKS)
    assert (result.code, result.err) == (0, "")
    live, dumped = imports.world(f"{STREAMS}.yaml"), imports.world("by-members.yaml")
    assert {client.name: (client.tasks.active, client.tasks.standby) for client in dumped.clients} == {
        client.name: (client.tasks.active, client.tasks.standby) for client in live.clients
    }
    _compare_clusters(live, dumped)
    parameters = [
        load(imports.shell.folder / file).assignors[0].parameters for file in (f"{STREAMS}.yaml", "by-members.yaml")
    ]
    members = {member["member_id"] for member in imports.after["streams"]["members"]}
    assert set(parameters[0]["members"]) == members
    live_members, dumped_members = (list(of_import["members"].items()) for of_import in parameters)
    assert dumped_members == live_members


def test_import_does_not_change_the_cluster(imports: ImportedApplications) -> None:
    assert imports.after == imports.before
    assert imports.before["classic"]["group_state"] == imports.before["streams"]["group_state"] == "Stable"
    assert len(imports.before["classic"]["members"]) == len(imports.before["streams"]["members"]) == 4
    assert set(imports.before["committed"]) == set(APPLICATIONS)
    assert all(imports.before["committed"].values())
    assert imports.before["joins"]
    assert any(first > 0 for partition, (first, _) in imports.before["offsets"].items() if "repart" in partition.topic)


@pytest.mark.parametrize("mechanism", _PROPERTIES)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_documented_permissions_suffice(imports: ImportedApplications, application: str, mechanism: str) -> None:
    result = imports.of_user[application, mechanism]
    assert result.code == 0, result.err
    assert _without_header(imports, f"{application}-{mechanism}.yaml") == _without_header(
        imports, f"{application}.yaml"
    )


def _without_header(imports: ImportedApplications, file: str) -> list[str]:
    """Return the lines of a scenario without the first one, which names the port and the minute."""
    return (imports.shell.folder / file).read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("permission", ["Group Describe", "Topic Describe"])
def test_required_permission_is_named_in_the_error(
    imports: ImportedApplications, application: str, permission: str
) -> None:
    resource, operation = permission.split()
    result = imports.without[application, permission]
    assert result.code == 2
    assert "required: the operation Describe" in result.err or "they require the operation Describe" in result.err
    assert resource.lower() in result.err
    assert operation in result.err


@pytest.mark.parametrize(
    ("application", "permission", "assumption"),
    [
        (CLASSIC, "Cluster Describe", "they require the operation Describe on the cluster"),
        (STREAMS, "Cluster Describe", "they require the operation Describe on the cluster"),
        (CLASSIC, "Cluster DescribeConfigs", "Broker configs are not visible"),
        (STREAMS, "Group DescribeConfigs", "num.standby.replicas is assumed to be 1"),
        (CLASSIC, "Topic DescribeConfigs", "Configs of some topics are not visible"),
        (STREAMS, "Topic DescribeConfigs", "Configs of some topics are not visible"),
    ],
)
def test_scenario_says_what_a_missing_permission_hides(
    imports: ImportedApplications, application: str, permission: str, assumption: str
) -> None:
    result = imports.without[application, permission]
    assert result.code == 0, result.err
    assert assumption in result.out
    assert assumption not in imports.of_user[application, "PLAIN"].out


def test_configs_of_a_group_that_contradict_assumed_ones_of_the_brokers_are_explained(
    imports: ImportedApplications,
) -> None:
    result = imports.without[STREAMS, "Cluster DescribeConfigs"]
    assert result.code == 2
    assert "(they require DescribeConfigs on the cluster): Kafka's defaults are assumed" in result.err


def test_plan_needs_cluster_and_topics(imports: ImportedApplications) -> None:
    codes = {permission: result.code for permission, result in imports.plans.items()}
    assert codes == {"all": 0} | {name: 2 if name in PLAN_PERMISSIONS else 0 for name in PERMISSIONS}
    for permission in PLAN_PERMISSIONS:
        resource, operation = permission.split()
        assert f"required: the operation {operation} on " in imports.plans[permission].err
        assert resource.lower() in imports.plans[permission].err
