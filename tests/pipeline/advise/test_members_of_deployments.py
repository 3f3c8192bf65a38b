"""Static membership is advised only where members keep their names: not to the pods of a Deployment."""

from __future__ import annotations

from pathlib import Path

import pytest

import assignor_sim as sim
from pipeline.advise.checkup import checkup_program
from pipeline.advise.group import GroupSetting
from pipeline.advise.streams import StreamsSetting
from reports.analysis.conclusion import conclude
from scenarios.load import Scenario, loads
from tests.scenarios.kubernetes.manifests import load_manifest, workload

pytestmark = pytest.mark.spark

CLUSTER = """
name: shop
cluster:
  brokers: {count: 3, racks: [a, b, c]}
  topics: [{name: in, partitions: 12, replication_factor: 3, bytes_per_s: 2 MB/s}]
"""
APPLICATION = """
application:
  id: app
  kafka: "3.9"
  subtopologies: [{sources: [in], stores: [{name: s, size: 6 GB, bytes_per_s: 1 MB/s}]}]
clients: [{name: pod, count: 4, racks: [a, b, c], threads: 1}, {name: next, count: 4, starts: false, racks: [a, b, c]}]
"""
GROUP = """
consumers: [{group: billing, topics: [in], clients: [{name: pod, count: 4}, {name: next, count: 4, starts: false}]}]
"""
IN_PLACE = "events: [{at: 10m, rolling_update: {clients: pod, kind: deployment, max_surge: 0}}]\n"
REPLACED = "events: [{at: 10m, rolling_update: {clients: pod, kind: deployment, replacements: next}}]\n"
STATEFUL = "events: [{at: 10m, rolling_update: {clients: pod, kind: stateful_set}}]\n"


def is_tried(scenario: Scenario) -> bool:
    """Return whether a checkup tries static membership, and check that it says so if it does not."""
    program = checkup_program(scenario, None)
    settings = list(program.single_changes())
    tried = any(isinstance(setting, StreamsSetting | GroupSetting) and setting.is_static for setting in settings)
    assert tried != any("the pods of a Deployment" in remark for remark in program.remarks())
    return tried


@pytest.mark.parametrize("subject", [APPLICATION, GROUP], ids=["application", "group"])
def test_static_membership_is_not_tried_in_a_deployment(subject: str) -> None:
    assert is_tried(loads(CLUSTER + subject))
    assert is_tried(loads(CLUSTER + subject + STATEFUL))
    assert not is_tried(loads(CLUSTER + subject + IN_PLACE))
    assert not is_tried(loads(CLUSTER + subject + REPLACED))


@pytest.mark.parametrize("controller", ["StatefulSet", "Deployment"])
def test_a_manifest_says_whether_pods_keep_their_names(controller: str, tmp_path: Path) -> None:
    assert is_tried(load_manifest(tmp_path, workload(controller))) == (controller == "StatefulSet")


def test_next_steps_for_a_deployment_are_to_leave_on_close() -> None:
    result = sim.run(loads(CLUSTER + APPLICATION + IN_PLACE + "duration: 1h\n"))
    [conclusion] = conclude(result.tables, [result.manifest])
    steps = [step.change for step in conclusion.next_steps]
    assert any("leaving the group on close" in step for step in steps)
    assert not any("static membership" in step for step in steps)
    # The step helps: with it, no session has to time out.
    leaves = IN_PLACE.replace("max_surge: 0", "max_surge: 0, leaves_group: true")
    left = sim.run(loads(CLUSTER + APPLICATION + leaves + "duration: 1h\n"))
    assert "session timed out" not in str(left.tables["rounds"].to_pylist())
