"""`assignor-sim plan` lists the changed partitions, and the brokers before and after."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from assignor_sim.api.plan_comparison import PlanComparison, plan
from reports.analysis.plans.results import PartitionChange
from reports.render.plan import draw_changes
from tests.assignor_sim.commands.plan_commands import (
    PLANNERS,
    ROUND_ROBIN,
    parse_json,
    plan_three_brokers,
    read_replicas,
    run_plan,
)

pytestmark = pytest.mark.answers

LINE = re.compile(r"^(\S+): \[([\d,]+)\](?: → \[([\d,]+)\])?(?:  (.*))?$")


def random_cluster(seed: int) -> tuple[str, str]:
    """Return an assignment of random replicas, and the sizes of its partitions, as Kafka's tools print them."""
    random_ = random.Random(seed)
    count = random_.randint(3, 8)
    topics = [f"t{number}.x" for number in range(random_.randint(1, 4))]
    partitions = [
        {"topic": topic, "partition": number, "replicas": random_.sample(range(1, count + 1), random_.randint(1, 3))}
        for topic in topics
        for number in range(random_.randint(1, 12))
    ]
    sizes = [
        {"partition": f"{entry['topic']}-{entry['partition']}", "size": random_.randrange(10**10), "isFuture": False}
        for entry in partitions
    ]
    log_dirs = {"version": 1, "brokers": [{"broker": 1, "logDirs": [{"logDir": "/d", "partitions": sizes}]}]}
    return json.dumps({"version": 1, "partitions": partitions}), json.dumps(log_dirs)


def random_plan(folder: Path, seed: int) -> PlanComparison:
    assignment, sizes = random_cluster(seed)
    (folder / "today.json").write_text(assignment)
    (folder / "sizes.json").write_text(sizes + "\n")
    return plan(
        "today.json", "exact_flow", log_dirs="sizes.json", add_brokers=["20:az9"], rack_aware=False, num_orders=0
    )


def ids(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


@pytest.mark.parametrize("seed", range(20))
def test_changes_lead_from_the_current_to_the_planned_replicas(folder: Path, seed: int) -> None:
    comparison = random_plan(folder, seed)
    current = {
        (entry["topic"], entry["partition"]): entry["replicas"]
        for entry in json.loads((folder / "today.json").read_text())["partitions"]
    }
    planned = comparison.replicas("exact_flow")
    changes = comparison.changes("exact_flow")
    changed = {(change.topic, change.partition): change for change in changes}
    assert len(changed) == len(changes)
    for key, replicas in current.items():
        assert list(changed[key].before if key in changed else replicas) == replicas
        assert list(changed[key].after if key in changed else replicas) == planned[key]
        if key in changed:
            assert (changed[key].leader, changed[key].new_leader) == (replicas[0], planned[key][0])
    figures = comparison["exact_flow"].figures
    assert sum(change.num_copies for change in changes) == figures["replicas_moved"]
    assert sum(change.copied_bytes or 0 for change in changes) == figures["bytes_moved"]


@pytest.mark.parametrize("seed", range(20))
def test_brokers_before_and_after_hold_what_the_replicas_say(folder: Path, seed: int) -> None:
    comparison = random_plan(folder, seed)
    sizes = {
        entry["partition"]: entry["size"]
        for entry in json.loads((folder / "sizes.json").read_text())["brokers"][0]["logDirs"][0]["partitions"]
    }
    current = json.loads((folder / "today.json").read_text())["partitions"]
    sides = (
        {f"{entry['topic']}-{entry['partition']}": entry["replicas"] for entry in current},
        {f"{topic}-{number}": replicas for (topic, number), replicas in comparison.replicas("exact_flow").items()},
    )
    loads = comparison.broker_loads("exact_flow")
    assert [load.broker for load in loads] == sorted(load.broker for load in loads)
    assert 20 in {load.broker for load in loads}
    for load in loads:
        for side, replicas in enumerate(sides):
            held = [name for name, brokers in replicas.items() if load.broker in brokers]
            assert load.replicas[side] == len(held)
            assert load.leaders[side] == sum(replicas[name][0] == load.broker for name in held)
            assert load.bytes is not None
            assert load.bytes[side] == sum(sizes[name] for name in held)


def test_text_is_the_diff_of_the_written_files(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, "--log-dirs", "sizes.json", "--out", "out", width=80)
    assert result.exit_code == 0, result.output
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    lines = [match for line in result.stdout.splitlines() if (match := LINE.match(line))]
    assert {match[1]: tuple(ids(match[3])) for match in lines if match[3]} == read_replicas(
        folder / "out" / "reassignment.json"
    )
    assert {match[1]: tuple(ids(match[2])) for match in lines if match[3]} == read_replicas(
        folder / "out" / "rollback.json"
    )
    assert "orders-1: [1,2] → [2,3]  leader 1 → 2, copy 1 kB" in result.stdout
    assert re.search(r"^ +3 +az3 +0 → \d+ +0 → \d+ +0 B → \d+ kB$", result.stdout, re.MULTILINE), result.stdout


def test_number_of_listed_changes_is_limited(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, "--changes", "1")
    assert sum(bool(LINE.match(line)) for line in result.stdout.splitlines()) == 1
    assert "… 3 more (all: --changes 4, or --out DIR)" in result.stdout
    result = plan_three_brokers(*ROUND_ROBIN, "--changes", "0")
    assert "… 4 more" in result.stdout


def test_several_plans_list_changes_on_request(folder: Path) -> None:
    strategies = (*ROUND_ROBIN, "--strategy", f"{PLANNERS}Seeded")
    assert "Changes by" not in plan_three_brokers(*strategies).stdout
    assert plan_three_brokers(*strategies, "--changes", "9").stdout.count("Changes by") == 2


def test_leader_election_without_new_replicas_is_a_change(folder: Path) -> None:
    text = "Topic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 1,2\n"
    result = run_plan("-", *ROUND_ROBIN, stdin=text)
    assert "t-0: [1,2]  leader 2 → 1" in result.stdout
    text = "Topic: t\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: \n"
    assert "t-0: [1,2]  leader none → 1" in run_plan("-", *ROUND_ROBIN, stdin=text).stdout


def test_json_has_all_changes_of_every_plan(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, "--strategy", f"{PLANNERS}Infeasible", "--format", "json")
    changes: Any = parse_json(result)["changes"]
    assert [*changes] == [f"{PLANNERS}RoundRobin"]
    [plan_changes] = changes.values()
    assert [f"{change['topic']}-{change['partition']}" for change in plan_changes["partitions"]] == [
        "orders-1", "orders-2", "pay-0", "pay-1",
    ]  # fmt: skip
    assert [broker["broker"] for broker in plan_changes["brokers"]] == [1, 2, 3]


@pytest.mark.parametrize("width", range(40, 90, 5))
def test_change_wider_than_the_terminal_continues_on_the_next_line(width: int) -> None:
    change = PartitionChange("order-processing-spending-changelog", 5, (6, 4), (4, 7), 6, 4, 1_200_000_000)
    drawn = draw_changes("exact_flow", [change], [], width=width, color=False)
    name, note = "order-processing-spending-changelog-5: [6,4] → [4,7]", "  leader 6 → 4, copy 1.2 GB"
    if width >= len(name + note):
        assert drawn.endswith(f"{name}{note}\n")
    elif width >= len(name):
        assert drawn.endswith(f"{name}\n  {note}\n")
    assert "leader 6 → 4, copy 1.2 GB\n" in drawn
