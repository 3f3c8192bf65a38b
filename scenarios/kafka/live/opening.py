"""Connection to a running cluster, with a message on what to install if the extra `kafka` is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from scenarios.kafka.live.admin_api import AdminApi
from scenarios.kafka.live.client_properties import ClientSettings
from scenarios.kafka.observation.observation import ObservationError


@contextlib.contextmanager
def open_cluster(bootstrap: str, settings: ClientSettings) -> Iterator[AdminApi]:
    """Connect to a cluster for the duration of the block.

    `bootstrap`: `host:port` of some brokers, separated by commas. Yields the connected cluster. Raises ObservationError
    if kafka-python is missing, no broker responds, or the settings are rejected.
    """
    try:
        from scenarios.kafka.live import connection
    except ModuleNotFoundError as error:
        raise ObservationError(
            f"kafka-python is required to observe a running cluster ({error.name} is missing): "
            "pip install assignor-sim[kafka]"
        ) from None
    with connection.connect(bootstrap, settings) as cluster:
        yield cluster
