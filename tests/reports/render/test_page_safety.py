"""The page of runs is safe and self-contained: policy, well-formedness, and escaping of names."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache

import pytest

from reports.analysis.text import printable
from reports.render.figures.run_figures import convergence, figure_bytes
from reports.render.html.inline_figures import inline_svg
from reports.render.html.shell import as_json, policy
from reports.render.page import page
from tests.reports.render.test_page import parse, sample_page, text_of, with_class
from tests.reports.sample_runs import HOSTILE, MINUTE_MS, run_rounds, tables


@cache
def hostile_page() -> str:
    rounds = [
        {**row, "reason": f"{name} joined"}
        for name in HOSTILE
        for row in run_rounds(name, [(0, 4e6, 9), (9, 1e6, 0)], scenario=HOSTILE[0])
    ]
    runs = [{"assignor": name, "scenario": HOSTILE[0], "verdict": "failed", "cause": name} for name in HOSTILE]
    events = [
        {"assignor": HOSTILE[0], "scenario": HOSTILE[0], "at_ms": n * MINUTE_MS, "event": name}
        for n, name in enumerate(HOSTILE)
    ]
    manifest = {
        "scenario": {"name": HOSTILE[0], "text": "\n".join(HOSTILE)},
        "assignors": [{"label": name, "parameters": {name: name}, "configs": [name]} for name in HOSTILE],
        "command": " ".join(HOSTILE),
        HOSTILE[0]: {HOSTILE[1]: list(HOSTILE)},
    }
    tasks = [{"assignor": name, "scenario": HOSTILE[0], "task": name, "downtime_ms": 1_000} for name in HOSTILE]
    traffic = [{"assignor": name, "scenario": HOSTILE[0], "from_rack": name, "to_rack": "az1"} for name in HOSTILE]
    return page(tables(runs, rounds, events, tasks, traffic), manifest)


@pytest.mark.parametrize(
    "make", [sample_page, hostile_page, lambda: page(tables([], []), {}), lambda: page(tables(), {})]
)
def test_page_is_well_formed_with_a_strict_policy(make: type[str]) -> None:
    tree = parse(make())
    assert tree.tag == "html"
    assert [element.tag for element in tree] == ["head", "body"]
    policies = [element.get("content", "") for element in tree.iter("meta") if element.get("http-equiv")]
    [style], scripts = list(tree.iter("style")), list(tree.iter("script"))
    *data, program = scripts
    assert {element.get("type") for element in data} == {"application/json"}
    assert policies == [policy([inner(make(), "script")], [style.text or ""])]
    assert "unsafe" not in policies[0]
    assert program.attrib == {}
    harmful = [
        name for element in tree.iter() for name in element.attrib if name == "style" or name.lower().startswith("on")
    ]
    assert harmful == []


def inner(text: str, tag: str) -> str:
    """Return the exact content of the only element with this tag and without attributes."""
    [content] = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return str(content)


@pytest.mark.parametrize("make", [sample_page, hostile_page])
def test_policy_contains_hashes_of_script_and_style(make: type[str]) -> None:
    tree = parse(make())
    [policy_text] = [element.get("content", "") for element in tree.iter("meta") if element.get("http-equiv")]
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(inner(make(), tag).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy_text


def test_embedded_data_has_no_markup_characters() -> None:
    text = as_json({"a": "</script><!--\u2028\u2029&]]>", "ü": 1})
    assert not set(text) & set("<>&")
    assert text.isascii()
    assert json.loads(text) == {"a": "</script><!--\u2028\u2029&]]>", "ü": 1}


@pytest.mark.parametrize("make", [sample_page, hostile_page])
def test_page_is_self_contained(make: type[str]) -> None:
    text = make()
    tree = parse(text)
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    references = [value for element in tree.iter() for name, value in element.attrib.items() if name in ("href", "src")]
    references += [f"#{name}" for name in re.findall(r"url\(#([^)]*)\)", text)]
    references += [f"#{element.get('aria-labelledby')}" for element in tree.iter() if element.get("aria-labelledby")]
    assert {link for link in references if link != "data:,"} <= {f"#{id_}" for id_ in ids}
    assert not re.search(r"url\((?!#)|@import|srcset|<(iframe|object|embed|base|img)\b", text)
    # The namespace of SVG is a name, not a request.
    assert "http://" not in text.replace("'http://www.w3.org/2000/svg'", "")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_as_text(name: str) -> None:
    tree = parse(hostile_page())
    expected = re.sub(r"\s+", " ", printable(name)).strip()
    [comparison] = with_class(tree, "comparison")
    assert expected in [text_of(cell) for cell in comparison.iter("th")]
    [note_list] = with_class(tree, "notes")
    assert f"{expected} failed: {expected.rstrip('.')}." in [text_of(element) for element in note_list.iter("li")]
    assert f"1 s{expected}" in [text_of(cell) for table in with_class(tree, "grid") for cell in table.iter("td")]
    assert expected in [text_of(cell) for table in with_class(tree, "matrix") for cell in table.iter("th")]
    assert f"{expected} joined" in [text_of(cell) for cell in with_class(tree, "reason")]
    [events] = with_class(tree, "events")
    assert expected in [text_of(cell) for cell in events.iter("td")]
    [facts] = with_class(tree, "facts")
    assert expected in [text_of(cell) for cell in facts.iter("dt")]
    assert "\u202e" not in hostile_page()
    assert "\x1b" not in hostile_page()


def test_inline_drawing_keeps_names_that_look_like_references() -> None:
    name = 'id="x" url(#y) #20242b'
    figure = convergence(tables([{"assignor": name}], run_rounds(name, [(0, 1.0, 0)])))
    tree = parse(inline_svg(figure_bytes(figure, "svg", text_as_text=True), "p-", "title"))
    assert name in [text_of(element) for element in tree.iter("text")]
    assert tree.get("aria-label") == "title"
    assert not list(tree.iter("metadata"))
    assert all(element.get("id", "p-").startswith("p-") for element in tree.iter())
