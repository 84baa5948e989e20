"""From traces to rows of `results/estimates.parquet` and `results/diagnostics.parquet`."""

import math
from typing import NamedTuple

import pyarrow as pa

from queuebench.estimators import EstimationError
from queuebench.estimators.common.inference import intervals
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import applying, setting_of
from queuebench.pipeline.stages.diagnostics import compare, describe_shares, diagnose
from queuebench.trace import Trace

ESTIMATES_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("load", pa.float64()),
        ("design", pa.string()),
        ("estimator", pa.string()),
        ("horizon", pa.float64()),
        ("main", pa.bool_()),
        ("replicate", pa.int64()),
        ("estimate", pa.float64()),
        ("estimate_se", pa.float64()),
        ("estimate_se_kernel", pa.float64()),
        ("lower_90", pa.float64()),
        ("upper_90", pa.float64()),
        ("lower_95", pa.float64()),
        ("upper_95", pa.float64()),
        ("alpha", pa.float64()),
        ("check", pa.float64()),
        ("horizon_arrivals", pa.int64()),
        ("arrivals", pa.int64()),
        ("note", pa.string()),
    ]
)


class Wanted(NamedTuple):
    """What is to be computed of a record: estimators by name, and whether its diagnostics."""

    estimators: frozenset
    diagnostics: bool

    def __bool__(self):
        return bool(self.estimators) or self.diagnostics


def asked_for(cell, design):
    """Return names and horizons, in order, of the estimates a cell asks for under one of its designs."""
    return [
        (estimator.name, horizon)
        for estimator in applying(cell, cell.designs[design].kind)
        for horizon in _horizons(cell, estimator)
    ]


def estimate_trace(cell, design, path, progress=lambda replicate: None, wanted=None):
    """Apply the estimators of a design to the replicates of a trace.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    design : str
        Name of the design the trace was simulated under.
    path : str or pathlib.Path
        Of the trace.
    progress : Callable
        Called with the number of each replicate.
    wanted : Callable, optional
        From the number of a replicate to what is `Wanted` of it; everything by default.

    Returns
    -------
    estimates : list of dict
        Rows of `ESTIMATES_SCHEMA`.
    diagnostics : list of dict
        Rows of `queuebench.pipeline.stages.diagnostics.DIAGNOSTICS_SCHEMA`.

    Raises
    ------
    EstimationError
        Naming cell, design, replicate and estimator.
    """
    setting = setting_of(cell, design)
    every = Wanted(frozenset(name for name, _ in asked_for(cell, design)), True)
    estimates, diagnostics = [], []
    for replicate in Trace(path):
        asked = wanted(replicate.number) if wanted else every
        if not asked:
            continue
        progress(replicate.number)
        record = Record(replicate, setting)
        found = list(_estimate_record(cell, design, record, asked.estimators))
        estimates.extend(_row(cell, design, replicate, *one) for one in found)
        if not asked.diagnostics:
            continue
        key = {"scenario": cell.scenario, "load": cell.load, "design": design}
        diagnostics.append(
            key
            | {"replicate": replicate.number}
            | diagnose(replicate)
            | compare(_at_main_horizon(cell, found))
            | describe_shares(record, cell.experiment.main_horizon)
        )
    return estimates, diagnostics


def _horizons(cell, estimator):
    return cell.experiment.all_horizons if estimator.uses_horizon else [None]


def _estimate_record(cell, design, record, names):
    """Yield name, horizon and estimate of every estimator of some names that applies."""
    for estimator in applying(cell, record.setting.design):
        if estimator.name not in names:
            continue
        for horizon in _horizons(cell, estimator):
            try:
                yield estimator.name, horizon, estimator.function(record, horizon)
            except EstimationError as error:
                raise EstimationError(
                    f"cell {cell.name}, design {design}, replicate {record.replicate.number}: "
                    f"{estimator.name}: {error}"
                ) from None


def _at_main_horizon(cell, found):
    """Return the estimates by name, those with several horizons at the main one."""
    return {name: estimate for name, horizon, estimate in found if _is_main(cell, horizon)}


def _is_main(cell, horizon):
    """Whether estimators are compared at this horizon; those without one always are."""
    return horizon in (None, cell.experiment.main_horizon)


def _row(cell, design, replicate, name, horizon, estimate):
    return {
        "scenario": cell.scenario,
        "load": cell.load,
        "design": design,
        "estimator": name,
        "horizon": horizon,
        "main": _is_main(cell, horizon),
        "replicate": replicate.number,
        "estimate": estimate.value,
        "estimate_se": estimate.standard_error,
        "estimate_se_kernel": estimate.kernel_error,
        **intervals(estimate.value, estimate.standard_error, estimate.freedom),
        "alpha": estimate.alpha,
        "check": estimate.check,
        "horizon_arrivals": _horizon_arrivals(cell, horizon, estimate),
        "arrivals": replicate.arrivals,
        "note": estimate.note,
    }


def _horizon_arrivals(cell, horizon, estimate):
    """Return L, also of an estimator that chose its horizon; None for those without one."""
    used = estimate.horizon if horizon is None else horizon
    return None if math.isnan(used) else cell.horizon_arrivals(used)
