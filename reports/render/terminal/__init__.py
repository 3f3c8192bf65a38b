"""Output of commands: text for terminals, and JSON, CSV and Markdown for scripts and documents."""
