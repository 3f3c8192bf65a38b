"""The parts of packing: what has to fit, how it fits without a search, and the search."""
