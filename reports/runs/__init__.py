"""What is in the tables of runs, arranged for figures, pages and terminals alike."""
