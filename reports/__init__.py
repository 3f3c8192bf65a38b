"""Analysis of results, and their output as text, figures and pages."""
