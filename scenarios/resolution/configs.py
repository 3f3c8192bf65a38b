"""Resolve configs, report those that Kafka rejects, and warn about those that the simulator does not read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from scenarios.language.application_entries import ApplicationSection
from scenarios.language.client_configs import ConsumerConfigs, StreamsConfigs
from scenarios.language.cluster_entries import BrokerConfigs, GroupOverrides
from scenarios.language.consumer_entries import ConsumerGroupSection
from scenarios.language.fields import ScenarioSection, config_keys, valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import (
    FIRST_CONSUMER_RELEASE,
    NEWEST,
    can_remain_in_streams_group,
    ended_threads,
    extends_every_initial_delay,
    has_leave_group_config,
    has_static_streams_members,
    has_transactional_stores,
    offset_storage,
    parse_release,
    reads_task_offsets,
    reports_task_offsets,
)
from scenarios.language.streams_group_configs import unknown_key_message
from scenarios.language.units import parse_duration_ms
from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
    GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    ConfigsOutsideTheModel,
    overridden_configs,
)
from scenarios.language.validation import SourceMap
from scenarios.references import CLUSTER
from scenarios.resolution.application import APPLICATION
from scenarios.schema import ScenarioDocument
from simulator.world.group_configs import GroupConfigs, GroupProtocol, StateConfigs
from simulator.world.world import ClientTimes

COMMIT_MS: Final = 30_000
EXACTLY_ONCE_COMMIT_MS: Final = 100
"""The defaults of `commit.interval.ms` (`StreamsConfig.EOS_DEFAULT_COMMIT_INTERVAL_MS`)."""

SESSION_TIMEOUT_MS: Final = (6_000, 1_800_000)
"""The brokers' default range: `group.min.session.timeout.ms` and `group.max.session.timeout.ms`."""


def resolve_group_configs(
    application: ApplicationSection, brokers: BrokerConfigs, broker_release: str | None, source_map: SourceMap
) -> Mapping[GroupProtocol, GroupConfigs]:
    """Return the group configs under each protocol, and report those that Kafka rejects."""
    release = parse_release(broker_release or NEWEST)[:2]
    _check_classic(application.configs, source_map)
    _check_coordinator(brokers, "streams", source_map)
    _check_coordinator(brokers, "consumer", source_map)
    _check_overrides(application.group_configs, brokers, release, source_map)
    return group_configs(application, brokers, broker_release)


def group_configs(
    application: ApplicationSection, brokers: BrokerConfigs, broker_release: str | None
) -> Mapping[GroupProtocol, GroupConfigs]:
    """Return the group configs under each protocol, for the releases of the clients and of the brokers.

    `broker_release`: None for the newest.
    """
    release = parse_release(broker_release or NEWEST)
    if isinstance(application, ConsumerGroupSection):
        return _consumer_group_configs(application, brokers, release)
    streams = application.configs
    clients = parse_release(application.kafka or NEWEST)
    has_leave_config = has_leave_group_config(clients)
    brokers = application.group_configs.apply_to(brokers, release[:2])
    timeouts = {
        GroupProtocol.CLASSIC: (streams.session_timeout_ms, brokers.initial_rebalance_delay_ms),
        GroupProtocol.STREAMS: (brokers.streams_session_timeout_ms, brokers.streams_initial_rebalance_delay_ms),
    }
    return {
        protocol: GroupConfigs(
            protocol=protocol,
            session_timeout_ms=timeout_ms,
            heartbeat_interval_ms=streams.heartbeat_interval_ms,
            streams_heartbeat_interval_ms=brokers.streams_heartbeat_interval_ms,
            streams_assignment_interval_ms=brokers.streams_assignment_interval_ms,
            metadata_max_age_ms=streams.metadata_max_age_ms,
            max_poll_interval_ms=streams.max_poll_interval_ms,
            initial_rebalance_delay_ms=initial_delay_ms,
            extends_every_initial_delay=extends_every_initial_delay(release),
            leave_group_on_close=streams.leave_group_on_close and has_leave_config,
            state_cleanup_delay_ms=streams.state_cleanup_delay_ms,
            rejoins_when_brokers_bounce=application.rejoins_when_brokers_bounce,
            leader_speed=application.leader_speed,
            ended_threads=ended_threads(clients),
            has_static_members=protocol is GroupProtocol.CLASSIC or has_static_streams_members(clients, release),
            broker_release=release[:2],
            can_remain_in_streams_group=protocol is GroupProtocol.STREAMS and can_remain_in_streams_group(clients),
            reports_task_offsets=protocol is GroupProtocol.STREAMS and reports_task_offsets(clients),
            task_offset_interval_ms=brokers.streams_task_offset_interval_ms if reads_task_offsets(release) else None,
        )
        for protocol, (timeout_ms, initial_delay_ms) in timeouts.items()
    }


