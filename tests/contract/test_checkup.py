"""A checkup: its figures are those of direct runs, its answer is reproducible, and its lock file finds regressions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assignor_sim as sim
from assignor_sim.api.checkup import Checkup
from pipeline.advise import checkup
from pipeline.advise.checkup import (
    FIRST_SEEDS,
    SEARCH_SEEDS,
    CheckupRequest,
    checkup_program,
    run_checkup,
)
from pipeline.pool import Call
from reports.analysis.checkup.areas import GRADES, GROUP_AREAS, STREAMS_AREAS
from reports.analysis.checkup.report import CheckupReport, ReportCard, report_record
from reports.render.checkup import checkup_report
from reports.render.report_formats import report_markdown, report_page, report_text
from scenarios.load import loads
from scenarios.run import run
from simulator.flows.traffic import TrafficKind
from simulator.results.tabulation import tabulate
from tests.assignor_sim.conftest import InProcessShell, Shell

pytestmark = pytest.mark.answers

SEEDS = 3
SMALL = """
name: small
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics: [{name: orders, partitions: 6, replication_factor: 2, bytes_per_s: 1 MB/s}]
application:
  id: small
  subtopologies: [{sources: [orders], stores: [{name: totals, size: 6 GB, bytes_per_s: 1 MB/s}]}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2, restore: 80 MB/s}
assignors: [high_availability]
price: aws
"""
TINY = SMALL.replace("partitions: 6", "partitions: 2").replace(
    "count: 3, racks: [az1, az2, az3], threads: 2", "count: 2"
)
LARGE_STATE = SMALL.replace("6 GB", "40 GB").replace("id: small", "id: small\n  configs: {num.standby.replicas: 1}")
FIRST = 1 + FIRST_SEEDS + SEARCH_SEEDS
"""The first seed of the comparison."""


def run_here(function: Callable[[Call, Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Run items one after the other, in this process."""
    for position, item in enumerate(items):
        yield position, function(lambda called, *arguments: called(*arguments), item)


@pytest.fixture(scope="module")
def checked() -> tuple[Checkup, list[ReportCard]]:
    first: list[ReportCard] = []
    return sim.checkup(loads(SMALL), seeds=SEEDS, workers=2, on_first=first.append), first


def direct(event: str, seed: int, configs: str = "") -> dict[str, object]:
    text = f"{SMALL}events:\n  - {event}\nduration: 12h\n".replace("id: small", f"id: small\n  configs: {{{configs}}}")
    trace = run(loads(text), "high_availability", seed)
    return dict(tabulate(trace, "a", seed)["runs"].to_pylist()[0])


@pytest.mark.parametrize("text", [TINY, pytest.param(LARGE_STATE, marks=pytest.mark.slow)])
def test_search_without_the_longest_situation_has_the_same_answer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    request = CheckupRequest(loads(text), None, 1, SEEDS)
    monkeypatch.setattr(checkup, "_LONG", 2.0)  # No situation has more than all rebalances.
    whole = run_checkup(request, run_here)
    monkeypatch.setattr(checkup, "_LONG", 0.0)
    without = run_checkup(request, run_here)
    assert without.runs < whole.runs
    assert replace(without, runs=whole.runs, cards=whole.cards) == whole

    compare, compared = checkup._first_better, list[Any]()

    def reject_first(evaluator: Any, ranked: Sequence[Any], *others: Any) -> Any:
        compared.append(ranked)
        return None if len(compared) == 1 else compare(evaluator, ranked, *others)

    monkeypatch.setattr(checkup, "_first_better", reject_first)
    again = run_checkup(request, run_here)
    assert replace(again, runs=whole.runs, cards=whole.cards) == whole
    assert len(compared) == 2


@pytest.mark.slow
def test_answer_is_the_same_in_this_process(checked: tuple[Checkup, list[ReportCard]]) -> None:
    here = run_checkup(CheckupRequest(loads(SMALL), None, 1, SEEDS), run_here)
    assert report_record(here) == report_record(checked[0].report)
    assert report_text(checkup_report(here), 80) == report_text(checkup_report(checked[0].report), 80)
    assert report_page(checkup_report(here)) == report_page(checkup_report(checked[0].report))


