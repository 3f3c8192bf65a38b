"""Which settings to set: a search for those with which an objective is least, and what they gain against today's.

The way: an objective is understood (`objective`), the settings that may be changed are laid out (`space`), candidates
are tried round by round (`search`, on Spark by `evaluation`), what does not matter is left out again (`simplify`), and
what is left is measured anew (`recommender`).
"""
