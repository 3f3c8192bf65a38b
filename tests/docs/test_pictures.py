"""Every picture of README and docs exists, and has an alternative text that says what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<target>[^)\s]+)\)|<img\b(?P<attributes>[^>]*)>")
MIN_WORDS = 8


def pictures(text: str) -> list[tuple[str, str]]:
    """Return the alternative text and the target of each picture, in Markdown or HTML."""
    texts = []
    for match in PICTURES.finditer(re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)):
        attributes = dict(re.findall(r"(\w+)=\"([^\"]*)\"", match["attributes"] or ""))
        texts.append((match["alt"] or attributes.get("alt", ""), match["target"] or attributes.get("src", "")))
    return texts


def problems(text: str, folder: Path) -> list[str]:
    """Return what is wrong with the pictures of a page."""
    return [
        f"{target}: {problem}"
        for alt, target in pictures(text)
        for problem, is_wrong in (
            ("no such file", not (folder / target).is_file()),
            (f"{alt!r} does not say what it shows", len(alt.split()) < MIN_WORDS or Path(target).stem in alt),
        )
        if is_wrong
    ]


def test_pictures_have_a_text() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert [problem for page in pages for problem in problems(page.read_text("utf-8"), page.parent)] == []


def test_every_stored_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {(page.parent / target).resolve() for page in pages for _, target in pictures(page.read_text("utf-8"))}
    assert {path for path in (ROOT / "docs" / "pictures").rglob("*") if path.is_file()} <= shown


@pytest.mark.parametrize(
    "text",
    ["![](README.md)", "![Picture](README.md)", '<img src="README.md">', "![a b c d e f g h](missing.png)"],
)
def test_missing_texts_and_files_are_found(text: str) -> None:
    assert problems(text, ROOT)
    assert not problems(f"```text\n{text}\n```\n", ROOT)
