"""Aggregated sweeps: best cells, tables and heat map."""
