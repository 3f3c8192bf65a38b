"""Replica assignors: the placement strategies of common tools, behind one interface."""
