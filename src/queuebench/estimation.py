"""From traces to rows of `results/estimates.parquet` and `results/diagnostics.parquet`."""

import math

import pyarrow as pa
import pyarrow.parquet as pq

from queuebench.arrow import table
from queuebench.diagnostics import DIAGNOSTICS_SCHEMA, compare, diagnose
from queuebench.estimators import EstimationError
from queuebench.estimators.inference import intervals
from queuebench.estimators.record import Record
from queuebench.estimators.setting import applying, setting_of
from queuebench.files import whole_file
from queuebench.progress import Progress
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


def estimate_trace(cell, design, path, progress=lambda replicate: None):
    """Apply every estimator of a design to every replicate of a trace.

    Parameters
    ----------
    cell : queuebench.config.Cell
    design : str
        Name of the design the trace was simulated under.
    path : str or pathlib.Path
        Of the trace.
    progress : Callable
        Called with the number of each replicate.

    Returns
    -------
    estimates : list of dict
        Rows of `ESTIMATES_SCHEMA`.
    diagnostics : list of dict
        Rows of `queuebench.diagnostics.DIAGNOSTICS_SCHEMA`.

    Raises
    ------
    EstimationError
        Naming cell, design, replicate and estimator.
    """
    setting = setting_of(cell, design)
    estimates, diagnostics = [], []
    for replicate in Trace(path):
        progress(replicate.number)
        found = list(_estimate_record(cell, design, Record(replicate, setting)))
        estimates.extend(_row(cell, design, replicate, *one) for one in found)
        key = {"scenario": cell.scenario, "load": cell.load, "design": design}
        diagnostics.append(
            key
            | {"replicate": replicate.number}
            | diagnose(replicate)
            | compare(_at_main_horizon(cell, found))
        )
    return estimates, diagnostics


def estimate_traces(cell, paths, outputs, log=None):
    """Estimate from the kept traces of a batch, one per design, and write what comes out.

    Parameters
    ----------
    cell : queuebench.config.Cell
    paths : dict of str to path
        Trace of each design.
    outputs : pair of paths
        Of the estimates and of the diagnostics.
    log : str or pathlib.Path, optional
        Where progress is written.
    """
    rows = Rows()
    with Progress(log, f"{cell.name}: estimating", None) as progress:
        for design, path in paths.items():
            Trace(path).check_origin(cell, design)
            rows.add(
                estimate_trace(cell, design, path, lambda r, d=design: progress.step(f"{d} {r}"))
            )
    rows.write(*outputs)


class Rows:
    """Rows of estimates and of diagnostics, collected until they are written."""

    def __init__(self):
        self._kinds = [(ESTIMATES_SCHEMA, []), (DIAGNOSTICS_SCHEMA, [])]

    def add(self, found):
        """Add what `estimate_trace` returned."""
        for (_, rows), more in zip(self._kinds, found, strict=True):
            rows.extend(more)

    def write(self, *paths):
        """Write both kinds to Parquet files, in the order of their replicates.

        So rows stand in the same order whether a batch is simulated design by design or replicate
        by replicate, and however replicates are cut into batches.
        """
        for (schema, rows), path in zip(self._kinds, paths, strict=True):
            ordered = sorted(rows, key=lambda row: row["replicate"])
            with whole_file(path) as partial:
                pq.write_table(table(ordered, schema), partial)


def _estimate_record(cell, design, record):
    """Yield name, horizon and estimate of every estimator that applies."""
    for estimator in applying(cell, record.setting.design):
        for horizon in cell.experiment.all_horizons if estimator.uses_horizon else [None]:
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
