"""TODO assignors/recording."""
