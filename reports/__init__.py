"""Tables in, pictures and pages out."""
