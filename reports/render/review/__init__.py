"""A review as text for terminals, Markdown, CSV, JUnit XML and a page."""

from __future__ import annotations

from reports.render.review.documents import csv_of_findings, junit, markdown
from reports.render.review.page import page
from reports.render.review.terminal import terminal, timing_line

__all__ = ["csv_of_findings", "junit", "markdown", "page", "terminal", "timing_line"]
