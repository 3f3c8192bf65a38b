"""Matplotlib primitives shared by all figures."""
