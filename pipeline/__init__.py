"""Many runs and much data, on Spark: ingest, sweep, aggregate. Nothing else here knows Spark, and nobody waits for it
who does not use it."""
