"""``queuebench`` at a terminal, and ``python -m queuebench``."""

import os
import signal
import sys

from queuebench.base.stopping import stoppable


def main():
    """Run a command; return the exit status, also for a signal that comes while libraries load."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # names that a terminal cannot show
    try:
        with stoppable():
            from queuebench.cli import main as run

            status = run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has enough, as `head` has; what is still buffered must not fail again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return status


if __name__ == "__main__":
    sys.exit(main())
