"""Review of an assignor against another one: cases in parallel, violations of invariants, shrunk scenarios."""
