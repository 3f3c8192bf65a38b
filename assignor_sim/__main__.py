"""Entry point of `python -m assignor_sim`."""

from assignor_sim.cli import main

if __name__ == "__main__":
    main()
