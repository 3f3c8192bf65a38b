"""The parts of the exact task assignor: what copies cost, what clients take, and how the cheapest answer is found."""
