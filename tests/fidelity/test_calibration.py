"""The defaults of client times are the measured ones, and a client's log shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.world.world import MEASURED
from tests.fidelity.calibration import read, summarize, write
from tests.fidelity.client_log import ClientSamples, read_samples

PACKAGE = "org.apache.kafka.streams.processor.internals"
THREAD = "app-c1-StreamThread-1"
CONSUMER = f"[Consumer clientId={THREAD}-consumer, groupId=app]"


def line(at: str, logger: str, message: str, thread: str = THREAD) -> str:
    return f"2026-01-01 10:00:{at} [{thread}] INFO {logger} - {message}\n"


LOG = "".join(
    (
        line("00.500", "Coordinator", f"{CONSUMER} (Re-)joining group"),
        line("01.000", f"{PACKAGE}.TaskManager", "stream-thread [x] Handle new assignment with:"),
        "\tNew active tasks: [0_0, 0_1]\n",
        line("01.200", f"{PACKAGE}.ProcessorStateManager", "State store counts did not find checkpoint offset, hence"),
        line("01.210", f"{PACKAGE}.StreamTask", "stream-thread [x] task [0_0] Initialized"),
        line(
            "01.290", f"{PACKAGE}.ProcessorStateManager", "State store counts initialized from checkpoint with offset 5"
        ),
        line("01.295", f"{PACKAGE}.ProcessorStateManager", "State store more is not logged and hence would not"),
        line("01.310", f"{PACKAGE}.StandbyTask", "stream-thread [x] standby-task [0_1] Initialized"),
        line("01.710", f"{PACKAGE}.DefaultStateUpdater", "Stateful active task 0_0 completed restoration", "updater"),
        line("03.000", "Coordinator", f"{CONSUMER} Request joining group due to: group is already rebalancing", "hb"),
        line("03.040", "Coordinator", f"{CONSUMER} (Re-)joining group"),
        line("04.000", "Coordinator", f"{CONSUMER} Successfully synced group in generation 7"),
        line("04.010", "Coordinator", f"{CONSUMER} Request joining group due to: need to revoke partitions [in-0]"),
        line("04.100", "Coordinator", f"{CONSUMER} (Re-)joining group"),
        line("05.000", "Coordinator", f"{CONSUMER} Successfully synced group in generation 8"),
        line("05.600", "Coordinator", f"{CONSUMER} Request joining group due to: triggered followup rebalance"),
        line("05.700", f"{PACKAGE}.StreamTask", "stream-thread [x] task [0_2] Initialized"),
        line("05.750", "Coordinator", f"{CONSUMER} (Re-)joining group"),
    )
)


def test_log_shows_the_times() -> None:
    samples = read_samples(LOG)
    assert samples == ClientSamples(open_store=[50.0], restore_start=[500.0], rejoin=[40.0, 100.0])


def test_start_counts_from_the_start_of_the_process() -> None:
    join_ms = read_samples(LOG, 0).start[0]
    assert read_samples(LOG, int(join_ms) - 300).start == [300.0]


def test_time_without_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="no sample of rejoin"):
        summarize(ClientSamples([1.0], [1.0], [], [1.0]), "4.3.1")


def test_calibration_survives_its_file(tmp_path: Path) -> None:
    measured = summarize(ClientSamples([41.0, 38.0, 300.0], [204.0], [7.0, 6.0], [2_000.0]), "4.3.1")
    write(measured, tmp_path / "calibration.json")
    assert read(tmp_path / "calibration.json") == measured
    times = measured.client_times()
    assert (times.start_ms, times.open_store_ms, times.restore_start_ms, times.rejoin_ms) == (0, 40, 200, 10)
    assert "41 ms" in str(measured)


def test_defaults_are_the_measured_times() -> None:
    assert read().client_times() == MEASURED
