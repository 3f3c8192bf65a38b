"""AssignorBench: its instances with reference answers and optima, its leaderboard, and its pages."""
