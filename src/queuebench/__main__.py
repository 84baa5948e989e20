"""``queuebench`` at a terminal, and ``python -m queuebench``."""

import sys

from queuebench.stopping import stoppable


def main():
    """Run a command; return the exit status, also for a signal that comes while libraries load."""
    with stoppable():
        from queuebench.cli import main as run

        return run()


if __name__ == "__main__":
    sys.exit(main())
