"""Clusters for replica assignors, read from files or generated."""
