"""TODO reports/analysis/runs."""
