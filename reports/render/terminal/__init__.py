"""What commands print: one module a kind of answer, for people and in formats for scripts."""
