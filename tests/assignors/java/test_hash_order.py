"""Iteration orders of hash collections equal those of the JDK on random keys."""

from __future__ import annotations

import random

import pytest

from assignors.java.hash_order import (
    computed_hash_order,
    copied_capacity,
    hash_order,
    process_hash,
    string_hash,
    task_hash,
)
from assignors.java.priority_queue import PriorityQueue
from assignors.model.ids import ProcessId, TaskId
from tests.assignors.java.conftest import Ask


@pytest.fixture(scope="module")
def rng() -> random.Random:
    return random.Random(20)


def hashes(rng: random.Random, size: int) -> list[int]:
    spread = rng.choice([2**32, 2**32, 2**20, 500, 64])
    step = rng.choice([1, 1, 16, 31, 64])
    return [rng.randrange(spread) * step % 2**32 for _ in range(size)]


def test_hash_map_iterates_in_java_order(ask_java: Ask, rng: random.Random) -> None:
    cases = [hashes(rng, size) for size in range(60) for _ in range(8)]
    cases = [case for case in cases if len(case) > 0 and not has_a_tree(case)]
    actual = ask_java(["map " + " ".join(map(str, case)) for case in cases])
    assert [hash_order(case) for case in cases] == actual
    assert len(cases) > 300


def test_map_filled_by_compute_if_absent_iterates_in_java_order(ask_java: Ask) -> None:
    rng = random.Random(21)
    cases = [(hashes(rng, size), 1 << rng.randrange(8), rng.random() < 0.5) for size in range(1, 60) for _ in range(8)]
    cases = [case for case in cases if not has_a_tree(case[0], 7)]
    actual = ask_java(
        [f"computed {capacity} {int(again)} {' '.join(map(str, keys))}" for keys, capacity, again in cases]
    )
    assert [computed_hash_order(keys, capacity, is_called_again=again) for keys, capacity, again in cases] == actual
    assert len(cases) > 200
    assert any(order != hash_order(keys, capacity) for (keys, capacity, _), order in zip(cases, actual, strict=True))


def has_a_tree(case: list[int], most: int = 8) -> bool:
    buckets = [(h ^ (h >> 16)) & 63 for h in case]
    return max(map(buckets.count, buckets)) > most


def test_ninth_key_in_a_bin_doubles_a_small_table(ask_java: Ask) -> None:
    case = [16 * n for n in range(9)] + [1, 2, 3]
    [given] = ask_java(["map " + " ".join(map(str, case))])
    assert hash_order(case) == given
    assert given != sorted(range(len(case)), key=lambda n: case[n] % 16)


def test_hash_set_copied_from_a_collection_starts_larger(ask_java: Ask, rng: random.Random) -> None:
    cases = [hashes(rng, size) for size in (1, 11, 12, 13, 24, 25, 48, 49, 96, 97, 200)]
    actual = ask_java(["copy " + " ".join(map(str, case)) for case in cases])
    assert [hash_order(case, copied_capacity(len(case))) for case in cases] == actual


def test_priority_queue_with_mutated_keys_behaves_as_in_java(ask_java: Ask, rng: random.Random) -> None:
    lines, polled_lists = [], []
    for _ in range(300):
        loads = {element: rng.randrange(5) for element in range(20)}
        queue = PriorityQueue([(load, element // 2) for element, load in loads.items()])
        operations = [f"load:{element}:{load}" for element, load in loads.items()]
        inside: list[int] = []
        polled: list[int] = []
        for _ in range(60):
            what = rng.choice(["offer", "offer", "load", "remove", "poll"])
            outside = [element for element in loads if element not in inside]
            if what == "offer" and outside:
                element = rng.choice(outside)
                inside.append(element)
                queue.offer(element)
                operations.append(f"offer:{element}")
            elif what == "load":
                element = rng.randrange(20)
                loads[element] = rng.randrange(5)
                queue.set_key(element, (loads[element], element // 2))
                operations.append(f"load:{element}:{loads[element]}")
            elif what == "remove" and inside:
                element = rng.choice(inside)
                inside.remove(element)
                queue.remove(element)
                operations.append(f"remove:{element}")
            elif what == "poll" and inside:
                polled.append(queue.poll())
                inside.remove(polled[-1])
                operations.append("poll")
        lines.append("queue " + " ".join(operations))
        polled_lists.append(polled)
    assert polled_lists == ask_java(lines)


def test_hash_codes_equal_those_of_kafka_classes() -> None:
    assert task_hash(TaskId(0, 0)) == 29791
    assert task_hash(TaskId(1, 0)) == task_hash(TaskId(0, 31))
    # jshell> UUID.fromString("80000000-0000-0001-0000-00000000000f").hashCode()
    assert process_hash(ProcessId.parse("80000000-0000-0001-0000-00000000000f")) == 0x8000000E


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("test", 3556498), ("orders-\N{GRINNING FACE}", 3906022731), ("polygenelubricants", 2**31)],
)
def test_hash_codes_of_strings_use_utf_16(text: str, code: int) -> None:
    # jshell> Integer.toUnsignedString("...".hashCode())
    assert string_hash(text) == code
