"""The page of runs and sweeps: one sealed HTML file."""
