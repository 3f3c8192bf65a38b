"""Sweeps on YARN with HDFS."""
