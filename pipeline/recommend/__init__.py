"""Recommendation of configs: search for those that minimize an objective and measure the gain over the current ones."""
