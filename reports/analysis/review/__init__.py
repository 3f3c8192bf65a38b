"""Review of an assignor against a baseline: violations of invariants, and quality by family."""
