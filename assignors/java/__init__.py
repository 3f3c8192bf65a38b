"""TODO assignors/java."""
