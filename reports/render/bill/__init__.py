"""The bill of cross-rack traffic as text for terminals, tables and a page."""

from __future__ import annotations

from reports.render.bill.page import page
from reports.render.bill.tables import tables
from reports.render.bill.terminal import draw

__all__ = ["draw", "page", "tables"]
