"""The parts of the exact flow: what is asked, how even it can be, and a flow for each stage."""
