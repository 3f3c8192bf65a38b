"""TODO reports/analysis/stored."""
