"""Output of results: terminal text, figures, HTML pages, Markdown, JUnit XML and notebooks."""
