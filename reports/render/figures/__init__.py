"""Figures of runs, sweeps, plans and frontiers."""
