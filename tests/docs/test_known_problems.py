"""The pages of known problems are current, and each shows that its first fix helps."""

from __future__ import annotations

import pytest

from tools.known_problems import FOLDER, index_page, pages, problem_scenarios

pytestmark = pytest.mark.answers

NAMES = sorted(problem_scenarios())


@pytest.mark.parametrize("name", NAMES)
def test_page_is_current(name: str) -> None:
    [(path, text)] = pages([name])
    assert path.read_text(encoding="utf-8") == text, "run `python -m tools.known_problems`"
    assert " before, **" in text, "the first fix that is simulated lowers none of the metrics"


def test_every_problem_has_a_page_that_the_index_links() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert index == index_page(), "run `python -m tools.known_problems`"
    assert sorted(path.stem for path in FOLDER.glob("*.md")) == sorted([*NAMES, "README"])
    for name in NAMES:
        assert f"({name}.md)" in index
