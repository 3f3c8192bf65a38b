"""Containment of custom assignors: their mistakes end one run, and never the command.

A custom assignor is one that is not part of this project. Every run calls it through `ContainedAssignor`, which
`registry.make_contained` builds.
"""
