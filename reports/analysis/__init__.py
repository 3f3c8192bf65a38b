"""Analysis of results without rendering: metrics, comparison, statistics, explanation, sweeps and plans."""
