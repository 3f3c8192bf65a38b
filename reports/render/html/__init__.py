"""TODO reports/render/html."""
