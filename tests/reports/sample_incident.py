"""Reports on past nights, without records."""

from __future__ import annotations

import random
from dataclasses import replace

from reports.analysis.incident import (
    FOLLOW_UP,
    PROBING,
    IncidentCause,
    IncidentDifference,
    IncidentMove,
    IncidentRebalance,
    IncidentReport,
    WhatIf,
)

START_MS = 1_764_105_600_000
"""2025-11-25 21:20:00 UTC."""

_KINDS = ("joined", "left", "restarted", "returned", "new_process_id", FOLLOW_UP, PROBING, "unknown")


def dealt(task: str, client: str) -> dict[str, object]:
    """Return a row of the table `reasons`: round-robin placed a task on a client."""
    return {"kind": "dealt", "task": task, "step_from": None, "step_to": client, "cycle": None}


def stays(client: str, lag: int) -> dict[str, object]:
    """Return a row of the table `reasons`: a client is caught up."""
    return {"kind": "caught_up", "step_from": None, "step_to": client, "lag_to": lag, "acceptable_lag": 10_000}


def random_night(
    seed: int, num_rebalances: int = 12, num_tasks: int = 10, num_clients: int = 4, group: str = "shop"
) -> IncidentReport:
    """Return a random night, with all steps of its moves and one other assignor."""
    rng = random.Random(seed)
    clients = [f"{group}-{number}" for number in range(num_clients)]
    owners = {f"0_{task}": rng.choice(clients) for task in range(num_tasks)}
    rebalances, others = [], {}
    at_ms = START_MS
    for number in range(1, num_rebalances + 1):
        at_ms += rng.randint(500, 60_000) if number > 1 else 0
        kind = rng.choice(_KINDS) if number > 1 else "first"
        client = rng.choice(clients) if kind in _KINDS[:5] else None
        text = f"{client} {kind} (2 threads)" if client else f"{kind}: a cause without a client"
        moves = []
        for task in rng.sample(sorted(owners), rng.randint(0, num_tasks // 2)) if number > 1 else ():
            target = rng.choice([other for other in clients if other != owners[task]])
            steps = (dealt(task, target), stays(target, rng.randint(0, 9_000)))
            moves.append(IncidentMove(task, owners[task], target, rng.random() < 0.2, steps))
            owners[task] = target
        others[number] = {"active_moves": float(rng.randint(0, 9)), "new_standbys": 1.0, "follow_ups": 0.0}
        rebalances.append(
            IncidentRebalance(
                number=number,
                at_ms=at_ms,
                causes=(IncidentCause(kind, client, text),),
                stated=(),
                clients=tuple(clients),
                threads=2 * num_clients,
                moves=tuple(moves),
                owners=dict(owners),
                standbys={},
                new_standbys=rng.randint(0, 3),
                stable_at_ms=at_ms + rng.randint(0, 400) if rng.random() < 0.7 else None,
                is_compared=True,
                differences=(),
                lags="logged",
            )
        )
    later = rebalances[1:]
    figures = {"rebalances": float(len(later)), "active_moves": float(sum(len(rebalance.moves) for rebalance in later))}
    sums = {
        key: sum(others[rebalance.number][key] for rebalance in later)
        for key in ("active_moves", "new_standbys", "follow_ups")
    }
    what_ifs = (
        WhatIf("recorded", "states", {**figures, "new_standbys": 3.0, "follow_ups": 0.0}),
        WhatIf("sticky_task_assignor", "states", {**figures, **sums}, by_rebalance=others),
        WhatIf("recorded", "night", figures),
        WhatIf("simulated, unchanged", "night", {**figures, "worst_downtime_ms": 31_000.0}),
        WhatIf("application.configs.session.timeout.ms=6s", "night", {}, "the scenario is invalid"),
    )
    return IncidentReport(
        group=group,
        protocol="classic",
        assignor="high_availability",
        num_tasks=num_tasks,
        rebalances=tuple(rebalances),
        what_ifs=what_ifs,
        read=(("__consumer_offsets-12.log", "segment"), ("shop-one.log", "leader log")),
        remarks=("Stores are assumed persistent (Kafka does not expose this).",),
    )


def with_difference(report: IncidentReport, position: int, reason: str) -> IncidentReport:
    """Return a night in which one rebalance was recomputed differently, so that its moves have no steps."""
    rebalances = list(report.rebalances)
    before = rebalances[position]
    rebalances[position] = replace(
        before,
        moves=tuple(replace(move, steps=()) for move in before.moves),
        differences=(IncidentDifference("0_1", "active", ("shop-0",), ("shop-1",), reason),),
    )
    return replace(report, rebalances=tuple(rebalances))