def _consumer_group_configs(
    group: ConsumerGroupSection, brokers: BrokerConfigs, release: tuple[int, int, int]
) -> Mapping[GroupProtocol, GroupConfigs]:
    """Return the group configs of a consumer group; a consumer leaves its group when it closes, unless it is static.

    An empty group of the consumer protocol does not wait for more members. Brokers from 4.0 on convert a classic group.
    """
    configs = group.configs
    classic = GroupConfigs(
        session_timeout_ms=configs.session_timeout_ms,
        heartbeat_interval_ms=configs.heartbeat_interval_ms,
        metadata_max_age_ms=configs.metadata_max_age_ms,
        max_poll_interval_ms=configs.max_poll_interval_ms,
        initial_rebalance_delay_ms=brokers.initial_rebalance_delay_ms,
        extends_every_initial_delay=extends_every_initial_delay(release),
        leave_group_on_close=True,
        task_offset_interval_ms=None,
    )
    by_coordinator = replace(
        classic,
        protocol=GroupProtocol.CONSUMER,
        session_timeout_ms=brokers.consumer_session_timeout_ms,
        streams_heartbeat_interval_ms=brokers.consumer_heartbeat_interval_ms,
        streams_assignment_interval_ms=brokers.consumer_assignment_interval_ms,
        initial_rebalance_delay_ms=0,
    )
    converted = by_coordinator if release >= FIRST_CONSUMER_RELEASE else None
    return {GroupProtocol.CLASSIC: replace(classic, converted=converted), GroupProtocol.CONSUMER: by_coordinator}


def resolve_state_configs(application: ApplicationSection) -> StateConfigs:
    """Return the configs that decide which state a killed process finds again, with the defaults of the guarantee."""
    streams = application.configs
    is_exactly_once = streams.processing_guarantee == "exactly_once_v2"
    default_ms = EXACTLY_ONCE_COMMIT_MS if is_exactly_once else COMMIT_MS
    release = parse_release(application.kafka or NEWEST)
    return StateConfigs(
        exactly_once=is_exactly_once,
        commit_interval_ms=streams.commit_interval_ms or default_ms,
        offset_storage=offset_storage(release),
        transactional=streams.transactional_stores and has_transactional_stores(release),
        max_uncommitted_bytes=streams.max_uncommitted_bytes,
    )


def resolve_times(application: ApplicationSection) -> ClientTimes:
    """Return how long clients need between an assignment and the work on it."""
    times = application.times
    return ClientTimes(times.start, times.open_store, times.restore_start, times.rejoin, times.uncertainty)


def _check_classic(streams: StreamsConfigs, source_map: SourceMap) -> None:
    """Check the timeouts of classic groups as clients do on start, and brokers on join."""
    path = (*APPLICATION, "configs")
    minimum, maximum = SESSION_TIMEOUT_MS
    timeout_ms = streams.session_timeout_ms
    if not minimum <= timeout_ms <= maximum:
        limits = "group.min.session.timeout.ms and group.max.session.timeout.ms"
        message = (
            f"{timeout_ms} ms is not between {limits} ({minimum} and {maximum} ms); the group coordinator rejects it"
        )
        source_map.add_mistake((*path, "session.timeout.ms"), message)
    elif source_map.is_valid(*path):
        _check_less(streams, "heartbeat_interval_ms", "session_timeout_ms", path, source_map)


