"""What was noticed about a log: what was dropped and why, and what the estimates rest on."""

from typing import NamedTuple

DROPPED = "dropped"
WARNING = "warning"
NOTE = "note"
EVERY = ("*",)
"""In place of names: every estimator."""


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
    forbids : tuple of str
        Names of the estimators whose numbers must not be used because of it, or `EVERY`.
    """

    kind: str
    name: str
    count: int
    text: str
    forbids: tuple[str, ...] = ()


def forbidden(findings, name) -> list[Finding]:
    """Return the findings because of which an estimator's numbers must not be used.

    Parameters
    ----------
    findings : list of Finding
    name : str
        Of the estimator.
    """
    return [found for found in findings if found.forbids == EVERY or name in found.forbids]
