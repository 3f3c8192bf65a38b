"""TODO reports/analysis/sweeps."""
