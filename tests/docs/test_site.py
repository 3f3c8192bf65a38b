"""The site: every page is reachable from the index and is in the navigation, and every link leads to a file."""

from __future__ import annotations

import re
from pathlib import Path

import markdown
import pytest
from ruamel.yaml import YAML

from tools.site_hooks import on_page_content

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def links(page: Path) -> set[Path]:
    return {(page.parent / link).resolve() for link in _LINK.findall(page.read_text(encoding="utf-8"))}


def navigation(entries: object) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    children = entries.values() if isinstance(entries, dict) else entries
    return [path for child in children for path in navigation(child)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file(page: Path) -> None:
    assert [str(link) for link in links(page) if not link.exists()] == []


def test_every_page_is_reachable_from_the_index() -> None:
    reached, waiting = set(), [DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and page.is_relative_to(DOCS):
            reached.add(page)
            waiting.extend(links(page))
    assert set(DOCS.rglob("*.md")) - reached == set()


def test_navigation_has_every_page_once() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = navigation(YAML(typ="safe").load(config)["nav"])
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_known_problems_are_the_first_section() -> None:
    nav = YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert [next(iter(entry)) for entry in nav][:2] == ["Home", "Known problems"]


def test_choices_in_tables_have_no_backslashes() -> None:
    html = markdown.markdown(
        "| option | means |\n|---|---|\n| `--format table\\|json` | a format |\n\n`a\\|b`", extensions=["tables"]
    )
    assert r"table\|json" in html, "Python-Markdown removes them itself: the hook is superfluous"
    assert "<code>--format table|json</code>" in on_page_content(html)
    assert r"<code>a\|b</code>" in on_page_content(html), "outside of tables, a backslash is text"
