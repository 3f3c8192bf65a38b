"""`python -m assignor_sim` is `assignor-sim`."""

from assignor_sim.cli import main

if __name__ == "__main__":
    main()
