"""TODO reports/render."""
