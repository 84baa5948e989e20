"""Which rate the queue-length cost of a log is divided by: its average, or a local one."""

from queuebench.estimators.common.local_rate import local_rate, steps_for
from queuebench.logs.errors import LogError
from queuebench.logs.findings import NOTE, WARNING, Finding
from queuebench.logs.read.description import DRAWN

HORIZONS = 3
"""Horizons in the default window: the number in the system remembers arrivals for about one."""

FEWEST_ARRIVALS = 1000
"""Arrivals that the default window holds on average."""

MOST_OF_RECORD = 0.2
"""Share of the record above which a window has nothing local."""

_MOST_STEPS = 1_000_000
_LEFT_OUT = "; estimators that need a constant rate are left out"


def choose_rate(replicate, config, setting, arrivals):
    """Return the local rate for the queue-length cost, if it is to be used.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
    config : queuebench.logs.read.description.LogConfig
    setting : queuebench.estimators.common.setting.Setting
    arrivals : queuebench.logs.checks.arrivals.Arrivals

    Returns
    -------
    table : queuebench.estimators.common.local_rate.RateTable or None
    findings : list of Finding

    Raises
    ------
    LogError
        If the window is longer than the record allows, or so short that the table would be too long.
    """
    wanted = config.cost_rate == "local" or (config.cost_rate == "auto" and arrivals.varies)
    if config.design.kind not in DRAWN or not wanted:
        return None, _constant(arrivals, "")
    horizon = _horizon_time(replicate, setting)
    window, longest = config.rate_window, MOST_OF_RECORD * replicate.record_end
    given = window is not None
    if not given:
        window = max(
            HORIZONS * horizon, FEWEST_ARRIVALS * replicate.record_end / replicate.arrivals
        )
    if window > longest:
        if not given and config.cost_rate == "auto":
            return None, _constant(arrivals, ", as the record is too short for a local rate")
        which = "" if given else "the default of "
        raise LogError(
            f"rate_window: {which}{window:.6g} {config.time_unit} is more than a fifth of the record of "
            f"{replicate.record_end:.6g}; {'at most ' if given else 'give one of at most '}{longest:.4g}"
        )
    if steps_for(replicate.record_end, window) > _MOST_STEPS:
        raise LogError(
            f"rate_window: {window:g} is too short for a record of {replicate.record_end:.6g} "
            f"{config.time_unit}; it must be much longer than the horizon of {horizon:.4g}"
        )
    table = local_rate(replicate, window)
    return table, [*_local(arrivals, table, config), *_short(table, horizon, config)]


def _horizon_time(replicate, setting):
    """Return the main horizon in the log's unit, by the record's own rate."""
    length = setting.horizon_arrivals(setting.batch_horizon)
    return length * replicate.record_end / replicate.arrivals


def _variation(arrivals):
    return (
        f"the arrival rate varies, from {arrivals.lowest:.0%} to {arrivals.highest:.0%} of its average "
        "between twentieths of the record"
    )


def _constant(arrivals, why):
    if not arrivals.varies:
        return []
    text = (
        f"{_variation(arrivals)}; the queue-length cost (qdq, mixed_dq) takes it to be constant{why}: "
        f"compare with wdq{_LEFT_OUT}"
    )
    return [Finding(WARNING, "varying_rate", 0, text)]


def _local(arrivals, table, config):
    text = (
        "the queue-length cost (qdq, mixed_dq and their like) is divided by the rate within "
        f"{table.window:.4g} {config.time_unit} around each arrival, which supposes that it hardly changes "
        "within that time"
    )
    if arrivals.varies:
        return [Finding(NOTE, "varying_rate", 0, f"{_variation(arrivals)}; {text}{_LEFT_OUT}")]
    return [Finding(NOTE, "local_rate", 0, text)]


def _short(table, horizon, config):
    """Warn of a window within which queues remember."""
    if table.window >= horizon:
        return []
    text = (
        f"the rate_window of {table.window:.4g} {config.time_unit} is shorter than the horizon of "
        f"{horizon:.4g}: the local rate is then much of it the arrivals that made the queues long, and "
        "dividing by it may take part of the effect off"
    )
    return [Finding(WARNING, "short_rate_window", 0, text)]
