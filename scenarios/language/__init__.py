"""TODO scenarios/language."""
