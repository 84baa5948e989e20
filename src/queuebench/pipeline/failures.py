"""What a job says that fails on what its numbers turned out to be: one sentence, where it can be read."""

import sys
import traceback
from pathlib import Path

_KNOWN = (ValueError, ArithmeticError, MemoryError, OSError, RuntimeError)
"""What unusual numbers, memory and disks raise; anything else is a fault of the program."""


def say_failures(log):
    """Let this process end on a known kind of failure with one sentence, in its log and on stderr.

    Parameters
    ----------
    log : sequence of str
        The job's log files; the sentence is added to the first.
    """

    def say(kind, error, trace):
        if not issubclass(kind, _KNOWN):
            sys.__excepthook__(kind, error, trace)
            return
        sentence = f"queuebench: {describe_failure(error)}"
        print(sentence, file=sys.stderr)
        if len(log):
            Path(log[0]).parent.mkdir(parents=True, exist_ok=True)
            with open(log[0], "a", encoding="utf-8") as file:
                file.write(f"{sentence}\n")

    sys.excepthook = say


def describe_failure(error) -> str:
    """Return one line about a failure; one that is not of this package's own kinds says where it was.

    Parameters
    ----------
    error : Exception
    """
    text = " ".join(str(error).split()) or "no more is known"
    if isinstance(error, MemoryError):
        return (
            f"a job needs more memory than there is ({text}); use fewer arrivals, events or servers"
        )
    if type(error).__module__.startswith("queuebench"):
        return text
    calls = traceback.extract_tb(error.__traceback__)
    own = [call for call in calls if "queuebench" in Path(call.filename).parts] or calls
    where = f"{Path(own[-1].filename).name}, line {own[-1].lineno}" if own else "an unknown place"
    return f"the job's numbers are beyond what can be computed: {text} ({type(error).__name__} in {where})"
