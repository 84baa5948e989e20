"""Logs written from simulated traces, in every format and with every choice of columns."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

LENGTHS = ("queue_length", "in_system")


CHOICES = ("server_if_control", "server_if_treated")
QUEUES = ("queue_if_control", "queue_if_treated")


def columns_of(replicate, *, lengths=True, departures=False, choices=()):
    """Return a replicate and the jobs carried into it as columns of a log."""
    carry = replicate.carry.to_pylist()
    before = len(carry)
    arrival = np.concatenate(
        [[job["arrival"] for job in carry], replicate.column("arrival_time")]
    ).astype(float)
    response = np.concatenate(
        [[job["departure"] - job["arrival"] for job in carry], replicate.column("response_time")]
    ).astype(float)
    treated = replicate.column("treated")
    columns = {
        "arrival_time": arrival.tolist(),
        "arm": [None] * before + np.where(treated, "B", "A").tolist(),
        "server": [job["server"] for job in carry] + replicate.column("server").tolist(),
    }
    if departures:
        columns["departure_time"] = (arrival + response).tolist()
    else:
        columns["response_time"] = response.tolist()
    if lengths:
        for name in LENGTHS:
            columns[name] = [0] * before + replicate.column(name).tolist()
    for name in choices:
        unknown = None if name in CHOICES else 0
        columns[name] = [unknown] * before + replicate.column(name).tolist()
    return columns


def write_log(path, columns):
    """Write columns as a log in the format of the path's suffix."""
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=1000)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1000)
    else:
        arrow_csv.write_csv(table, path)
    return path
