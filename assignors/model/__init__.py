"""TODO assignors/model."""
