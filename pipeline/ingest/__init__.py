"""Ingest of raw measurements and dumps of Kafka's tools into tables that scenarios read."""
