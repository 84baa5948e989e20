"""A command that is told to stop: everything is cleaned up on the way out, and one line says why."""

import contextlib
import signal
import sys
import tempfile
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _StoppedError(BaseException):
    """Not an `Exception`, so that no library takes it for a failure of its own."""


@contextlib.contextmanager
def stoppable():
    """Let a signal unwind what runs inside, then exit with 128 + its number, as shells count.

    Only in a process's main thread, which is the one that gets signals; elsewhere nothing changes. May be
    nested.

    Raises
    ------
    SystemExit
        If a signal came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    # A parent may have asked for a signal to be ignored, as nohup does.
    caught = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    # Python looks for the temporary folder by writing a file, which a signal would leave there.
    signal.pthread_sigmask(signal.SIG_BLOCK, caught)
    with contextlib.suppress(OSError):
        tempfile.gettempdir()
    for number in caught:
        signal.signal(number, _stop)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, caught)
        yield
    except _StoppedError as stopped:
        (number,) = stopped.args
        print(f"queuebench: stopped by {signal.Signals(number).name}", file=sys.stderr)
        raise SystemExit(128 + number) from None
    finally:
        for number in caught:
            signal.signal(number, before[number])


def _stop(number, _):
    raise _StoppedError(number)
