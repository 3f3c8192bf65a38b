"""TODO simulator/world."""
