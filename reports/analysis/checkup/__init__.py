"""The report card of a checkup: grades by stated limits, findings, and the gain of other settings."""
