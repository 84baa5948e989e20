"""Collecting the files of all jobs into one table each."""

import pyarrow.parquet as pq

from queuebench.files import whole_file


def collect(paths, out):
    """Concatenate Parquet files of one schema in the given order, a file at a time.

    Parameters
    ----------
    paths : list of str or pathlib.Path
    out : str or pathlib.Path
    """
    schema = pq.read_schema(paths[0])
    with whole_file(out) as partial, pq.ParquetWriter(partial, schema) as writer:
        for path in paths:
            writer.write_table(pq.read_table(path, schema=schema))
