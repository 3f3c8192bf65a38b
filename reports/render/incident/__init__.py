"""A past night as a page: timeline, rebalances with their explained moves, and what others would have done."""

from reports.render.incident.page import page

__all__ = ("page",)
