"""Checkup: run the standard situations of an application with its current setting and with others, and grade them."""
