"""The reference page of Kafka's configs that are valid in scenarios, but not modeled."""

from __future__ import annotations

from collections import defaultdict

from scenarios.language.unmodeled_configs import (
    BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
    GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    ConfigsOutsideTheModel,
)

PAGE = """# Configs that are not modeled

A scenario may set the following configs of Kafka, and `import` writes them into scenarios. They are valid, but the
simulator does not read them: they have no effect. Those of the first table of each section matter in Kafka: a value
other than the default causes a warning, such as `shop.yaml:12: application.configs.max.task.idle.ms: valid, but not
modeled (no effect): …`. Those of the second table would not change what is simulated; they cause none.

`consumer.`, `main.consumer.` and `producer.` before a key make no difference. `consumer.session.timeout.ms`,
`consumer.heartbeat.interval.ms` and `consumer.max.poll.interval.ms`, also with `main.consumer.`, cause a warning: the
simulator reads these configs without a prefix only. `restore.consumer.`, `global.consumer.`, `admin.` and `topic.` are
accepted, too. A `*` is any of the names that Kafka's classes know (StreamsConfig, ConsumerConfig, ProducerConfig,
AdminClientConfig and TopicConfig of Kafka 3.8 to 4.3). Any other key is a mistake, which names the closest key.

A config that is overridden causes a warning that names what holds: by Kafka Streams (`enable.auto.commit`), by
`exactly_once_v2` (`isolation.level`), by a stronger prefix (`main.consumer.`, then `consumer.`), by the config that
replaces it (`cache.max.bytes.buffering`), or by the coordinator of a streams group (`session.timeout.ms`).

With `exactly_once_v2`, a `producer.transaction.timeout.ms` (10 s by default) below `commit.interval.ms` is a mistake,
because Kafka Streams refuses to start with it.

<!-- Made by `python -m tools.reference_pages` from scenarios/language/unmodeled_configs.py. -->
"""

SECTIONS = {
    "application.configs": STREAMS_CONFIGS_OUTSIDE_THE_MODEL,
    "cluster.configs": BROKER_CONFIGS_OUTSIDE_THE_MODEL,
    "application.group_configs": GROUP_CONFIGS_OUTSIDE_THE_MODEL,
    "consumers[].configs": CONSUMER_CONFIGS_OUTSIDE_THE_MODEL,
}


def unmodeled_configs_page() -> str:
    """Return the text of the page."""
    sections = (
        f"\n## `{name}`\n\n{_with_warning(outside)}\n\n{_without_effect(outside)}\n"
        for name, outside in SECTIONS.items()
    )
    return PAGE + "".join(sections)


def _with_warning(outside: ConfigsOutsideTheModel) -> str:
    by_effect: dict[str, list[str]] = defaultdict(list)
    for key, config in outside.unmodeled.items():
        default = "" if config.default is None else f" ({config.default.rpartition('.')[2] or 'empty'})"
        by_effect[config.effect].append(f"`{key}`{default}")
    rows = [f"| {', '.join(keys)} | {effect} |" for effect, keys in by_effect.items()]
    return "\n".join(["| config (default, without a warning) | in a simulation |", "|---|---|", *rows])


def _without_effect(outside: ConfigsOutsideTheModel) -> str:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for key, reason in outside.without_effect.items():
        by_reason[reason].append(f"`{key}`")
    rows = [f"| {', '.join(keys)} | {reason} |" for reason, keys in by_reason.items()]
    return "\n".join(["| config, without a warning | reason |", "|---|---|", *rows])
