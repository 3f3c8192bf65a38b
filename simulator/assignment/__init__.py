"""TODO simulator/assignment."""
