"""Texts of a scenario are text in the page of its known problem: no HTML, links, images, headings or attributes."""

from __future__ import annotations

import json
import shlex
import unicodedata
from html.parser import HTMLParser

import markdown
import pytest

from scenarios.load import loads
from scenarios.resolution.expectations import KnownProblem
from tests.assignor_sim.conftest import SMALL
from tools import known_problems

EXTENSIONS = ["admonition", "attr_list", "def_list", "md_in_html", "tables", "toc", "pymdownx.superfences"]
"""Those of the site in mkdocs.yml that change what is markup."""

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) ![y](z)",
    "x{ onclick=alert(1) } {: .c #d }",
    "**b** _i_ ~~s~~ `</code>` ``` | a | &lt; &#60;b&#62;",
    "# heading",
    "1. list",
    "- list",
    "!!! note",
    "<http://a.b> &amp;",
    "\\<b>\\`c\\`",
)
ALLOWED = {
    *("h1", "h2", "p", "strong", "em", "a", "table", "thead", "tbody", "tr", "th", "td"),
    *("pre", "code", "ol", "ul", "li", "span", "div"),
}


class Page(HTMLParser):
    """Collects elements, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def written(hostile: str, value: str) -> tuple[str, KnownProblem]:
    """Return the page of the small scenario whose problem consists of a hostile text."""
    scenario = loads(
        SMALL.replace("label: sticky", f"label: {json.dumps(hostile)}")
        + f"description: {json.dumps(hostile)}\nproblem: "
        + json.dumps(
            {
                **dict.fromkeys(("title", "symptom", "cause", "note"), hostile),
                "metrics": ["active_moves"],
                "fixes": [
                    {"change": hostile, "assignor": hostile},
                    {"change": hostile, "set": {"clients[0].name": value, "duration": "1h"}},
                    {"change": hostile},
                ],
            }
        )
    )
    assert scenario.problem is not None
    run = dict.fromkeys(["active_moves"], 3)
    return known_problems.page("small", scenario, scenario.problem, run, [run, run, None]), scenario.problem


@pytest.mark.parametrize("hostile", HOSTILE)
def test_page_has_texts_as_they_are(hostile: str) -> None:
    text, _ = written(hostile, hostile)
    page, harmless = (
        Page(markdown.markdown(text, extensions=EXTENSIONS)) for text in (text, written("plain", "plain")[0])
    )
    assert set(page.elements) <= ALLOWED
    assert page.elements.count("a") == harmless.elements.count("a")
    for element in ("h1", "h2", "ol", "ul", "li", "td", "th", "tr", "strong", "em"):
        assert page.elements.count(element) == harmless.elements.count(element), element
    assert {key for key, _ in page.attributes} <= {key for key, _ in harmless.attributes}
    assert page.text.count(hostile) >= 8


@pytest.mark.parametrize("value", ["a --set b", "```", "x\n```\n# y", "$(id) `id`", "'\"", "a\u202eb", "a\x1b[2Jb"])
def test_command_of_a_fix_is_one_command_with_its_values(value: str) -> None:
    text, problem = written("plain", value)
    page = Page(markdown.markdown(text, extensions=EXTENSIONS))
    [(path, as_yaml), _] = problem.fixes[1].overrides
    [command] = [part for part in page.text.split("assignor-sim ")[1:] if "duration" in part]
    words = shlex.split(command.split("\n\n")[0].replace("\\\n", " "))
    assert words[:6] == ["run", "small", "--set", f"{path}={as_yaml}", "--set", "duration=1h"]
    assert [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf")] == []


@pytest.mark.parametrize("char", ["\x1b[31m", "\u202e", "\x07"])
def test_page_has_no_characters_that_terminals_obey(char: str) -> None:
    problem = {"title": "t", "metrics": ["active_moves"], "fixes": [{"change": f"c{char}"}]}
    problem |= dict.fromkeys(("symptom", "cause", "note"), f"a{char}b")
    scenario = loads(SMALL + f"description: {json.dumps(f'd{char}')}\nproblem: {json.dumps(problem)}")
    assert scenario.problem is not None
    text = known_problems.page("small", scenario, scenario.problem, {"active_moves": 3}, [None])
    assert [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf")] == []
