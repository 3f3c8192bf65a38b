"""TODO reports/render/figures."""
