"""Integer programs for replica placement: constraints, solution methods, and conversion to plans."""
