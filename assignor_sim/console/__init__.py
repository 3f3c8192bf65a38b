"""TODO assignor_sim/console."""
