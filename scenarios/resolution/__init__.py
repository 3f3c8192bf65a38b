"""What a scenario's values mean together: names that must exist, counts that must agree, files that are named."""
