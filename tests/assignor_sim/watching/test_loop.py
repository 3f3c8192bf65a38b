"""Signals end a watch between polls, and never while events are written."""

from __future__ import annotations

import os
import signal

import pytest

from assignor_sim.watching.group_watcher import StoppedBySignal, StopSignals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_wait(number: signal.Signals) -> None:
    signals = StopSignals()
    with signals.handled(), pytest.raises(StoppedBySignal):
        _kill_itself(signals, number)
    assert signals.received == number


def test_signal_waits_for_the_end_of_a_write() -> None:
    signals, written = StopSignals(), list[str]()
    with signals.handled(), pytest.raises(StoppedBySignal):
        _kill_itself_while_writing(signals, written)
    assert written == ["event"]


def _kill_itself(signals: StopSignals, number: signal.Signals) -> None:
    with signals.interrupting():
        os.kill(os.getpid(), number)
        signal.pause()


def _kill_itself_while_writing(signals: StopSignals, written: list[str]) -> None:
    with signals.interrupting():
        with signals.uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            written.append("event")
        written.append("after")


def test_signal_between_polls_ends_the_next_wait() -> None:
    signals = StopSignals()
    with signals.handled():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StoppedBySignal), signals.interrupting():
            pytest.fail("the block must not begin")


def test_handlers_are_restored() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with StopSignals().handled():
        assert signal.getsignal(signal.SIGTERM) != before[signal.SIGTERM]
    assert {number: signal.getsignal(number) for number in before} == before