def _check_coordinator(brokers: BrokerConfigs, groups: str, source_map: SourceMap) -> None:
    """Check the timeouts of groups with assignors on brokers, `streams` or `consumer`, as brokers do on start."""
    path = (*CLUSTER, "configs")
    if not source_map.is_valid(*path):
        return
    for name in ("heartbeat_interval_ms", "assignment_interval_ms", "session_timeout_ms"):
        fields = (f"{groups}_{name}", f"{groups}_min_{name}", f"{groups}_max_{name}")
        value, minimum, maximum = (getattr(brokers, field) for field in fields)
        if not minimum <= value <= maximum:
            key, *limits = (_key(brokers, field) for field in fields)
            message = f"{key} ({value} ms) is not between {' and '.join(limits)} ({minimum} and {maximum} ms)"
            source_map.add_mistake((*path, _first_set_key(brokers, *fields)), message)
            return
    interval_ms, minimum = brokers.streams_task_offset_interval_ms, brokers.streams_min_task_offset_interval_ms
    if groups == "streams" and interval_ms < minimum:
        keys = [_key(brokers, f"streams_{name}task_offset_interval_ms") for name in ("", "min_")]
        message = f"{keys[0]} ({interval_ms} ms) is less than {keys[1]} ({minimum} ms)"
        key = _first_set_key(brokers, "streams_task_offset_interval_ms", "streams_min_task_offset_interval_ms")
        source_map.add_mistake((*path, key), message)
        return
    _check_less(brokers, f"{groups}_heartbeat_interval_ms", f"{groups}_session_timeout_ms", path, source_map)


def _check_overrides(
    group: GroupOverrides, brokers: BrokerConfigs, release: tuple[int, int], source_map: SourceMap
) -> None:
    """Check the configs of the streams group as brokers do when they are set (`GroupConfig.validate`)."""
    path = (*APPLICATION, "group_configs")
    if not source_map.is_valid(*path) or not source_map.is_valid(*CLUSTER, "configs"):
        return
    for name in ("heartbeat_interval_ms", "assignment_interval_ms", "session_timeout_ms"):
        value = getattr(group, name)
        limits = (f"streams_min_{name}", f"streams_max_{name}")
        minimum, maximum = (getattr(brokers, field) for field in limits)
        if value is not None and not minimum <= value <= maximum:
            keys = " and ".join(_key(brokers, field) for field in limits)
            message = f"{value} ms is not between {keys} ({minimum} and {maximum} ms); the brokers reject it"
            source_map.add_mistake((*path, _key(group, name)), message)
            return
    interval_ms, minimum = group.task_offset_interval_ms, brokers.streams_min_task_offset_interval_ms
    if interval_ms is not None and interval_ms < minimum:
        key = _key(brokers, "streams_min_task_offset_interval_ms")
        message = f"{interval_ms} ms is less than {key} ({minimum} ms); the brokers reject it"
        source_map.add_mistake((*path, _key(group, "task_offset_interval_ms")), message)
        return
    timeouts = {"heartbeat_interval_ms", "session_timeout_ms"} & group.model_fields_set
    if timeouts:
        own = group.apply_to(brokers, release)
        heartbeat_ms, timeout_ms = own.streams_heartbeat_interval_ms, own.streams_session_timeout_ms
        if heartbeat_ms >= timeout_ms:
            message = f"the group's heartbeat interval ({heartbeat_ms} ms) is not less than its session timeout"
            source_map.add_mistake((*path, _key(group, min(timeouts))), f"{message} ({timeout_ms} ms)")


def _check_less(
    configs: ScenarioSection, heartbeat: str, timeout: str, path: ScenarioPath, source_map: SourceMap
) -> None:
    heartbeat_ms, timeout_ms = getattr(configs, heartbeat), getattr(configs, timeout)
    if heartbeat_ms >= timeout_ms:
        keys = _key(configs, heartbeat), _key(configs, timeout)
        message = f"{keys[0]} ({heartbeat_ms} ms) is not less than {keys[1]} ({timeout_ms} ms)"
        source_map.add_mistake((*path, _first_set_key(configs, heartbeat, timeout)), message)


def _first_set_key(configs: ScenarioSection, *fields: str) -> str:
    """Return the key of the first field that is set, to locate a mistake in a combination of fields."""
    return _key(configs, next((field for field in fields if field in configs.model_fields_set), fields[0]))


def _key(configs: ScenarioSection, field: str) -> str:
    return type(configs).model_fields[field].alias or field


def stated_configs(document: ScenarioDocument) -> tuple[str, ...]:
    """Return Kafka's config keys that a scenario sets for the application and its clients."""
    keys = list(document.application.configs.model_dump(by_alias=True, exclude_unset=True))
    clients = list(valid_entries(document.clients))
    if any(client.client_rack and (client.rack or client.racks or client.files) for _, client in clients):
        keys.append("client.rack")
    if any(client.static_membership for _, client in clients):
        keys.append("group.instance.id")
    return (*keys, *sorted({f"client.tag.{tag}" for _, client in clients for tag in client.tags}))


TRANSACTION_TIMEOUT_MS: Final = 10_000
"""Kafka Streams' default of `transaction.timeout.ms` (`StreamsConfig.DEFAULT_TRANSACTION_TIMEOUT`)."""

