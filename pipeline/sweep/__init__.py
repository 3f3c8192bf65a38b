"""Sweeps: run a scenario in many settings with every assignor and seed on Spark."""
