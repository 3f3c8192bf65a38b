"""What other parts of a scenario refer to: its brokers, its clients, and the files that it imports."""
