"""TODO assignors/objective."""