def test_figures_are_those_of_direct_runs(checked: tuple[Checkup, list[ReportCard]]) -> None:
    report = checked[0].report
    seeds = range(FIRST, FIRST + SEEDS)
    event = "{at: 10m, rolling_bounce: {clients: app, down: 30s, pause: 1m}}"
    downtimes = [direct(event, seed)["worst_downtime_ms"] for seed in seeds]
    assert report.today.graded("deploy").value == np.mean(downtimes)
    names = "[app-0, app-1, app-2]"  # Which client is drawn depends on the list.
    crash = "{{at: 10m, crash: {{clients: {0}, down: 5m{1}}}}}"
    failures = {
        "crash": crash.format(f"{names}, pick: 1", ""),
        "lost_disk": crash.format(f"{names}, pick: 1", ", disk: lost"),
        "leader": crash.format("app-0", ""),
        "zone": "{at: 10m, rack_outage: {rack: az1, down: 30m}}",
        "broker": "{at: 10m, broker_loss: {brokers: [0], down: 20m}}",
    }
    figures = {key: [direct(event, seed)["worst_downtime_ms"] for seed in seeds] for key, event in failures.items()}
    for situation in report.situations:
        for figure in situation.figures:
            if figure.name == "worst_downtime_ms" and situation.key in figures:
                assert figure.before == np.mean(figures[situation.key]), situation.key
    availability = report.today.graded("availability")
    assert availability.value is not None
    assert availability.value >= max(np.mean(values) for values in figures.values())


def test_bill_is_graded_by_avoidable_reads(
    checked: tuple[Checkup, list[ReportCard]],
) -> None:
    """Every partition has a replica near some client, so that each read across racks is avoidable."""
    traces = [run(loads(f"{SMALL}duration: 1h\n"), "high_availability", seed) for seed in range(FIRST, FIRST + SEEDS)]
    reads = [trace.rounds[-1].steady_state[TrafficKind.SOURCE_READ] for trace in traces]
    usd = [30 * 86_400 * (sent.sum() - sent.trace()) / 1e9 * 0.02 for sent in reads]
    cost = checked[0].report.today.graded("cost")
    assert cost.value == pytest.approx(np.mean(usd))
    assert cost.value > 0
    assert cost.grade == next(
        grade for grade, limit in zip("ABCD", cost.definition.limits, strict=True) if cost.value <= limit
    )


def test_recommendation_is_better_somewhere_and_nowhere_worse(checked: tuple[Checkup, list[ReportCard]]) -> None:
    report = checked[0].report
    assert report.recommended is not None
    assert not report.recommended.is_worse_than(report.today)
    assert any(gain.direction < 0 for gain in report.gains)
    assert report.today.graded("redundancy").grade == "D"  # No standbys: a third of the state is on each client.
    assert report.recommended.graded("redundancy").grade == "A"
    assert "num.standby.replicas" in {change.key for change in report.changes}
    # Another copy of the state of each task is made in the rollout.
    assert report.rollout is not None
    assert report.rollout.metrics["standby_moves"] >= 6
    assert report.rollout.metrics["restored_bytes"] >= 6e9


def test_findings_name_the_worst_grades_first(checked: tuple[Checkup, list[ReportCard]]) -> None:
    report = checked[0].report
    grades = [GRADES.index(report.today.graded(finding.area).grade or "A") for finding in report.findings]
    assert grades == sorted(grades, reverse=True)
    [redundancy] = [finding for finding in report.findings if finding.area == "redundancy"]
    assert "num.standby.replicas=1" in redundancy.remedy
    assert "0 %, grade A" in redundancy.remedy


def test_first_report_card_is_that_of_the_current_setting(checked: tuple[Checkup, list[ReportCard]]) -> None:
    [first] = checked[1]
    assert (first.setting, first.seeds) == ("current", FIRST_SEEDS)


