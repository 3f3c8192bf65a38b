"""TODO assignor_sim/api."""
