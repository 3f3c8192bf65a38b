"""A running cluster, by Kafka's API: described and listed, never joined or written."""
