"""Progress of a long job, written to its log every few seconds."""

import sys
import time

_SECONDS = 3.0


class Progress:
    """Counts steps and says now and then how far a job is; a context manager.

    Parameters
    ----------
    path : str, pathlib.Path or None
        The log file; None is standard error.
    title : str
        What the job does.
    total : int or None
        Number of steps, if known.
    """

    def __init__(self, path, title, total):
        self._path = path
        self._title = title
        self._total = total
        self._done = 0
        self._said = -float("inf")

    def __enter__(self):
        self._file = open(self._path, "a") if self._path else sys.stderr
        return self

    def __exit__(self, *failure):
        if failure[0] is None:
            self.say(f"done, {self._done} steps")
        else:
            self.say(f"failed after {max(0, self._done - 1)} steps: {failure[1]}")
        if self._path:
            self._file.close()

    def expect(self, total):
        """Say how many steps there are, where that is known only now."""
        self._total = total

    def step(self, name):
        """Begin the next step."""
        self._done += 1
        if time.monotonic() - self._said >= _SECONDS:
            of = f" of {self._total}" if self._total else ""
            self.say(f"{name} (step {self._done}{of})")

    def say(self, message):
        """Write a line at once."""
        self._said = time.monotonic()
        print(f"{time.strftime('%H:%M:%S')} {self._title}: {message}", file=self._file, flush=True)
