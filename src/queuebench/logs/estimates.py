"""Rows of estimates from a log: the main ones, and the sensitivity curve over horizons."""

import math

from queuebench.estimators import EstimationError, estimators_for
from queuebench.estimators.common.inference import intervals
from queuebench.estimators.common.quadrature import ONE_SHARE
from queuebench.logs.checks.agreement import check_agreement
from queuebench.logs.errors import LogError
from queuebench.logs.findings import NOTE, Finding, forbidden
from queuebench.logs.record.setting import in_service_times

ROW = (
    "estimator",
    "estimand",
    "horizon",
    "horizon_time",
    "horizon_arrivals",
    "main",
    "estimate",
    "estimate_se",
    "lower_95",
    "upper_95",
    "alpha",
    "check",
    "arrivals",
    "note",
    "forbidden",
)
"""Columns of a table of estimates."""


def estimate_log(record, config, mean_service_time, valid):
    """Apply the valid estimators to a record at every horizon of the sensitivity curve.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    config : queuebench.logs.read.description.LogConfig
    mean_service_time : float
        In the log's unit.
    valid : Callable
        Whether a registered estimator is valid for the log.

    Returns
    -------
    rows : list of dict
        With the keys `ROW`, estimates in the log's unit. ``main`` marks the horizon asked for and
        the estimators without one.
    findings : list of Finding

    Raises
    ------
    LogError
        If an estimator is not defined on the record at the main horizon.
    """
    setting = record.setting
    chosen = [
        entry
        for entry in estimators_for(
            setting.design,
            config.estimators,
            horizons=len(setting.horizons),
            choices=setting.choices,
            structure=setting.structure is not None,
        )
        if valid(entry) and not (setting.varying_rate and entry.needs_constant_rate)
    ]
    if not chosen:
        raise LogError("estimators: none of those given is valid for this log")
    main = in_service_times(config.horizon, config, mean_service_time)
    curved = [entry for entry in chosen if entry.uses_horizon]
    asked = [(entry, None) for entry in chosen if not entry.uses_horizon]
    if curved:
        _check_main(record, main)
        asked += [(entry, horizon) for horizon in setting.horizons for entry in curved]
    rows, compared = [], {}
    for entry, horizon in asked:
        estimate = _apply(entry, record, horizon)
        rows.append(_row(entry, horizon, estimate, record, mean_service_time, main))
        if rows[-1]["main"]:
            compared[entry.name] = estimate
    rows.sort(key=lambda row: not row["main"])
    horizons = [in_service_times(h, config, mean_service_time) for h in config.curve_horizons]
    too_long = [h for h in horizons if curved and h not in setting.horizons]
    return rows, [*check_agreement(compared), *_left_out(too_long)]


def mark_forbidden(rows, findings):
    """Write into the rows the names of the findings because of which they must not be used."""
    for row in rows:
        row["forbidden"] = " ".join(
            dict.fromkeys(found.name for found in forbidden(findings, row["estimator"]))
        )


def _apply(entry, record, horizon):
    try:
        return entry.function(record, horizon)
    except EstimationError as error:
        raise LogError(f"{entry.name}: {error}") from None


def _row(entry, horizon, estimate, record, mean_service_time, main):
    ends = intervals(estimate.value, estimate.standard_error, estimate.freedom)
    return {
        "estimator": entry.name,
        "estimand": "slope" if ONE_SHARE in estimate.note else entry.estimand,
        "horizon": horizon,
        "horizon_time": None if horizon is None else horizon * mean_service_time,
        "horizon_arrivals": (None if horizon is None else record.setting.horizon_arrivals(horizon)),
        "main": horizon in (None, main),
        "estimate": estimate.value,
        "estimate_se": estimate.standard_error,
        "lower_95": ends["lower_95"],
        "upper_95": ends["upper_95"],
        "alpha": estimate.alpha,
        "check": estimate.check,
        "arrivals": record.arrivals,
        "note": "; ".join(filter(None, (_chosen(estimate), estimate.note))),
        "forbidden": "",
    }


def _chosen(estimate):
    """Say which horizon an estimator took that chooses its own."""
    if math.isnan(estimate.horizon):
        return ""
    return f"chose a horizon of {estimate.horizon:.4g} mean service times"


def _check_main(record, horizon):
    length = record.setting.horizon_arrivals(horizon)
    if 2 * length > record.arrivals:
        most = math.floor(record.arrivals / 2 / record.setting.rate * 100) / 100
        raise LogError(
            f"horizon: {horizon:g} mean service times are {length:,} arrivals, more than half of the "
            f"record's {record.arrivals:,}; at most {most:g} fit"
        )


def _left_out(horizons):
    if not horizons:
        return []
    listed = ", ".join(f"{horizon:.4g}" for horizon in horizons)
    text = f"horizons longer than half the record are left out of the sensitivity curve: {listed}"
    return [Finding(NOTE, "long_horizons", len(horizons), text)]
