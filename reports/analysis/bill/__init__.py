"""The bill of cross-rack traffic, and its comparison with a provider's cost report."""
