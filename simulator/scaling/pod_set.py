"""The pods of a StatefulSet or a Deployment whose number of replicas changes, as a state machine without a clock.

A StatefulSet creates the lowest missing ordinals and deletes the highest ones. With `OrderedReady`, it changes one pod
at a time, and waits until all pods that it keeps are available. A Deployment creates and deletes pods together; it
deletes pods that are not ready first, then those that became ready last. A pod whose name is still taken by its
terminating predecessor is created once that has ended.

Source: `stateful_set_control.go` and `stateful_set_utils.go` (`monotonic`) of `pkg/controller/statefulset`, and
`ActivePodsWithRanks` of `pkg/controller/controller_utils.go`, Kubernetes 1.34.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simulator.pod_schedules import PodStart, PodStop, Startable
from simulator.world.lag_scaling import PodController, PodTemplate

IsUp = Callable[[str], bool]
"""Returns whether the process of a pod runs."""


@dataclass(slots=True)
class _Pod:
    """A pod that exists.

    Attributes:
        starts_ms: when its process starts; None if its zone is out for good.
        has_started: whether its process was started.
        ends_ms: when it has ended, if it is terminating.
    """

    starts_ms: int | None
    has_started: bool = False
    ends_ms: int | None = None


class PodSet:
    """The pods of a workload.

    `template`: how pods start and stop; `names`: the names of all pods that can exist, by ordinal; `replicas`: how many
    exist at the start, ready since long; `startable`: returns when a pod can start.
    """

    def __init__(self, template: PodTemplate, names: tuple[str, ...], replicas: int, startable: Startable) -> None:
        self._template = template
        self._names = names
        self._startable = startable
        long_ago_ms = -template.ready_ms - template.min_ready_ms
        self._pods = {number: _Pod(long_ago_ms, has_started=True) for number in range(replicas)}

    def wants(self, name: str) -> bool:
        """Return whether a pod exists, its process has started, and it is not terminating."""
        pod = self._pods.get(self._names.index(name)) if name in self._names else None
        return pod is not None and pod.has_started and pod.ends_ms is None

    @property
    def running(self) -> tuple[str, ...]:
        """Return the names of the pods whose processes have started and that are not terminating, by ordinal."""
        return tuple(self._names[number] for number in sorted(self._pods) if self.wants(self._names[number]))

    @property
    def kept(self) -> frozenset[str]:
        """Return the names of the pods that exist and are not terminating, started or not."""
        return frozenset(self._names[number] for number in self._alive())

    def existing(self) -> int:
        """Return `status.replicas`; a StatefulSet counts terminating pods, a Deployment does not."""
        if self._template.controller is PodController.STATEFUL_SET:
            return len(self._pods)
        return len(self._alive())

    def ready(self, now_ms: int, is_up: IsUp) -> int:
        """Return how many pods are ready."""
        return sum(self._is_ready(number, now_ms, is_up, self._template.ready_ms) for number in self._alive())

    def next_change_ms(self, now_ms: int) -> int | None:
        """Return when a pod starts, becomes ready or available, or has ended; None if none does."""
        ready_ms = self._template.ready_ms
        times = [
            at_ms
            for pod in self._pods.values()
            for at_ms in (
                [pod.ends_ms]
                if pod.ends_ms is not None
                else []
                if pod.starts_ms is None
                else [pod.starts_ms, pod.starts_ms + ready_ms, pod.starts_ms + ready_ms + self._template.min_ready_ms]
            )
            if at_ms > now_ms
        ]
        return min(times, default=None)

    def advance(self, now_ms: int, replicas: int, is_up: IsUp) -> Iterator[PodStart | PodStop]:
        """Yield the processes that start or are asked to stop now.

        `now_ms`: the time, not before that of the last call. `is_up`: returns whether the process of a pod runs; other
        events may have stopped it.
        """
        for number, pod in sorted(self._pods.items()):
            if pod.ends_ms is not None and pod.ends_ms <= now_ms:
                del self._pods[number]
        yield from self._start(now_ms)
        if self._template.controller is PodController.DEPLOYMENT:
            yield from self._scale_deployment(now_ms, replicas, is_up)
        else:
            yield from self._scale_stateful_set(now_ms, replicas, is_up)
        yield from self._start(now_ms)

    def _start(self, now_ms: int) -> Iterator[PodStart]:
        for number in self._alive():
            pod = self._pods[number]
            if not pod.has_started and pod.starts_ms is not None and pod.starts_ms <= now_ms:
                pod.has_started = True
                yield PodStart(self._names[number], now_ms)

    def _scale_stateful_set(self, now_ms: int, replicas: int, is_up: IsUp) -> Iterator[PodStop]:
        ready_ms = self._template.ready_ms + self._template.min_ready_ms
        for number in range(replicas):
            if number not in self._pods:
                self._create(number, now_ms)
            if not self._template.is_parallel and not self._is_ready(number, now_ms, is_up, ready_ms):
                return
        for number in sorted((number for number in self._pods if number >= replicas), reverse=True):
            yield from self._delete(number, now_ms)
            if not self._template.is_parallel and number in self._pods:
                return

    def _scale_deployment(self, now_ms: int, replicas: int, is_up: IsUp) -> Iterator[PodStop]:
        free = [number for number in range(len(self._names)) if number not in self._pods]
        for number in free[: max(0, replicas - len(self._alive()))]:
            self._create(number, now_ms)

        def by_deletion(number: int) -> tuple[bool, int, int]:
            starts_ms = self._pods[number].starts_ms
            is_ready = self._is_ready(number, now_ms, is_up, self._template.ready_ms)
            return is_ready, -(now_ms if starts_ms is None else starts_ms), -number

        alive = self._alive()
        for number in sorted(alive, key=by_deletion)[: max(0, len(alive) - replicas)]:
            yield from self._delete(number, now_ms)

    def _create(self, number: int, now_ms: int) -> None:
        self._pods[number] = _Pod(self._startable(self._names[number], now_ms + self._template.start_ms))

    def _delete(self, number: int, now_ms: int) -> Iterator[PodStop]:
        pod = self._pods[number]
        if pod.ends_ms is not None:
            return
        if not pod.has_started:
            del self._pods[number]
            return
        pod.ends_ms = now_ms + self._template.closing.ends_after_ms
        yield PodStop(self._names[number], now_ms, self._template.closing)

    def _alive(self) -> list[int]:
        return [number for number in sorted(self._pods) if self._pods[number].ends_ms is None]

    def _is_ready(self, number: int, now_ms: int, is_up: IsUp, after_ms: int) -> bool:
        pod = self._pods[number]
        if pod.ends_ms is not None or not pod.has_started or pod.starts_ms is None:
            return False
        return pod.starts_ms + after_ms <= now_ms and is_up(self._names[number])
