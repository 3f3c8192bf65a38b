"""TODO reports/analysis/plans."""
