"""Analysis of one or several runs: round diffs, breakdowns, time series, loads and tables."""
