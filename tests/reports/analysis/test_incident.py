"""Findings on a past night."""

from __future__ import annotations

from dataclasses import replace

from reports.analysis.incident import IncidentCause, IncidentMove, IncidentRebalance, IncidentReport, night_findings

START_MS = 1_700_000_000_000
TASKS = 10


def rebalance(number: int, at_s: int, kind: str, client: str | None = None, moves: int = 0) -> IncidentRebalance:
    return IncidentRebalance(
        number=number,
        at_ms=START_MS + at_s * 1_000,
        causes=(IncidentCause(kind, client, f"{client} {kind}"),),
        stated=(),
        clients=("a", "b"),
        threads=2,
        moves=tuple(IncidentMove(f"0_{task}", "a", "b", has_left=False) for task in range(moves)),
        owners={f"0_{task}": "b" for task in range(TASKS)},
        standbys={},
        new_standbys=0,
        stable_at_ms=START_MS + at_s * 1_000,
        is_compared=True,
        differences=(),
        lags="logged",
    )


def report(*rebalances: IncidentRebalance) -> IncidentReport:
    first = rebalance(1, 0, "first")
    return IncidentReport("g", "classic", "high_availability", TASKS, (first, *rebalances), (), (), ())


def test_quiet_night_has_no_findings() -> None:
    assert night_findings(report()) == ()


def test_client_that_restarts_is_named_with_its_pace_and_follow_ups() -> None:
    restarts = [rebalance(2 + 2 * i, 100 * i + 45, "restarted", "app-3") for i in range(4)]
    follow_ups = [rebalance(3 + 2 * i, 100 * i + 46, "follow_up") for i in range(4)]
    nights = sorted((*restarts, *follow_ups), key=lambda matches: matches.at_ms)
    assert night_findings(report(*nights)) == (
        "8 of 8 rebalances were caused by app-3, 4 of them as follow-ups: restarted within its session 4 times, "
        "about every 100 s.",
    )


def test_threads_that_restart_together_count_once() -> None:
    rebalances = [rebalance(2 + i, at_s, "restarted", "app-3") for i, at_s in enumerate((10, 12, 70, 71))]
    [finding] = night_findings(report(*rebalances))
    assert finding == "4 of 4 rebalances were caused by app-3: restarted within its session twice."


def test_client_with_few_rebalances_is_not_named() -> None:
    others = [rebalance(2 + i, 60 * i, "joined", f"app-{i}") for i in range(8)]
    assert night_findings(report(*others)) == ()


def test_new_process_id_is_a_lost_state_directory() -> None:
    findings = night_findings(
        report(rebalance(2, 60, "new_process_id", "app-1", moves=2), rebalance(3, 65, "new_process_id", "app-1", 1))
    )
    assert any(
        "app-1 came back with a new process id" in finding and "3 active tasks moved then" in finding
        for finding in findings
    )


def test_probing_that_never_ends_is_named() -> None:
    probes = [rebalance(2 + i, 600 * i, "probing") for i in range(3)]
    assert any("probing then ended" in finding for finding in night_findings(report(*probes)))
    open_end = [*probes[:2], replace(probes[2], stable_at_ms=None)]
    assert any("3 probing rebalances" in f and "probing never ended" in f for f in night_findings(report(*open_end)))
    assert night_findings(report(*probes[:2])) == ()


def test_rebalance_that_moves_half_of_the_tasks_is_named() -> None:
    findings = night_findings(report(rebalance(2, 60, "left", "x", moves=5), rebalance(3, 120, "joined", "y", moves=4)))
    assert [finding for finding in findings if "moved at once" in finding] == [
        "At 22:14:20, 5 of 10 tasks moved at once (x left)."
    ]


def test_unknown_causes_are_counted() -> None:
    assert night_findings(report(rebalance(2, 1, "unknown"))) == (
        "The cause of 1 of 1 rebalances is unknown: neither records nor logs have it.",
    )


def test_longest_unstable_time_spans_rebalances() -> None:
    first, second, third = (rebalance(2 + i, 10 * (i + 1), "joined", "x") for i in range(3))
    night = report(replace(first, stable_at_ms=None), replace(second, stable_at_ms=None), third)
    assert night.longest_unstable() == (first.at_ms, third.at_ms)
    assert report(first).longest_unstable() is None
    assert report(replace(first, stable_at_ms=None), replace(second, stable_at_ms=None)).longest_unstable() == (
        first.at_ms,
        second.at_ms,
    )
