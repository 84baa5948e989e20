"""What estimators may know of a system of which only a log is known."""

from dataclasses import replace

import numpy as np

from queuebench.estimators.common.setting import Setting
from queuebench.logs.errors import LogError
from queuebench.logs.read.labels import label
from queuebench.logs.read.structure import log_structure, relative_speeds
from queuebench.queueing.speeds import speed_classes
from queuebench.study.explain import nearest
from queuebench.study.shares import quadrature_weights


def log_setting(replicate, config, mean_service_time, servers, *, first_come):
    """Return the setting of a log.

    Times are in the log's unit; horizons in mean service times are converted to arrivals by the rate
    per mean service time.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
    config : queuebench.logs.read.description.LogConfig
    mean_service_time : float
        In the log's unit.
    servers : list of str
        Names of the servers by their numbers.
    first_come : bool
        Whether servers work first come, first served, so that a structure is of use.

    Returns
    -------
    queuebench.estimators.common.setting.Setting
        With the default random key: two analyses of one log replay it alike.

    Raises
    ------
    LogError
        If a class, a speed or a policy does not match the log's servers, or weights its shares.
    """
    rate = config.arrival_rate or _estimated_rate(replicate)
    design = config.design
    replayed = config.structure is not None and first_come and design.kind == "bernoulli"
    shares = _shares(replicate) if design.kind == "shares" else ()
    setting = Setting(
        design=design.kind,
        classes=_classes(config, servers),
        rate=rate * mean_service_time,
        batch_horizon=in_service_times(config.horizon, config, mean_service_time),
        travel_time=config.travel_time,
        period=getattr(design, "period", None) or 0.0,
        burn_in=getattr(design, "burn_in", 0.0),
        treated_share=getattr(design, "treated_share", None) or _treated_share(replicate),
        shares=shares,
        weights=_weights(design.weights, shares) if shares else (),
        choices=config.columns.choices,
        structure=log_structure(config, servers, mean_service_time) if replayed else None,
    )
    curve = [in_service_times(h, config, mean_service_time) for h in config.curve_horizons]
    fitting = [h for h in curve if 2 * setting.horizon_arrivals(h) <= replicate.arrivals]
    return replace(setting, horizons=tuple(fitting))


def in_service_times(horizon, config, mean_service_time):
    """Return a horizon of the description in mean service times."""
    return horizon / mean_service_time if config.horizon_unit == "time" else horizon


def _classes(config, servers):
    """Return the speed classes that the description gives, by name or through the speeds."""
    if config.columns.server is None:
        return np.zeros(1, np.int32)
    classes = server_classes(config.server_classes, servers)
    # Speeds are checked also where nothing is replayed: a name of no server is wrong all the same.
    by_speed = speed_classes(relative_speeds(config, servers))
    return classes if config.server_classes else by_speed


def server_classes(classes, servers):
    """Return the speed class of every server, those in no class forming one of their own.

    Parameters
    ----------
    classes : dict of str to list
        Servers by the name of their class.
    servers : list of str
        All servers by their numbers.

    Returns
    -------
    ndarray of int32, shape (N,)
    """
    numbers = {name: number for number, name in enumerate(servers)}
    found = np.full(len(servers), -1, np.int32)
    for code, (name, members) in enumerate(classes.items()):
        for member in members:
            text = label(member)
            if text not in numbers:
                near = nearest(text, servers[:1000]) if len(servers) <= 1000 else ""
                raise LogError(f"server_classes.{name}: the log has no server {text!r}{near}")
            if found[numbers[text]] >= 0:
                raise LogError(f"server_classes.{name}: server {text!r} is in two classes")
            found[numbers[text]] = code
    return np.unique(found, return_inverse=True)[1].astype(np.int32)


def _estimated_rate(replicate):
    """Return ``(n - 1) / (t_last - t_first)``."""
    arrival = replicate.column("arrival_time")
    return (replicate.arrivals - 1) / float(arrival[-1] - arrival[0])


def _shares(replicate):
    """Return the different shares of a record, increasing."""
    found = [np.unique(share) for (share,) in replicate.chunks("share")]
    return tuple(np.unique(np.concatenate(found)).tolist())


def _weights(given, shares):
    """Return the weights of the slopes at some shares, by default those of their quadrature."""
    if given is None:
        return tuple(quadrature_weights(shares).tolist())
    if len(given) != len(shares):
        listed = ", ".join(f"{share:g}" for share in shares)
        raise LogError(
            f"design.weights: there are {len(given)}, but the record has {len(shares)} shares ({listed})"
        )
    for weight, share in zip(given, shares, strict=True):
        if share in (0.0, 1.0) and weight:
            raise LogError(
                f"design.weights: must be 0 at the share {share:g}, where no slope is seen, got {weight:g}"
            )
    return tuple(given)


def _treated_share(replicate):
    return float(np.count_nonzero(replicate.column("treated")) / replicate.arrivals)
