"""The structure of a system as the description of its log gives it, for estimators that replay the log.

A replay multiplies service times by speeds and divides by them again, so only ratios of speeds matter. They
are scaled to average one job of mean service time per mean service time: then requirements average about
one, the scale for which replay's check was made.
"""

import numpy as np

from queuebench.logs.errors import LogError, shorten
from queuebench.logs.read.description import ARMS, LogConfig, check_policies
from queuebench.logs.read.labels import label
from queuebench.queueing.structure import Structure
from queuebench.study.explain import nearest


def log_structure(config, servers, mean_service_time):
    """Return the structure that a description gives.

    Parameters
    ----------
    config : queuebench.logs.read.description.LogConfig
        With a structure.
    servers : list of str
        Names of the servers by their numbers.
    mean_service_time : float
        In the log's unit.

    Returns
    -------
    queuebench.queueing.structure.Structure
        Speeds in requirements per time unit, times in the log's unit.

    Raises
    ------
    LogError
        If a policy samples more servers than there are, or speeds and servers do not match.
    """
    known = config.structure
    check_policies(known, len(servers))
    arms = [getattr(known, arm) for arm in ARMS]
    information = known.information
    return Structure(
        speeds=relative_speeds(config, servers) / mean_service_time,
        policies=tuple(arm.policy for arm in arms),
        policy_parameters=tuple(arm.parameters for arm in arms),
        travel_time=config.travel_time,
        information=information.kind,
        age=getattr(information, "age", getattr(information, "period", 0.0)),
    )


def relative_speeds(config: LogConfig, servers: list[str]):
    """Return the speed of every server over the average, by the speeds of its class or its own.

    Returns
    -------
    ndarray of float64, shape (N,)
        They sum to N; ones where the description gives none.

    Raises
    ------
    LogError
        If a speed is of no class and no server, or a server has no speed or two.
    """
    given = config.structure.speeds if config.structure else {}
    if not given:
        return np.ones(len(servers))
    numbers = {name: number for number, name in enumerate(servers)}
    speeds = np.full(len(servers), np.nan)
    for key, speed in given.items():
        for name in _members(label(key), config.server_classes, numbers):
            if not np.isnan(speeds[numbers[name]]):
                raise LogError(f"structure.speeds: server {shorten(name)} has two speeds")
            speeds[numbers[name]] = speed
    without = np.flatnonzero(np.isnan(speeds))
    if len(without):
        others = f" and {len(without) - 1} others have" if len(without) > 1 else " has"
        raise LogError(
            f"structure.speeds: server {shorten(servers[without[0]])}{others} no speed; give one for "
            "every server or server class"
        )
    if np.all(speeds == speeds[0]):
        return np.ones(len(servers))
    # By a power of two, which is exact, so that neither the sum nor the quotient leaves the numbers.
    speeds = np.ldexp(speeds, -np.frexp(speeds.max())[1])
    return speeds * (len(servers) / speeds.sum())


def _members(name, classes, numbers):
    """Return the servers that a key of the speeds names: those of a class, or one."""
    if name in classes and name in numbers:
        raise LogError(
            f"structure.speeds: {shorten(name)} is both a server class and a server; rename the class"
        )
    if name in classes:
        return [label(member) for member in classes[name]]
    if name not in numbers:
        near = nearest(name, [*classes, *numbers]) if len(numbers) <= 1000 else ""
        raise LogError(
            f"structure.speeds: {shorten(name)} is neither a server class nor a server of the log{near}"
        )
    return [name]
