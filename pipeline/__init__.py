"""Spark jobs for many runs and large inputs: ingest, sweep, aggregate and recommend.

This is the only package that imports Spark.
"""
