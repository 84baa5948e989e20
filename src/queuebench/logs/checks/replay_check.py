"""What replay's check of its own structure says about a log."""

import math

from queuebench.estimators.common.registry import in_role
from queuebench.estimators.replay import LEVEL
from queuebench.logs.findings import NOTE, WARNING, Finding
from queuebench.logs.read.description import ARMS
from queuebench.queueing.policies import policy
from queuebench.queueing.stability import find_overload

REJECTED = "replay_rejected"
"""Name of the finding that a report must begin with."""


def check_stability(structure, rate, services) -> list[Finding]:
    """Warn of policies under which, alone, queues would grow for as long as there are arrivals.

    Parameters
    ----------
    structure : queuebench.queueing.structure.Structure or None
    rate : float
        Arrivals per time unit.
    services : queuebench.logs.record.queues.ServerSums
        Service times by server.
    """
    if structure is None:
        return []
    requirement = structure.speeds @ services.total.sum(axis=1) / services.count.sum()
    found = []
    for arm, name, given in zip(ARMS, structure.policies, structure.policy_parameters, strict=True):
        overload = find_overload(structure.speeds / requirement, rate, name, given)
        if overload:
            known = "not" if policy(name).overload_is_certain else "not known to be"
            text = (
                f"the {arm} policy {name} alone is {known} stable: the {overload.servers} slowest servers "
                f"are sent at least {overload.flow:.4g} jobs per time unit and serve only "
                f"{overload.capacity:.4g}; its replay grows with the record, and so does the effect"
            )
            found.append(Finding(WARNING, "unstable_alone", overload.servers, text))
    return found


def check_replay(rows, config) -> list[Finding]:
    """Return what is to be said of a replay, or of there being none though a structure is given.

    Parameters
    ----------
    rows : list of dict
        Estimates, see `queuebench.logs.estimates`.
    config : queuebench.logs.read.description.LogConfig
    """
    if config.structure is None:
        return []
    replay = in_role("resimulation").name
    row = next((row for row in rows if row["estimator"] == replay), None)
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
        return [Finding(WARNING, REJECTED, row["arrivals"], text, (replay,))]
    text = (
        f"replay reproduces the experiment as it was run (p = {p_value:.2g}, below {LEVEL:g} it would "
        "fail)"
    )
    return [Finding(NOTE, "replay_checked", row["arrivals"], text)]
