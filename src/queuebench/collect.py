"""Collecting the files of all jobs into one table each."""

import pyarrow as pa
import pyarrow.parquet as pq

from queuebench.files import whole_file


def collect(paths, out):
    """Concatenate Parquet files of one schema in the given order.

    The bytes depend on the rows only, not on how they were spread over files.

    Parameters
    ----------
    paths : list of str or pathlib.Path
    out : str or pathlib.Path
    """
    table = pa.concat_tables(pq.read_table(path) for path in paths).combine_chunks()
    with whole_file(out) as partial:
        pq.write_table(table, partial, row_group_size=1 << 20)
