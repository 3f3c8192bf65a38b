"""Markdown tables and cells of the benchmark's pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reports.analysis.review.leaderboard import WinsAndLosses


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Return a table in Markdown with a final newline.

    `headers`: titles of the columns; `right`: columns that are aligned to the right.
    """
    numbers = set(right)
    lines = [
        f"| {' | '.join(headers)} |",
        f"|{'|'.join('---:' if column in numbers else '---' for column in range(len(headers)))}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def cells_of_comparison(one: WinsAndLosses) -> str:
    """Return wins, losses and ties, in bold if significant."""
    text = f"{one.wins}–{one.losses}–{one.ties}"
    return f"**{text}**" if one.verdict else text


def per_cent(part: int, whole: int) -> str:
    """Return a part as `12 of 40 (30 %)`."""
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "–"


def median_percent(gap: float | None) -> str:
    """Return a gap in per cent."""
    return "–" if gap is None else f"{gap:.0f} %"


def enumeration(words: Sequence[str]) -> str:
    """Return words as `a, b and c`; `nothing` without any."""
    if not words:
        return "nothing"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
