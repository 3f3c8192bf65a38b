"""The loop of a watch: polls, waits, reconnects, and ends at a signal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

from assignor_sim.watching.group_watcher import GroupWatcher, retry_delay_s
from scenarios.kafka.live.admin_api import open_cluster
from scenarios.kafka.live.client_properties import ClientSettings
from scenarios.kafka.live.group_polling import TransientError
from scenarios.kafka.observation.observation import ObservationError
from scenarios.watch.watch_events import WatchEvent


class StoppedBySignal(BaseException):
    """A signal asked the watch to end, while it was waiting or polling."""


class StopSignals:
    """SIGINT and SIGTERM, which end a wait or a poll at once, but never while events are written.

    `received`: number of the signal; None before it.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._may_interrupt = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals for the duration of the block; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: Mapping[signal.Signals, object] = {
            number: signal.signal(number, self._receive) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)  # type: ignore[arg-type]

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Let a signal end the block; raise StoppedBySignal if a signal was received before or in the block."""
        self._may_interrupt = True
        try:
            if self.received is not None:
                raise StoppedBySignal
            yield
        finally:
            self._may_interrupt = False

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Let a signal wait for the end of the block, within `interrupting`.

        Raises StoppedBySignal if a signal was received in the block.
        """
        self._may_interrupt = False
        yield
        self._may_interrupt = True
        if self.received is not None:
            raise StoppedBySignal

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.received = number
        if self._may_interrupt:
            self._may_interrupt = False
            raise StoppedBySignal


def watch_group(
    watcher: GroupWatcher,
    bootstrap: str,
    settings: ClientSettings,
    interval_s: float,
    signals: StopSignals,
    emit: Callable[[Sequence[WatchEvent]], None],
    *,
    once: bool,
) -> None:
    """Poll a group until a signal, or once.

    `bootstrap`: `host:port` of some brokers, separated by commas; `interval_s`: time between the starts of two polls;
    `emit`: called with the events of each poll, also without any; `once` says whether to end after one poll.
    """
    while True:
        try:
            with signals.interrupting(), open_cluster(bootstrap, settings) as cluster:
                while True:
                    started_s = time.monotonic()
                    events = watcher.poll(cluster)
                    with signals.uninterrupted():
                        emit(events)
                    if once:
                        return
                    time.sleep(max(0.0, interval_s - (time.monotonic() - started_s)))
        except StoppedBySignal:
            return
        except ObservationError as error:
            if once or not (watcher.has_polled or isinstance(error, TransientError)):
                raise
            emit(watcher.fail(time.time_ns() // 1_000_000, error))
        try:
            with signals.interrupting():
                time.sleep(retry_delay_s(interval_s, watcher.failures))
        except StoppedBySignal:
            return
