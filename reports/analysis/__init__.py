"""TODO reports/analysis."""
