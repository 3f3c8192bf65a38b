"""Stream threads that die and are replaced, are added or removed."""

from __future__ import annotations

from pydantic import Field

from scenarios.events.scenario_event import ClientsEvent, EventContext
from scenarios.language.fields import PositiveInt
from simulator.world.disturbances import ReplaceThread, StreamThreads


class ReplaceThreadEvent(ClientsEvent):
    """The first stream thread of each client dies of an exception and is replaced (REPLACE_THREAD).

    Whether the dead thread leaves the group depends on the Kafka release. If it does not, the new thread waits for its
    session timeout.
    """

    example = "events:\n  - {at: 30m, replace_thread: {clients: app-0}}\n"
    is_of_streams = True

    def resolve(self, context: EventContext) -> list[ReplaceThread]:
        return [ReplaceThread(context.at_ms, context.find_clients(self.clients))]


class StreamThreadsEvent(ClientsEvent):
    """Clients add or remove stream threads at runtime, until they restart."""

    example = "events:\n  - {at: 30m, stream_threads: {clients: app, threads: 6}}\n"
    is_of_streams = True

    threads: PositiveInt = Field(description="Number of stream threads of each client from now on.")

    def resolve(self, context: EventContext) -> list[StreamThreads]:
        return [StreamThreads(context.at_ms, context.find_clients(self.clients), self.threads)]
