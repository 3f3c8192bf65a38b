"""TODO simulator/flows."""
