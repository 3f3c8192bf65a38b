"""The flows of the exact strategy, one per stage."""
