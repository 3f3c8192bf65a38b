"""Plans of replica assignors, side by side."""
