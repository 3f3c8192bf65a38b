"""Task and replica assignors: pure functions from a state to an assignment."""
