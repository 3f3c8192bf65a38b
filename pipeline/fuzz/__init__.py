"""Search of scenarios in which an assignor violates an invariant, or is far from the optimum, with a corpus on disk."""
