"""The decisions of autoscalers behind rebalances, as text."""

from __future__ import annotations

from reports.analysis.scaled_rounds import cause_text, decision_text, decision_texts, decisions_by_round, pods_text
from tests.reports.sample_scaling import STEPS, scaled_runs, step


def rows() -> list[dict[str, object]]:
    return [
        {**row, "decided_at_ms": row["at_ms"]} for row in STEPS["eager"] if row["replicas"] != row["replicas_before"]
    ]


def test_decision_has_time_lag_target_pods_and_reason() -> None:
    first, *_ = rows()
    assert decision_text(first) == (
        "0:05:00, HPA scales shop from 2 to 4 pods: lag 9,000 (target 2,000) asks for 9 pods (limited by the scaling "
        "policies)"
    )
    by_lag = {**step(1, 3, 5, 5_000, 5), "decided_at_ms": 60_000}
    assert decision_text(by_lag).endswith("lag 5,000 (target 3,000) asks for 5 pods")


def test_decision_of_keda_has_no_target() -> None:
    idle = step(1, 2, 0, 0, 0, scaler="KEDA", reason="inactive for the cooldown period")
    assert decision_text({**idle, "decided_at_ms": 60_000}) == (
        "0:01:00, KEDA scales shop from 2 to 0 pods: lag 0 (no trigger was active for the cooldown period)"
    )


def test_decisions_of_a_round_are_counted_beyond_the_first() -> None:
    texts = decision_texts(rows(), 3)
    assert len(texts) == 4
    assert texts[-1] == f"and by {len(rows()) - 3} more: table scaled_rounds"
    assert len(decision_texts(rows(), len(rows()))) == len(rows())


def test_decisions_in_short_are_one_path_of_pods_where_they_follow_each_other() -> None:
    assert pods_text(rows()[:3]) == "HPA scales shop: 2 → 4 → 6 → 3 pods"


def test_a_crash_in_a_round_that_an_autoscaler_caused_is_named() -> None:
    reason = "shop-2 joined, shop-0: session timed out, shop-3 joined"
    assert cause_text(reason, rows()[:1], 60) == f"HPA scales shop: 2 → 4 pods: {reason}"
    assert cause_text(reason, (), 45) == "shop-2 joined and 2 more"
    assert cause_text("follow-up", (), 60) == "follow-up requested by the assignor"
    assert pods_text([rows()[0], rows()[3]]) == "HPA scales shop: 2 → 4 → 3 → 5 pods"
    assert pods_text([]) == ""


def test_decisions_belong_to_the_rounds_that_they_caused() -> None:
    tables = scaled_runs()
    assert set(decisions_by_round(tables)) == {("rack_outage", "eager", 7, number) for number in (2, 3, 5)}
