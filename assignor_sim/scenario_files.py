from scenarios.shipped import find, library, shipped

__all__ = ["find", "library", "shipped"]
