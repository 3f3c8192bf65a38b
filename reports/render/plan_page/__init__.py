"""TODO reports/render/plan_page."""
