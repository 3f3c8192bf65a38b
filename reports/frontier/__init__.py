"""The front of traffic against movement, as a table and as a picture."""
