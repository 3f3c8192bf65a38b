"""HTML pages: shell, templates, scripts, styles and inline figures."""
