"""Collecting the files of all jobs into one table each."""

import pyarrow as pa
import pyarrow.parquet as pq

from queuebench.base.files import whole_file


def collect(paths, out, stamp=None):
    """Concatenate Parquet files of one schema in the given order.

    The bytes depend on the rows only, not on how they were spread over files.

    Parameters
    ----------
    paths : list of str or pathlib.Path
    out : str or pathlib.Path
    stamp : dict of str to str, optional
        Said in the file's metadata, see `queuebench.pipeline.provenance.stamp`.
    """
    table = pa.concat_tables(pq.read_table(path) for path in paths).combine_chunks()
    write_stamped(table, out, stamp)


def write_stamped(table, out, stamp=None):
    """Write a table to a Parquet file whose metadata say where it comes from."""
    if stamp:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), **stamp})
    with whole_file(out) as partial:
        pq.write_table(table, partial, row_group_size=1 << 20)