_SECTIONS: Final = (
    ((*APPLICATION, "configs"), StreamsConfigs, STREAMS_CONFIGS_OUTSIDE_THE_MODEL),
    (("cluster", "configs"), BrokerConfigs, BROKER_CONFIGS_OUTSIDE_THE_MODEL),
    (("application", "group_configs"), GroupOverrides, GROUP_CONFIGS_OUTSIDE_THE_MODEL),
)


def warn_about_unmodeled_configs(root: Any, source_map: SourceMap) -> None:
    """Add a warning for each config that is overridden, or differs from Kafka's default and is not simulated.

    `root`: the data of the scenario; the parsed document lacks these configs.
    """
    groups = root.get("consumers") if isinstance(root, dict) else None
    numbers = range(len(groups)) if isinstance(groups, list) else ()
    sections: list[tuple[ScenarioPath, type[ScenarioSection], ConfigsOutsideTheModel]] = [
        *_SECTIONS,
        *((("consumers", n, "configs"), ConsumerConfigs, CONSUMER_CONFIGS_OUTSIDE_THE_MODEL) for n in numbers),
    ]
    for path, section, outside in sections:
        modeled, configs = config_keys(section), _mapping_at(root, path)
        overridden = dict(overridden_configs(configs)) if section is StreamsConfigs else {}
        read = {f"{prefix}{name}" for prefix in outside.prefixes for name in outside.unprefixed & configs.keys()}
        for key, value in configs.items():
            if key in overridden:
                source_map.add_warning((*path, str(key)), overridden[key])
                continue
            found = None if key in modeled or key in read else outside.find(str(key))
            if found is not None and found.applies(value):
                source_map.add_warning((*path, str(key)), f"valid, but not modeled (no effect): {found.effect}")


def check_transaction_timeout(root: Any, application: ApplicationSection, source_map: SourceMap) -> None:
    """Report a transaction timeout with which Kafka Streams refuses to start under `exactly_once_v2`.

    `StreamsConfig.verifyEOSTransactionTimeoutCompatibility` reads the config with its prefix only. It is the same in
    the releases from 3.8.1 to 4.4.0. `root`: the data of the scenario; the parsed document lacks the timeout.
    `source_map`: collects the mistake.
    """
    state_configs, path = resolve_state_configs(application), (*APPLICATION, "configs")
    if not state_configs.exactly_once or not source_map.is_valid(*path):
        return
    timeout, commit = "producer.transaction.timeout.ms", "commit.interval.ms"
    stated = str(_mapping_at(root, path).get(timeout, TRANSACTION_TIMEOUT_MS)).strip()
    try:
        timeout_ms = int(stated) if re.fullmatch(r"-?\d{1,19}", stated) else parse_duration_ms(stated)
    except ValueError as error:
        source_map.add_mistake((*path, timeout), str(error))
        return
    commit_ms = state_configs.commit_interval_ms
    if timeout_ms < commit_ms:
        key = timeout if application.configs.commit_interval_ms is None else commit
        message = f"{commit} ({commit_ms} ms) is greater than {timeout} ({timeout_ms} ms)"
        remedy = f"set {timeout} to {commit_ms} or more, or a shorter {commit}"
        source_map.add_mistake(
            (*path, key), f"{message}: Kafka Streams refuses to start with exactly_once_v2; {remedy}"
        )


def check_config_releases(root: Any, broker_releases: Mapping[str | None, SourceMap]) -> None:
    """Report configs of streams groups that the brokers of no run know.

    `root`: the data of the scenario. `broker_releases`: the releases of the brokers, each with the source map that
    collects the mistakes about it; None for the newest, which knows all.
    """
    if None in broker_releases:
        return
    stated, source_map = max(broker_releases.items(), key=lambda item: parse_release(item[0] or NEWEST))
    release = parse_release(stated or NEWEST)[:2]
    for path in (("cluster", "configs"), ("application", "group_configs")):
        for key in _mapping_at(root, path):
            message = unknown_key_message(str(key), release)
            if message is not None:
                source_map.add_mistake((*path, str(key)), message)


def _mapping_at(root: Any, path: ScenarioPath) -> dict[Any, Any]:
    for part in path:
        if isinstance(part, int):
            root = root[part] if isinstance(root, list) else None
        else:
            root = root.get(part) if isinstance(root, dict) else None
    return root if isinstance(root, dict) else {}
