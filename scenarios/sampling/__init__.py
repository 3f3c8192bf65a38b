"""TODO scenarios/sampling."""
