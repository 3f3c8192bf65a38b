"""A bill has the traffic of others, also if the application does not run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reports.analysis.bill.monthly_bill import GB, BillPrice, monthly_bill
from scenarios.load import loads
from scenarios.run import run
from simulator.results.tabulation import tabulate

HOUR_MS = 3_600_000
DOCUMENT: dict[str, Any] = {
    "name": "orders",
    "cluster": {
        "brokers": {"count": 2, "racks": ["az1", "az2"]},
        "topics": [{"name": "orders", "replicas": [[0, 1]], "bytes_per_s": "1 MB/s"}],
    },
    "other_traffic": {"producers": [{"name": "web", "racks": ["az1"]}]},
    "application": {"id": "shop", "subtopologies": [{"sources": ["orders"]}]},
    "duration": "1h",
}


@pytest.mark.parametrize("starts", [True, False])
def test_replication_of_input_is_billed_whether_or_not_the_application_runs(starts: bool) -> None:
    scenario = loads(json.dumps({**DOCUMENT, "clients": [{"name": "app", "rack": "az1", "starts": starts}]}))
    tables = tabulate(run(scenario, scenario.assignors[0]), "ha", 1)
    assert bool(tables["rounds"].num_rows) is starts
    price = BillPrice("mine", 0.02, 0.01, "a test")
    bill = monthly_bill(tables, price, scenario="orders", assignor="ha", days=1, simulated_ms=HOUR_MS)
    [replication] = bill.others
    assert replication.transfers.bytes == pytest.approx(86_400 * 1_000_000)
    assert bill.total.bytes == pytest.approx(replication.transfers.bytes)
    assert bill.total.usd == pytest.approx(86.4 * GB * 0.02 / GB)
