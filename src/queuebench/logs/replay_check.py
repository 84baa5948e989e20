"""What replay's check of its own structure says about a log."""

import math

from queuebench.estimators.replay import LEVEL
from queuebench.logs.findings import NOTE, WARNING, Finding

REJECTED = "replay_rejected"
"""Name of the finding that a report must begin with."""


def check_replay(rows, config):
    """Return what is to be said of a replay, or of there being none though a structure is given.

    Parameters
    ----------
    rows : list of dict
        Estimates, see `queuebench.logs.estimates`.
    config : queuebench.logs.config.LogConfig

    Returns
    -------
    list of Finding
    """
    if config.structure is None:
        return []
    row = next((row for row in rows if row["estimator"] == "replay"), None)
    if row is None:
        text = (
            "the description gives a structure, but nothing was replayed: replay needs a Bernoulli "
            "design and servers, named in the log, that work first come, first served"
        )
        return [Finding(WARNING, "not_replayed", 0, text)]
    p_value = row["check"]
    if math.isnan(p_value):
        text = "the record is too short for replay to check its structure; the replay is unchecked"
        return [Finding(WARNING, "replay_unchecked", row["arrivals"], text)]
    if p_value < LEVEL:
        text = (
            "replay fails to reproduce the experiment as it was run "
            f"(p = {p_value:.2g}); do not believe it"
        )
        return [Finding(WARNING, REJECTED, row["arrivals"], text)]
    text = (
        f"replay reproduces the experiment as it was run (p = {p_value:.2g}, below {LEVEL:g} it would "
        "fail)"
    )
    return [Finding(NOTE, "replay_checked", row["arrivals"], text)]
