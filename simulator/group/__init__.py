"""TODO simulator/group."""
