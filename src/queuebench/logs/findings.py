"""What was noticed about a log: what was dropped and why, and what the estimates rest on."""

from typing import NamedTuple

DROPPED = "dropped"
WARNING = "warning"
NOTE = "note"


class Finding(NamedTuple):
    """One thing worth knowing about a log.

    Attributes
    ----------
    kind : {"dropped", "warning", "note"}
        Rows left out; a reason to doubt the estimates; or an assumption that was made.
    name : str
        Stable name, for example ``unfinished_jobs``.
    count : int
        Rows or other things concerned.
    text : str
        One sentence.
    """

    kind: str
    name: str
    count: int
    text: str