ONE_REPLICA = "default.replication.factor is not set (Kafka's default: 1), so these topics have one replica"


def test_one_replica_by_default_is_named_in_each_output(checked: tuple[Checkup, list[ReportCard]]) -> None:
    """The scenario has no events, but situations of a checkup stop the broker of a changelog."""
    report = checked[0].report
    assert not loads(SMALL).warnings
    [remark] = [remark for remark in report.remarks if ONE_REPLICA in remark]
    assert f"{ONE_REPLICA}: small-totals-changelog. The failure of a broker therefore stops tasks" in remark
    assert remark in " ".join(report_text(checkup_report(report), 80).split())
    assert remark.replace("'", "&#39;") in report_page(checkup_report(report))
    assert remark in report_record(report)["remarks"]
    assert remark.split(".")[-2] in report_markdown(checkup_report(report))


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (("id: small", "id: small\n  configs: {num.standby.replicas: 1}"), True),
        (("id: small", "id: small\n  configs: {replication.factor: 3}"), False),
        (("topics:", "configs: {default.replication.factor: 1}\n  topics:"), False),
        (("brokers: {count: 3, racks: [az1, az2, az3]}", "brokers: {count: 1, racks: [az1]}"), False),
    ],
)
def test_one_replica_by_default_is_named_where_a_broker_fails(change: tuple[str, str], is_named: bool) -> None:
    text = SMALL.replace(*change)
    if "count: 1" in text:
        text = text.replace("replication_factor: 2", "replication_factor: 1")
    remarks = checkup_program(loads(text), None).remarks()
    assert any(ONE_REPLICA in remark for remark in remarks) == is_named


def with_time(*shares: float) -> CheckupReport:
    """Return a checkup of a small application, whose time passes by a share with each look at the clock."""
    left = iter(shares)
    request = CheckupRequest(loads(TINY), None, 1, SEEDS + 2)
    return run_checkup(request, run_here, time_left=lambda: next(left, -1.0))


def test_without_time_only_the_current_setting_is_graded_with_the_fewest_seeds() -> None:
    report = with_time()
    whole = run_checkup(CheckupRequest(loads(TINY), None, 1, 3), run_here)
    assert report.verdict == "out_of_time"
    assert report.seeds == 3
    assert report.today == whole.today
    assert (report.recommended, report.changes) == (None, ())
    assert "(--budget)" in report.remarks[0]
    answer = report_text(checkup_report(report), 80, color=False)
    assert "No better setting was found before the time was over" in answer


@pytest.mark.slow
def test_with_enough_time_the_answer_is_the_same() -> None:
    request = CheckupRequest(loads(TINY), None, 1, SEEDS)
    whole = run_checkup(request, run_here)
    limited = run_checkup(request, run_here, time_left=lambda: 1.0)
    assert replace(limited, runs=whole.runs, cards=whole.cards) == whole
    assert not any("--budget" in remark for remark in limited.remarks)


def test_texts_fit_a_terminal(checked: tuple[Checkup, list[ReportCard]]) -> None:
    report = checked[0].report
    long = [
        line for line in report_text(checkup_report(report), 80).splitlines() if len(line) > 80 and line[0] not in "+-#"
    ]
    assert not long
    text = report_markdown(checkup_report(report))
    assert "```diff\n" in text
    assert "+num.standby.replicas=" in text
    assert list(checked[0].grades().columns) == ["setting", "area", "grade", "value", "worst", "situation"]


def test_grades_follow_from_limits() -> None:
    rng = np.random.default_rng(1)
    for area in (*STREAMS_AREAS, *GROUP_AREAS):
        assert list(area.limits) == sorted(set(area.limits))
        values = np.sort(rng.uniform(0, 2 * area.limits[-1], 200))
        positions = [area.position(value) for value in values]
        assert positions == sorted(positions)
        for value, position in zip(values, positions, strict=True):
            assert area.grade(value) == GRADES[min(4, max(0, int(np.ceil(position)) - 1))]
    [redundancy] = [area for area in STREAMS_AREAS if area.key == "redundancy"]
    assert redundancy.grade(0) == "A"
    assert redundancy.grade(float("inf")) == "F"


