"""Sweeps: the settings of a scenario, its assignors and its seeds, checked and planned before anything runs."""
