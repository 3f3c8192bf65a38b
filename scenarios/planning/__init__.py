"""Planning of replica placements: options, strategies, imported plans, and their results."""