def test_a_saved_checkup_has_a_page_and_a_lock(checked: tuple[Checkup, list[ReportCard]], tmp_path: Path) -> None:
    checked[0].save(tmp_path / "out")
    record = json.loads((tmp_path / "out" / "checkup.json").read_text(encoding="utf-8"))
    assert record["today"]["areas"][1]["area"] == "redundancy"
    assert "Report card" in (tmp_path / "out" / "checkup.html").read_text(encoding="utf-8")
    assert not checked[0].compare(tmp_path / "out" / "checkup.lock").is_worse


@pytest.mark.slow
def test_lock_finds_a_worse_grade_and_what_changed(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.write("tiny.yaml", TINY)
    options = ("tiny.yaml", "--seeds", "2", "--workers", "2")
    standbys = ("--set", "application.configs.num.standby.replicas=1")
    before = shell("checkup", *options, *standbys, "--save", "tiny.lock")
    assert before.code == 0
    assert before.err.startswith("First answer, 3 seeds\n")
    assert before.err.count("Redundancy") == 1
    same = shell("checkup", *options, *standbys, "--compare", "tiny.lock", "--quiet")
    assert (same.code, same.err) == (0, "no change since tiny.lock\n")
    assert same.out == before.out
    worse = shell("checkup", *options, "--compare", "tiny.lock")
    assert worse.code == 1
    assert "changed: configs: num.standby.replicas: 1 → 0\n" in worse.err
    assert "worse: Redundancy: A → F" in worse.err
    assert worse.err.endswith("error: grades are worse than in tiny.lock\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one of SCENARIO, --bootstrap HOST:PORT and --from DIR, not nothing"),
        (("a.yaml", "--from", "dumps"), "give one of SCENARIO, --bootstrap HOST:PORT and --from DIR, not SCENARIO and"),
        (("--from", "dumps"), "--from requires --group GROUP_ID"),
        (("tiny.yaml", "--kafka", "4.1"), "--kafka requires --bootstrap or --from; a scenario states it itself"),
        (("tiny.yaml", "--compare", "broken.lock"), "broken.lock: not a stored checkup"),
        (("tiny.yaml", "--compare", "old.lock"), "old.lock: not a stored checkup: version: input should be 1"),
        (("tiny.yaml", "--save", "none/tiny.lock"), "--save none/tiny.lock: the folder none does not exist"),
        (("tiny.yaml", "--today", "other"), "--today other: no assignor of the scenario has this label"),
        (("none.yaml",), "none.yaml: no such file"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    shell = InProcessShell(tmp_path)
    shell.write("tiny.yaml", TINY)
    shell.write("broken.lock", "{}")
    shell.write("old.lock", json.dumps({"kind": "assignor-sim checkup", "version": 99}))
    result = shell("checkup", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.slow
def test_dumps_of_kafkas_tools_are_checked(tmp_path: Path) -> None:
    dumps = Path(__file__).parents[2] / "docs" / "examples" / "rebalance-storm"
    shell = InProcessShell(tmp_path)
    result = shell(
        "checkup", "--from", str(dumps), "--group", "shop", "--rack", "*=", "--seeds", "2", "--format", "json"
    )
    assert result.code == 0
    record = json.loads(result.out)
    assert record["application"] == "shop"
    assert record["left_out"][0]["situation"] == "One zone fails and returns"
    assert record["facts"]["client racks"] == {"unknown": 3}
    assert "note: Dumps contain no rates" in result.err
    [bill] = [area for area in record["today"]["areas"] if area["area"] == "bill"]
    assert bill["grade"] is None


def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "assignor_sim", "--verbose", "checkup", "small.yaml", "--workers", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    while "1 of" not in process.stderr.readline():
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert not [path for path in tmp_path.iterdir() if path.name != "small.yaml"]
    deadline_s = time.monotonic() + 10
    while _is_running(process.pid):
        assert time.monotonic() < deadline_s, "processes are left"
        time.sleep(0.1)


def _is_running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
