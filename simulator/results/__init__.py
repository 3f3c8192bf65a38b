"""TODO simulator/results."""
