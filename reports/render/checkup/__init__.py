"""A checkup as text for terminals, Markdown and a page."""

from __future__ import annotations

from reports.render.checkup.documents import csv_of_grades, markdown
from reports.render.checkup.page import page
from reports.render.checkup.terminal import comparison_lines, first_card, terminal

__all__ = ["comparison_lines", "csv_of_grades", "first_card", "markdown", "page", "terminal"]
