"""`--set path=value` changes a scenario before validation, and mistakes name the override."""

from __future__ import annotations

import pytest

from scenarios.language.overrides import apply_overrides
from scenarios.load import loads
from tests.scenarios.scenario_texts import SMALL, load_text, mistakes_in, replace_in_small

PROCESS_ID = "80000000-0000-0000-0000-000000000001"


def test_list_entry_is_set_by_position() -> None:
    world = load_text(SMALL, ("clients[0].count", "6")).world(1)
    assert [client.name for client in world.clients][:6] == [f"app-{i}" for i in range(6)]


def test_list_entry_is_set_by_name() -> None:
    world = load_text(SMALL, ("cluster.topics[orders].bytes_per_s", "80 MB/s")).world(1)
    assert sum(world.cluster.topics["orders"].bytes_per_s) == 80_000_000


def test_value_may_be_a_number_a_list_or_nothing_instead_of_a_text() -> None:
    as_texts = load_text(SMALL, ("clients[0].count", "6"), ("seeds", "[3, 4]"), ("clients[late].rack", "null"))
    values: list[tuple[str, object]] = [("clients[0].count", 6), ("seeds", [3, 4]), ("clients[late].rack", None)]
    as_values = loads(SMALL, "s.yaml", values)
    assert as_values.overrides == as_texts.overrides
    assert as_values.seeds == (3, 4)


def test_config_key_keeps_its_dots() -> None:
    scenario = load_text(SMALL, ("application.configs.num.standby.replicas", "2"))
    assert scenario.assignment_configs.num_standby_replicas == 2


def test_missing_sections_are_created() -> None:
    text = replace_in_small("  configs: {num.standby.replicas: 1}\n", "")
    scenario = load_text(text, ("application.configs.max.warmup.replicas", "7"))
    assert scenario.assignment_configs.max_warmup_replicas == 7


def test_value_may_be_a_list_a_mapping_or_empty() -> None:
    world = load_text(
        SMALL,
        ("seeds", "[1, 2]"),
        ("cluster.brokers", "{count: 5, racks: [az1, az2, az3]}"),
        ("clients[late].rack", ""),
        ("clients[0].tags.zone", "no"),
    ).world(1)
    assert len(world.cluster.brokers) == 5
    assert world.clients[3].rack is None
    assert world.clients[0].tags == {"zone": "no"}


def test_later_override_wins() -> None:
    scenario = load_text(SMALL, ("seeds", "[1]"), ("seeds", "[5, 6]"), ("seeds[1]", "7"))
    assert scenario.seeds == (5, 7)


def test_overrides_are_stored_and_the_text_is_unchanged() -> None:
    scenario = load_text(SMALL, ("seeds", "[3]"))
    assert scenario.overrides == (("seeds", "[3]"),)
    assert scenario.text == SMALL


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "clients[1].process_id",
            "x",
            f"clients[1].process_id: 'x' is not a process id (a UUID, such as {PROCESS_ID})",
        ),
        ("clients[1].rak", "az1", "clients[1].rak: unknown key (did you mean 'rack'?)"),
        ("speed", "3", "speed: unknown key (did you mean 'seeds'?)"),
        ("session.timeout.ms", "6s", "session: unknown key (it belongs in application.configs)"),
        ("clients[0].broker.rack", "x", "clients[0].broker: unknown key (set rack under cluster.brokers)"),
        ("clients[0].threads", "many", "clients[0].threads: expected a whole number, found the text 'many'"),
        ("clients[7].threads", "3", "clients[7].threads: clients has no [7] (positions: [0] to [1])"),
        ("clients[pap].threads", "3", "clients[pap].threads: clients has no entry named 'pap' (entries: app, late)"),
        (
            "clients.threads",
            "3",
            "clients.threads: clients is a list, not a mapping (select an entry: clients[app], clients[late])",
        ),
        ("duration.hours", "3", "duration.hours: duration is '2h', not a mapping"),
        ("application[0]", "3", "application[0]: application is a mapping, not a list"),
        ("", "3", ": not a path; write it like clients[0].count or cluster.topics[orders].size"),
        ("clients[", "3", "clients[: not a path; write it like clients[0].count or cluster.topics[orders].size"),
        ("clients..x", "3", "clients..x: not a path; write it like clients[0].count or cluster.topics[orders].size"),
        ("[0].x", "3", "[0].x: not a path; write it like clients[0].count or cluster.topics[orders].size"),
        ("application.configs", "{max.warmup.replicas: 0}", None),
    ],
)
def test_invalid_override_is_named_in_the_message(path: str, value: str, message: str | None) -> None:
    expected = message or (
        "application.configs.max.warmup.replicas: "
        "Invalid value 0 for configuration max.warmup.replicas: Value must be at least 1"
    )
    separator = "" if path == "" else ": "
    assert mistakes_in(SMALL, (path, value)) == [f"--set {path}={value}{separator}{expected}"]


@pytest.mark.parametrize(
    ("names", "selectors"),
    [
        (["orders.v1", "pay-ments"], "cluster.topics[orders.v1], cluster.topics[pay-ments]"),
        (["7", "0"], "cluster.topics[0], cluster.topics[1]"),
        (["a", "b", "c", "d"], "cluster.topics[a], cluster.topics[b], cluster.topics[c], …"),
        (["a", "a"], "cluster.topics[0], cluster.topics[1]"),
        (["a]b", "c"], "cluster.topics[0], cluster.topics[c]"),
    ],
)
def test_message_on_a_list_offers_selectors_that_work(names: list[str], selectors: str) -> None:
    topics = [{"name": name} for name in names]
    [mistake] = apply_overrides({"cluster": {"topics": topics}}, [("cluster.topics.size", "1")])[1]
    assert mistake.message.endswith(f" (select an entry: {selectors})")
    for selector, topic in zip(selectors.removesuffix(", …").split(", "), topics, strict=False):
        assert not apply_overrides({"cluster": {"topics": topics}}, [(f"{selector}.size", "1")])[1]
        assert topic.pop("size") == 1


def test_value_that_is_not_yaml_is_rejected() -> None:
    [mistake] = mistakes_in(SMALL, ("seeds", "[1, 2"))
    assert mistake.startswith("--set seeds=[1, 2: seeds: not YAML: ")


def test_yaml_tag_in_a_value_is_rejected() -> None:
    [mistake] = mistakes_in(SMALL, ("name", "!!python/name:os.system"))
    assert "the tag '!!python/name:os.system' is not allowed" in mistake


def test_override_can_correct_a_mistake_of_the_file() -> None:
    assert (
        mistakes_in(
            replace_in_small("rack: az1, starts", "process_id: x, starts"),
            ("clients[late].process_id", PROCESS_ID),
        )
        == []
    )


def test_mistakes_of_file_and_overrides_are_reported_together() -> None:
    assert mistakes_in(replace_in_small("rack: az1, starts", "process_id: x, starts"), ("duration", "soon")) == [
        f"s.yaml:18: clients[1].process_id: 'x' is not a process id (a UUID, such as {PROCESS_ID})",
        "--set duration=soon: duration: 'soon' is not a duration, such as 20m, 1h30m or 500 ms "
        "(units: ms, s, m, h, d; a number without a unit is in ms)",
    ]
