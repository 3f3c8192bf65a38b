"""Raw measurements of a cluster that does not exist, of any size: what the tests and benchmarks of ingest read."""
