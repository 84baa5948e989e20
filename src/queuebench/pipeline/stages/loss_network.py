"""The loss network as a study: from its settings to files of rows, one number of servers at a time."""

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from queuebench import __version__
from queuebench.base.arrow import numbers, schema, table
from queuebench.base.files import whole_file
from queuebench.base.progress import Progress
from queuebench.loss_network.epochs import EpochSums
from queuebench.loss_network.errors import AdmissionErrors
from queuebench.loss_network.events import draw_events, event_count
from queuebench.loss_network.model import build_network
from queuebench.loss_network.study import run_path, trace_path
from queuebench.study.settings import LossNetworkStudy

_KEY = {"servers": int, "policy": str, "window_multiplier": float, "replicate": int}
_BOUND_KEY = {name: kind for name, kind in _KEY.items() if name != "policy"}
SCHEMAS = {
    "regret": schema(
        **_KEY, window=float, threshold=int, regret=float, rejected_high=int, wasted_ticks=int,
        accepted_low=int, busy_start=int, busy_end=int, duration=float, regret_batch_se=float,
        mean_idle=float,
    ),
    "errors": schema(**_KEY, **AdmissionErrors.__annotations__),
    "epochs": schema(**_KEY, **EpochSums.__annotations__),
    "bounds": schema(**_BOUND_KEY, window=float, duration=float, gain_bound=float),
}  # fmt: skip
"""Columns of the files of one number of servers, by kind."""

_TRACED_SPAN = 6.0
_TRACED = (("online", None), ("sss", 16.0), ("pfi", None))


def simulate_loss(values, seed, servers, outputs, log=None):
    """Run every policy on every sample path of one number of servers.

    Parameters
    ----------
    values : dict
        The settings of the loss network as plain values.
    seed : int
        The study's seed.
    servers : int
        Number of servers.
    outputs : dict of str to path
        A Parquet file for each kind of `SCHEMAS`.
    log : str or pathlib.Path, optional
        Where progress is written.
    """
    settings = LossNetworkStudy.model_validate(values)
    network = build_network(settings, servers)
    count = event_count(settings, network)
    reach = {
        "offline": (settings.offline_servers, None),
        "offline_opposite": (settings.offline_servers, None),
        "rolling_horizon": (
            settings.rolling_horizon_servers,
            settings.rolling_horizon_multiplier,
        ),
    }
    rows = {kind: [] for kind in SCHEMAS}
    title = f"loss network, {servers} servers, {count} events"
    with Progress(log, title, settings.replicates) as progress:
        for replicate in range(settings.replicates):
            progress.step(f"path {replicate}")
            found = run_path(
                network, replicate, seed, count, settings.window_multipliers, reach=reach
            )
            for kind, more in found._asdict().items():
                rows[kind].extend(more)
    for kind, path in outputs.items():
        with whole_file(path) as partial:
            pq.write_table(table(rows[kind], SCHEMAS[kind]), partial)


def trace_trajectory(values, seed, servers, path):
    """Write a stretch of a sample path under several policies as an Arrow file.

    Columns are the events (``time``, ``kind``, ``mark``) and for each policy the number busy just
    before the event and its decision; see `queuebench.loss_network.study.trace_path`.
    """
    settings = LossNetworkStudy.model_validate(values)
    network = build_network(settings, servers)
    events = draw_events(network, event_count(settings, network), seed, replicate=0)
    middle = len(events.time) // 2
    stop = middle + math.ceil(_TRACED_SPAN * network.event_rate)
    chosen = [
        (name, c if c is None else _nearest(c, settings.window_multipliers)) for name, c in _TRACED
    ]
    columns = trace_path(network, events, chosen, middle, min(stop, len(events.time)))
    arrays = [numbers(column, pa.from_numpy_dtype(column.dtype)) for column in columns.values()]
    metadata = {"servers": str(servers), "seed": str(seed), "queuebench": __version__}
    batch = pa.RecordBatch.from_arrays(arrays, names=list(columns)).replace_schema_metadata(
        metadata
    )
    with (
        whole_file(path) as partial,
        pa.OSFile(str(partial), "wb") as sink,
        pa.ipc.new_file(sink, batch.schema) as writer,
    ):
        writer.write_batch(batch)


def _nearest(wanted, grid):
    return min(grid, key=lambda c: abs(math.log(c / wanted)))


def loss_files(servers, folder="results/loss"):
    """Return the files of one number of servers by kind."""
    return {kind: str(Path(folder) / f"N{servers}" / f"{kind}.parquet") for kind in SCHEMAS}
