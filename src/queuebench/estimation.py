"""From traces to rows of `results/estimates.parquet`."""

import pyarrow as pa
import pyarrow.parquet as pq

from queuebench.arrow import table
from queuebench.estimators import EstimationError
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
        ("replicate", pa.int64()),
        ("estimate", pa.float64()),
        ("estimate_se", pa.float64()),
        ("alpha", pa.float64()),
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
    list of dict
        Rows of `ESTIMATES_SCHEMA`.

    Raises
    ------
    EstimationError
        Naming cell, design, replicate and estimator.
    """
    setting = setting_of(cell, design)
    rows = []
    for replicate in Trace(path):
        progress(replicate.number)
        record = Record(replicate, setting)
        rows.extend(_estimate_record(cell, design, record))
    return rows


def estimate_traces(cell, paths, out, log=None):
    """Estimate from the kept traces of a batch, one per design, and write the estimates to `out`."""
    rows = []
    with Progress(log, f"{cell.name}: estimating", None) as progress:
        for design, path in paths.items():
            rows += estimate_trace(
                cell, design, path, lambda r, d=design: progress.step(f"{d} {r}")
            )
    write_estimates(rows, out)


def _estimate_record(cell, design, record):
    for estimator in applying(cell, record.setting.design):
        for horizon in cell.experiment.all_horizons if estimator.uses_horizon else [None]:
            try:
                estimate = estimator.function(record, horizon)
            except EstimationError as error:
                raise EstimationError(
                    f"cell {cell.name}, design {design}, replicate {record.replicate.number}: "
                    f"{estimator.name}: {error}"
                ) from None
            yield {
                "scenario": cell.scenario,
                "load": cell.load,
                "design": design,
                "estimator": estimator.name,
                "horizon": horizon,
                "replicate": record.replicate.number,
                "estimate": estimate.value,
                "estimate_se": estimate.standard_error,
                "alpha": estimate.alpha,
                "horizon_arrivals": None if horizon is None else cell.horizon_arrivals(horizon),
                "arrivals": record.arrivals,
                "note": estimate.note,
            }


def write_estimates(rows, path):
    """Write rows of estimates to a Parquet file, in the order of their replicates.

    So rows stand in the same order whether a batch is simulated design by design or replicate by
    replicate, and however replicates are cut into batches.
    """
    rows = sorted(rows, key=lambda row: row["replicate"])
    with whole_file(path) as partial:
        pq.write_table(table(rows, ESTIMATES_SCHEMA), partial)
