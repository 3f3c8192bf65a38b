"""The results of a run: its trace, convergence, result tables and result directory."""
