"""A checkup as text for terminals, Markdown and a page."""

from __future__ import annotations

from reports.render.checkup.markdown import markdown
from reports.render.checkup.page import page
from reports.render.checkup.terminal import comparison_lines, first_card, terminal

__all__ = ["comparison_lines", "first_card", "markdown", "page", "terminal"]
