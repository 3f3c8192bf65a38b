"""Costs of large sweeps: measured figures of one machine, and the execution on many cores that follows from them."""
