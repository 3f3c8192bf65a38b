"""Bin packing of replicas: the problem, first-fit heuristics, and the search."""
